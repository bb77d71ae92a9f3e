"""Histories that have been rendered before: a turn renders only the messages that are new.

A conversation's history grows at its end. Its bytes are kept joined, with the offset behind each message, and found again
by the identity of its first message after the system's. What the newest request shares with the kept one is reused, also
after a retry, a fork or a passing reminder.
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


@dataclass(slots=True)
class _Rendered:
    language: Language
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
        self._lock = threading.Lock()

    def joined(
        self, messages: Sequence[Message], language: Language, *, before: bytes = b"", after: bytes = b""
    ) -> bytes:
        """All messages' bytes, joined with commas, between two others: in one copy, as they may be long."""
        if not messages:
            return before + after
        start = next((m for m in messages if m.role != "system"), messages[0])
        key = (id(start), language)
        with self._lock:
            rendered = self._by_start.get(key) or _Rendered(language)
            length = len(rendered.joined)
            self._extend(rendered, messages)
            self._by_start[key] = rendered
            self._by_start.move_to_end(key)
            self.kept_bytes += len(rendered.joined) - length
            result = b"".join((before, rendered.joined, after))
            while self.kept_bytes > self._most_bytes:
                _, dropped = self._by_start.popitem(last=False)
                self.kept_bytes -= len(dropped.joined)
        return result

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
