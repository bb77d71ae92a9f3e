"""What every stage of a run may know: who asks, in which session, and where to report."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolhand.core.call_events import CallProgressed
from toolhand.core.errors import SettingsError
from toolhand.core.events import Event
from toolhand.core.language import Language, chosen_language, say
from toolhand.core.messages import BoundCall, ToolCall


def several(what: str, names: Collection[str]) -> frozenset[str]:
    """Several names; one alone would be read as its letters.

    Args:
        what: the option, for the error.
        names: as they were given.

    Raises:
        SettingsError: when it is one string.
    """
    if isinstance(names, str):
        raise SettingsError(
            say(
                f'{what} is a list of names, and this is one string: give {what}=["{names:.60}"]',
                f'{what} 是名称的列表，这里却是一个字符串：请写 {what}=["{names:.60}"]',
            )
        )
    return frozenset(names)


def _nobody_listens(event: Event) -> None:
    """The default listener."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The facts of one run, handed to whatever runs in it. A tool that wants it declares a parameter of this type.

    Args:
        user: who asks; decides permissions and is what `Injected("user_id")` gives.
        session_id: the conversation.
        trace_id: marks every event and log line of the run.
        turn: how many model replies came before.
        language: the language of words for people and models; what `TOOLHAND_LANG` says, or else English.
        deadline: when the run must end, on the monotonic clock in seconds, or None.
        facts: values for `Injected(key)` parameters.
        emit: where events go.
        permissions: what the user holds.
        roles: what the user is, such as "clerk"; access rules name them.
        memory: what policies remember for the length of the run, each under a key of its own.
        call: for a tool that is given this, the call that it was made for.
        before_tool: awaited right before a call reaches its tool, as when a ledger writes down that it does; None for nobody.
    """

    user: str = ""
    session_id: str = ""
    trace_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    turn: int = 0
    language: Language = field(default_factory=lambda: chosen_language() or "en")
    deadline: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    emit: Callable[[Event], None] = _nobody_listens
    permissions: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    memory: dict[Hashable, Any] = field(default_factory=dict)
    before_tool: Callable[[BoundCall], Awaitable[None]] | None = None
    call: ToolCall | None = None

    def __post_init__(self) -> None:
        for name in ("permissions", "roles"):
            value = getattr(self, name)
            if type(value) is not frozenset:
                object.__setattr__(self, name, several(name, value))

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """What a tool tells of how far it has got, to whoever listens: a stream, a server's client. Any thread may call it.

        Args:
            done: how much is done, in a unit of its own.
            total: how much there is to do, where that is known.
            message: one line for a person.
        """
        if self.call is not None:
            self.emit(CallProgressed(call=self.call, done=done, total=total, message=message))

    def fact(self, key: str) -> Any:
        """The value for an injected parameter.

        Raises:
            KeyError: when nothing was given under that key.
        """
        if key in self.facts:
            return self.facts[key]
        if key in ("user", "user_id") and self.user:  # nobody is no user: a tool would take "" for one
            return self.user
        if key in ("session", "session_id"):
            return self.session_id
        if key == "trace_id":
            return self.trace_id
        raise KeyError(key)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline, or None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
