"""A session: one conversation of one user, and the lock that keeps its runs one after the other.

This one lives in the process alone; one that is kept in a store (`stored.py`) does the same and writes down what is new.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from toolhand.core.approvals import Decision, PendingCall, decision_from_json, decision_to_json
from toolhand.core.errors import SessionError, SettingsError
from toolhand.core.language import say
from toolhand.core.messages import Message, ToolCall, ToolResult
from toolhand.policies.sharing.turnstile import Turnstile
from toolhand.sessions import codec
from toolhand.sessions.entries import Kind, Ledger
from toolhand.sessions.tail import Messages, Tail
from toolhand.sessions.trimming.window import View, Window

_LONGEST_NAME: Final = 256
"""In characters. PostgreSQL's indexes take entries of up to 2,700 bytes, and one holds a session's and a user's name."""

_INSIDE: Final = (
    "a tool asked the session of the run that called it: it would wait for itself; give it a session of its own",
    "工具请求了正在调用它的运行所用的会话：这会等待自己；请给它单独的会话",
)


class Session:
    """One conversation: messages that are only ever added, and a ledger of the last reply's calls.

    Args:
        id: its name; a fresh one by default.
        user: whose it is.
    """

    def __init__(self, id: str | None = None, *, user: str = "") -> None:  # noqa: A002 - the field's word
        self.id = id or uuid.uuid4().hex
        self.user = user
        self.turnstile = Turnstile(_INSIDE)
        self.suspended: dict[Hashable, Any] = {}
        """What policies knew when the last run was suspended; it does not leave the process."""
        self.window: Window | None = None
        """What a model is shown of it; made when it is first shown."""
        self.view: View | None = None
        """Where what is shown was cut before it was loaded."""
        self.shown_tools: list[str] | None = None
        """The tools that its model is shown, in the order in which they came, where they are chosen; stays in the process."""
        self.ledger = Ledger()
        self._tail = Tail()
        self._ids: set[str] = set()
        self._calls = 0  # how many ids were ever given

    @property
    def messages(self) -> Messages:
        """Everything that was said, as of now. What is not in memory is read when it is looked at."""
        return Messages(self._tail)

    def append(self, *messages: Message) -> None:
        """Adds to the end; nothing is ever changed. In a store it is kept once `saved` has returned.

        Raises:
            SessionError: for a session of a store that is not `held`.
        """
        for message in messages:
            if message.role == "assistant":
                self.ledger.clear()
            for part in message.parts:
                if isinstance(part, ToolCall) and part.id not in self._ids:
                    self._ids.add(part.id)
                    self._calls += 1
                elif isinstance(part, ToolResult) and self.ledger.of(part.call_id).result is not part:
                    self.note_ended(part)
            self._write("message", lambda: self._body(message))  # noqa: B023 - called at once
            self._tail.messages.append(message)

    def _body(self, message: Message) -> dict[str, Any]:
        body = codec.message_json(message, names_results=True)
        body["i"] = len(self._tail)
        body["n"] = self._calls
        if self.window is not None and self.window.has_left_out:
            body["v"] = self.window.view.to_json()
        return body

    def note_started(self, call_id: str, tool: str, *, is_repeatable: bool) -> None:
        """Writes down that a call is about to reach a tool. It may do so once `saved` has returned.

        Args:
            call_id: the call.
            tool: the tool that runs now; a fallback has another name than the call.
            is_repeatable: whether the tool may run again without harm.
        """
        state = self.ledger.of(call_id)
        if state.started and (is_repeatable or not state.is_repeatable):
            return  # another attempt says nothing new
        state.is_repeatable = is_repeatable and (state.is_repeatable or not state.started)
        state.started = True
        body = {"tool": tool, "repeatable": state.is_repeatable}
        state.started_seq = self._write("started", lambda: body, call_id)

    def note_waiting(self, call_id: str, tool: str) -> None:
        """Writes down that a call waits for a person.

        Whatever it has reached by then has failed without an effect, such as a tool whose fallback has to be agreed to: it
        may run again.

        Args:
            call_id: the call.
            tool: the tool that was asked for.
        """
        state = self.ledger.of(call_id)
        if state.started:
            state.started, state.is_repeatable = False, True
            self._write("started", lambda: {"tool": tool, "repeatable": True, "waits": True}, call_id)

    def note_pending(self, calls: Sequence[PendingCall]) -> None:
        """Writes down which calls wait for a person, so that any process can show what is to be decided.

        Args:
            calls: all that wait now.
        """
        self.ledger.waiting = tuple(calls)
        self._write("waiting", lambda: {"calls": [call.to_json() for call in calls]})

    @property
    def waiting(self) -> tuple[PendingCall, ...]:
        """The calls that wait for a person, without those that were decided about or have a result."""
        ledger, open_ids = self.ledger, tuple(call.id for call in self.unanswered)
        return tuple(
            call
            for call in ledger.waiting
            # a step of a plan and a fallback have ids that begin with that of the call that they belong to
            if call.call_id in open_ids
            or call.call_id.startswith(tuple(f"{name}{mark}" for name in open_ids for mark in ".~"))
            if not {call.approval_id, call.call_id} & ledger.decisions.keys()
            if (state := ledger.calls.get(call.call_id)) is None or state.result is None
        )

    def note_ended(self, result: ToolResult) -> None:
        """Writes down a call's result."""
        self.ledger.of(result.call_id).result = result
        self._write("ended", lambda: codec.result_json(result), result.call_id)

    def note_decided(self, decisions: Mapping[str, Decision]) -> None:
        """Writes down what a person decided about calls that wait, so that it counts in another process too.

        Args:
            decisions: by approval id.
        """
        if not decisions:
            return
        told = {name: decision_to_json(decision) for name, decision in decisions.items()}
        self.ledger.decisions.update(told)
        self._write("decided", lambda: told)

    @property
    def decisions(self) -> dict[str, Decision]:
        """What was decided about calls of the last reply, by approval id."""
        return {name: decision_from_json(told) for name, told in self.ledger.decisions.items()}

    async def undo(self) -> str:
        """Takes the last user message back, with all that came of it. In a store the lines stay and count no longer.

        Returns:
            the user's words.

        Raises:
            SessionError: when there is nothing to undo, or the session is not `held`.
        """
        while (place := self._last_user()) is None and await self.load_older():
            pass
        if place is None:
            raise SessionError(
                say(
                    f"the session '{self.id}' has no message of a user that could be undone",
                    f"会话“{self.id}”没有可以撤回的用户消息",
                )
            )
        length = self._tail.offset + place
        words = self._tail.messages[place].text
        self._undone(length)
        self._tail = self._tail.cut(length)
        self.ledger.clear()
        self.suspended, self.window = {}, None
        return words

    def _undone(self, length: int) -> None:
        """Writes down that only so many messages count."""

    def _last_user(self) -> int | None:
        messages = self._tail.messages
        for place in range(len(messages) - 1, -1, -1):
            if messages[place].is_said:
                return place
        return None

    def recent(self) -> list[Message]:
        """The loaded end of the history, as a list of its own; `load_older` makes it longer."""
        return self._tail.messages.copy()

    async def load_older(self) -> bool:
        """Loads a stretch of older messages in front of `recent`; whether there were any."""
        return False

    @property
    def count(self) -> int:
        """How many messages there are."""
        return self._tail.offset + len(self._tail.messages)

    @property
    def first(self) -> Message | None:
        """The message that it begins with."""
        return self._tail.messages[0] if self._tail.messages and not self._tail.offset else None

    def since(self, place: int) -> list[Message]:
        """The messages from a place on, counted from 0, as far as they are loaded."""
        return self._tail.messages[max(0, place - self._tail.offset) :]

    def newest_first(self) -> Iterator[Message]:
        """The messages from the end, read only as far as they are asked for."""
        messages = self.messages
        return (messages[place] for place in range(len(messages) - 1, -1, -1))

    @property
    def unanswered(self) -> tuple[ToolCall, ...]:
        """The calls of the last reply that have no result yet: they wait for a person, or were interrupted."""
        answered: set[str] = set()
        for message in reversed(self._tail.messages):
            if message.role == "assistant":
                return tuple(call for call in message.calls if call.id not in answered)
            answered.update(result.call_id for result in message.results)
        return ()

    @property
    def is_under_way(self) -> bool:
        """Whether the last run has not come to an answer: it was interrupted, or waits for a person."""
        if not self._tail.messages:
            return False
        return self._tail.messages[-1].role != "assistant" or bool(self.unanswered)

    @property
    def last_words(self) -> str:
        """What the user said last, as far as it is loaded."""
        place = self._last_user()
        return "" if place is None else self._tail.messages[place].text

    def run_calls(self) -> tuple[list[ToolCall], list[ToolResult]]:
        """The calls since the user's last message that have results, in the history or the ledger, and these, in order."""
        place = self._last_user() or 0
        calls: dict[str, ToolCall] = {}
        results: list[ToolResult] = []
        for message in self._tail.messages[place:]:
            calls.update({call.id: call for call in message.calls})
            results.extend(result for result in message.results if result.call_id in calls)
        told = {result.call_id for result in results}
        results.extend(
            state.result
            for call_id, state in self.ledger.calls.items()
            if state.result is not None and call_id in calls and call_id not in told
        )
        return [calls[result.call_id] for result in results], results

    def new_call_id(self) -> str:
        """An id that no call of this session has, as far as it is loaded; see `known_calls`."""
        return self.claim("")

    def claim(self, call_id: str, taken: Iterable[str] = ()) -> str:
        """The id itself if no call of this session has it, else a new one: providers repeat ids and leave them out.

        Args:
            call_id: what the provider sent.
            taken: further ids that are in use.
        """
        unique, number = call_id, self._calls
        while not unique or unique in self._ids or unique in taken:
            number += 1
            unique = f"call_{number}"
        self._ids.add(unique)
        self._calls += 1
        return unique

    async def known_calls(self, ids: Iterable[str]) -> frozenset[str]:
        """Which of these ids belong to calls that are not loaded."""
        del ids  # all are loaded
        return frozenset()

    @asynccontextmanager
    async def held(self, user: str | None = None) -> AsyncIterator[None]:
        """Has the session to itself: other runs wait in a row.

        Args:
            user: who asks; its own user by default.

        Raises:
            SessionError: when it belongs to another user, or does not become free in time.
        """
        if user:
            self.check_owner(user)
        passage = await self.turnstile.enter()
        try:
            yield
        finally:
            self.turnstile.leave(passage)

    def check_owner(self, user: str) -> None:
        """Refuses a user whose session it is not.

        Raises:
            SessionError: then.
        """
        if user and self.user and user != self.user:
            raise SessionError(refusal(self.id, user))

    async def exists(self) -> bool:
        """Whether anything is known of it."""
        return bool(self._tail.messages)

    async def saved(self) -> None:
        """Waits until everything that was added is kept.

        Raises:
            StoreError: when it cannot be.
        """

    async def assured(self) -> None:
        """Waits until everything that was added is kept and it is sure that no other run has the session.

        Raises:
            SessionError: when another has taken it over: this one was out of touch for too long.
            StoreError: when that cannot be told.
        """

    def begin_saving(self) -> None:
        """Starts to keep what was added; `saved` tells whether it was.

        Raises:
            SessionError: when what was added before could not be kept, as another run has taken the session over.
            StoreError: when it could not be, as the store cannot be written.
        """

    def _write(self, kind: Kind, body: Callable[[], Mapping[str, Any]], call_id: str = "") -> int:
        """Writes an entry down; gives its number. Without a store there is nothing to do."""
        del kind, body, call_id
        return 0


