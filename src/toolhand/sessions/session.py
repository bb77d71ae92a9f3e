"""A session: one conversation of one user, and the lock that keeps its runs one after the other."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Hashable, Iterator
from typing import Any

from toolhand.core.messages import Message, ToolCall
from toolhand.policies.sharing.turnstile import Turnstile
from toolhand.sessions.trimming.window import Window

_INSIDE = "a tool asked the session of the run that called it: it would wait for itself; give it a session of its own"


class Session:
    """One conversation: an append-only list of messages.

    Args:
        id: its name; a fresh one by default.
        user: whose it is.
    """

    def __init__(self, id: str | None = None, *, user: str = "") -> None:  # noqa: A002 - the field's word
        self.id = id or uuid.uuid4().hex
        self.user = user
        self.turnstile = Turnstile(_INSIDE)
        self.suspended: dict[Hashable, Any] = {}
        self.window: Window | None = None
        """What a model is shown of it; made when it is first shown."""
        self._messages: list[Message] = []
        self._ids: set[str] = set()

    @property
    def messages(self) -> tuple[Message, ...]:
        """Everything that was said."""
        return tuple(self._messages)

    @property
    def count(self) -> int:
        """How many messages there are."""
        return len(self._messages)

    @property
    def first(self) -> Message | None:
        """The message that it begins with."""
        return self._messages[0] if self._messages else None

    def since(self, place: int) -> list[Message]:
        """The messages from a place on, counted from 0."""
        return self._messages[place:]

    def newest_first(self) -> Iterator[Message]:
        """The messages from the end, read only as far as they are asked for."""
        return reversed(self._messages)

    def append(self, *messages: Message) -> None:
        """Adds to the end; nothing is ever changed."""
        self._messages.extend(messages)

    def recent(self) -> list[Message]:
        """What a model gets to see, as a list of its own."""
        return self._messages.copy()

    @property
    def unanswered(self) -> tuple[ToolCall, ...]:
        """The calls of the last reply that have no result yet: they wait for a person, or were interrupted."""
        answered: set[str] = set()
        for message in reversed(self._messages):
            if message.role == "assistant":
                return tuple(call for call in message.calls if call.id not in answered)
            answered.update(result.call_id for result in message.results)
        return ()

    @property
    def last_words(self) -> str:
        """What the user said last."""
        return next((m.text for m in reversed(self._messages) if m.role == "user" and m.text), "")

    def new_call_id(self) -> str:
        """An id that no call of this session has."""
        return self.claim(f"call_{len(self._ids) + 1}")

    def claim(self, call_id: str) -> str:
        """The id itself if no call of this session has it, else a new one: providers repeat ids and leave them out."""
        unique, number = call_id, len(self._ids)
        while not unique or unique in self._ids:
            number += 1
            unique = f"call_{number}"
        self._ids.add(unique)
        return unique


class MemoryStore:
    """Sessions kept in this process, by user and id, so that two users' equal ids never meet."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], Session] = {}
        self._mutex = threading.Lock()

    def open(self, id: str, *, user: str = "") -> Session:  # noqa: A002 - the field's word
        """The session of this user and id; a new one where there is none."""
        with self._mutex:
            return self._sessions.setdefault((user, id), Session(id, user=user))
