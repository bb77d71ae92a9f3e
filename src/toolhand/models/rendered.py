"""Histories that have been rendered before: a turn renders only the messages that are new.

A conversation's history grows at its end. Its bytes are kept joined, with the offset behind each message, and found again
by the identity of its first message after the system's, for as long as anybody else has that message. What the newest request
shares with the kept one is reused, also after a retry, a fork or a passing reminder.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import is_
from typing import Final

from toolhand.core.language import Language
from toolhand.core.messages import Message

MOST_BYTES: Final = 64 * 1024 * 1024
"""How much rendered text is kept in all; the conversations unused for longest go first."""


@dataclass(frozen=True, slots=True)
class Glue:
    """How two messages become one text, for wires on which what follows at once belongs together.

    Args:
        holds: whether a message belongs to the one before it.
        head: how such a message's bytes begin; left out behind another one.
        tail: how they end; moved behind the last one.
    """

    holds: Callable[[Message, Message], bool]
    head: bytes
    tail: bytes


_START: Final = Message(role="user", parts=())
"""Stands where a conversation's first message does: that one is not kept alive by what was rendered of it."""


@dataclass(slots=True)
class _Rendered:
    language: Language
    start: weakref.ref[Message]
    place: int = 0
    messages: list[Message] = field(
        default_factory=list
    )  # strong references, so that their identities stay theirs
    ends: list[int] = field(default_factory=list)
    joined: bytearray = field(default_factory=bytearray)


class RenderedHistories:
    """Keeps the rendered form of the conversations seen last. Safe to use from several threads.

    Args:
        render: one message's bytes, in a language; never empty.
        most_bytes: how much is kept in all.
        glue: which messages are put together.
    """

    def __init__(
        self,
        render: Callable[[Message, Language], bytes],
        *,
        most_bytes: int = MOST_BYTES,
        glue: Glue | None = None,
    ) -> None:
        self._render = render
        self._glue = glue
        self._most_bytes = most_bytes
        self.kept_bytes = 0
        """How much is kept now."""
        self._by_start: OrderedDict[tuple[int, Language], _Rendered] = OrderedDict()
        self._ended: deque[tuple[int, Language]] = (
            deque()
        )  # filled at any moment, also while the lock is held
        self._lock = threading.Lock()

    def joined(
        self, messages: Sequence[Message], language: Language, *, before: bytes = b"", after: bytes = b""
    ) -> bytes:
        """All messages' bytes, joined with commas, between two others: in one copy, as they may be long."""
        if not messages:
            return before + after
        place = next((n for n, m in enumerate(messages) if m.role != "system"), 0)
        start = messages[place]
        key = (id(start), language)
        with self._lock:
            self._forget()
            rendered = self._by_start.get(key)
            if rendered is None or rendered.start() is not start:
                self._drop(key)
                rendered = _Rendered(language, weakref.ref(start, lambda _: self._ended.append(key)))
            length = len(rendered.joined)
            if rendered.messages:
                rendered.messages[rendered.place] = start
            self._extend(rendered, messages)
            rendered.place, rendered.messages[place] = place, _START
            self._by_start[key] = rendered
            self._by_start.move_to_end(key)
            self.kept_bytes += len(rendered.joined) - length
            result = b"".join((before, rendered.joined, after))
            while self.kept_bytes > self._most_bytes:
                self._drop(next(iter(self._by_start)))
        return result

    def _forget(self) -> None:
        """Drops the conversations that nobody can ask about any more."""
        while self._ended:
            key = self._ended.popleft()
            found = self._by_start.get(key)
            if found is not None and found.start() is None:  # else another message has its identity by now
                self._drop(key)

    def _drop(self, key: tuple[int, Language]) -> None:
        dropped = self._by_start.pop(key, None)
        if dropped is not None:
            self.kept_bytes -= len(dropped.joined)

    def _is_glued(self, before: Message, message: Message) -> bool:
        return self._glue is not None and self._glue.holds(before, message)

    def _extend(self, rendered: _Rendered, messages: Sequence[Message]) -> None:
        shared = _shared(rendered.messages, messages)
        if shared < len(rendered.messages):
            while shared and self._is_glued(rendered.messages[shared - 1], rendered.messages[shared]):
                shared -= 1  # the end of its bytes has moved on: it is written anew
            del rendered.messages[shared:]
            del rendered.ends[shared:]
            del rendered.joined[rendered.ends[-1] if shared else 0 :]
        for message in islice(messages, shared, None):
            piece = self._render(message, rendered.language)
            if self._glue and rendered.messages and self._is_glued(rendered.messages[-1], message):
                del rendered.joined[-len(self._glue.tail) :]
                rendered.joined += b"," + piece.removeprefix(self._glue.head)
            else:
                rendered.joined += b"," + piece if rendered.messages else piece
            rendered.messages.append(message)
            rendered.ends.append(len(rendered.joined))


def _shared(kept: Sequence[Message], messages: Sequence[Message]) -> int:
    """How many messages at the start are the same objects, or a system message with the same text."""
    start = 0
    for mine, other in zip(kept, messages, strict=False):
        if mine.role != "system" or other.role != "system" or mine != other:
            break
        start += 1
    if len(kept) <= len(messages) and all(map(is_, islice(kept, start, None), islice(messages, start, None))):
        return len(kept)  # the usual case, without a list in between
    same = list(map(is_, islice(kept, start, None), islice(messages, start, None)))
    return start + (same.index(False) if False in same else len(same))