_CALLED: Final = {"session": "会话", "user": "用户"}


def check_name(what: str, name: str) -> None:
    """Refuses a name that no store can keep or no person could ask for again.

    Args:
        what: what it names, for the error.
        name: the name; "" is nobody, where it is a user's.

    Raises:
        SettingsError: when a session's is empty, it holds a NUL or half a character, or is longer than an index can take.
    """
    if what == "session" and not name.strip():
        raise SettingsError(
            say(
                "the session's name is empty: give it one, or leave it out for a run that is not kept",
                "会话名称是空的：请给出名称，或不写（这次运行不保存）",
            )
        )
    if "\0" in name or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise SettingsError(
            say(
                f"the {what}'s name {name[:60]!r} holds a character that cannot be kept: use plain text",
                f"{_CALLED[what]}名称 {name[:60]!r} 含有无法保存的字符：请使用普通文本",
            )
        )
    if len(name) > _LONGEST_NAME:
        raise SettingsError(
            say(
                f"the {what}'s name '{name[:60]}…' has {len(name):,} characters: use at most {_LONGEST_NAME}",
                f"{_CALLED[what]}名称“{name[:60]}…”有 {len(name):,} 个字符：最多 {_LONGEST_NAME} 个",
            )
        )


def refusal(session_id: str, user: str) -> str:
    """What is said to a user who asks for a session that is not his; it does not say whose it is."""
    who_zh = f"“{user}”" if user else "没有用户名的运行"
    who = f"'{user}' may not use it" if user else "a run without a user may not use it"
    return say(
        f"the session '{session_id}' belongs to another user, and {who}: give its own user, or use another session",
        f"会话“{session_id}”属于其他用户，{who_zh}不能使用：请给出它的用户，或使用另一个会话",
    )
