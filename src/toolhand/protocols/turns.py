"""Histories that were written out before: a prompted protocol writes only what is new, and gives the same messages again.

What a longer history adds stands at its end, so what was written for its beginning is used again, found by the identity of its
first message. As the messages are the same objects, an adapter that keeps their bytes finds these too.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import is_
from typing import Final

from toolhand.core.language import Language
from toolhand.core.messages import Message, Role, Text

MOST_SOURCES: Final = 20_000
"""How many messages are kept written out in all; the conversations unused for longest go first."""


@dataclass(slots=True)
class _Written:
    """One conversation.

    Args:
        manner: whose way of writing it is; kept, so that its identity stays its own.
        sources: its messages; strong references, so that their identities stay theirs.
        turns: what they were written as: users and assistants in turns.
        starts: the place of the first source of each turn.
    """

    manner: object
    sources: list[Message] = field(default_factory=list)
    turns: list[Message] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def keep(self, count: int) -> None:
        """Only what was written for the first so many messages stays."""
        while len(self.sources) > count:
            self.turns.pop()
            del self.sources[self.starts.pop() :]

    def add(self, message: Message, text: str) -> None:
        """Writes one more; two of one role in a row become one, as many chat templates want the roles in turns."""
        role: Role = "assistant" if message.role == "assistant" else "user"
        if self.turns and self.turns[-1].role == role:
            joined = f"{self.turns[-1].text}\n\n{text}"
            self.turns[-1] = Message(role=role, parts=(Text(joined),))
        else:
            self.turns.append(Message(role=role, parts=(Text(text),)))
            self.starts.append(len(self.sources))
        self.sources.append(message)


class WrittenTurns:
    """Conversations as they were written out. Safe to use from several threads.

    Args:
        most_sources: how many messages are kept in all.
    """

    def __init__(self, *, most_sources: int = MOST_SOURCES) -> None:
        self._most = most_sources
        self._kept: OrderedDict[tuple[int, int, Language], _Written] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def turns(
        self,
        messages: Sequence[Message],
        write: Callable[[Message], str],
        manner: object,
        language: Language,
    ) -> list[Message]:
        """The messages in text alone.

        Args:
            messages: the history, without the system's messages.
            write: one message's text.
            manner: whose way of writing it is: the same object for the same texts.
            language: of its words.
        """
        if not messages:
            return []
        key = (id(messages[0]), id(manner), language)
        with self._lock:
            written = self._kept.pop(key, None) or _Written(manner)
            self._count -= len(written.sources)
            same = list(map(is_, written.sources, messages))
            written.keep(same.index(False) if False in same else len(same))
            for message in islice(messages, len(written.sources), None):
                written.add(message, write(message))
            self._kept[key] = written
            self._count += len(written.sources)
            found = written.turns.copy()
            while self._count > self._most and len(self._kept) > 1:
                self._count -= len(self._kept.popitem(last=False)[1].sources)
            return found
