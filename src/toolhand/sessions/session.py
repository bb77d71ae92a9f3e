"""A session: one conversation of one user, and the lock that keeps its runs one after the other."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import uuid
from collections import deque
from collections.abc import Hashable
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from toolhand.core.errors import SettingsError
from toolhand.core.messages import Message, ToolCall

_INSIDE: ContextVar[frozenset[int]] = ContextVar("_INSIDE", default=frozenset())
"""The turnstiles that the code that asks is inside of, also in a tool's thread."""


class Turnstile:
    """Lets one run through at a time, in the order in which they came, also when they come from different event loops."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._is_taken = False
        self._waiting: deque[concurrent.futures.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if id(self) in _INSIDE.get():
            raise SettingsError(
                "a tool asked the session of the run that called it: it would wait for itself; give it a session of its own"
            )
        await self._pass()
        _INSIDE.set(_INSIDE.get() | {id(self)})

    async def _pass(self) -> None:
        with self._mutex:
            if not self._is_taken:
                self._is_taken = True
                return
            place: concurrent.futures.Future[None] = concurrent.futures.Future()
            self._waiting.append(place)
        try:
            await asyncio.wrap_future(place)
        except asyncio.CancelledError:
            with self._mutex:
                if place in self._waiting:
                    self._waiting.remove(place)
                    raise
            self._pass_on()  # the turn had come in the same moment
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _INSIDE.set(_INSIDE.get() - {id(self)})
        self._pass_on()

    def _pass_on(self) -> None:
        with self._mutex:
            while self._waiting:
                place = self._waiting.popleft()
                if place.set_running_or_notify_cancel():
                    place.set_result(None)
                    return
            self._is_taken = False


class Session:
    """One conversation: an append-only list of messages.

    Args:
        id: its name; a fresh one by default.
        user: whose it is.
    """

    def __init__(self, id: str | None = None, *, user: str = "") -> None:  # noqa: A002 - the field's word
        self.id = id or uuid.uuid4().hex
        self.user = user
        self.turnstile = Turnstile()
        self.suspended: dict[Hashable, Any] = {}
        self._messages: list[Message] = []
        self._ids: set[str] = set()

    @property
    def messages(self) -> tuple[Message, ...]:
        """Everything that was said."""
        return tuple(self._messages)

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
