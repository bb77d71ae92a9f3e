"""A submitted run as a program sees it: to wait for, to follow, to decide about, to cancel, from any process."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final, Generic

from toolhand.core.approvals import Decision, PendingCall
from toolhand.core.errors import ToolhandError
from toolhand.core.events import Event, RunFinished
from toolhand.core.language import say
from toolhand.core.messages import Message, ToolCall, ToolResult, Usage
from toolhand.durable import tending
from toolhand.durable.following import Following
from toolhand.durable.ledger import RunLedger
from toolhand.durable.notices import notices_of
from toolhand.durable.rows import RunRow
from toolhand.run import Output, Run
from toolhand.sessions.stored import StoredSession

_LOOK_SECONDS: Final = 1.0
"""How often whoever waits looks by itself, in case a notice was lost."""


class RunError(ToolhandError):
    """A submitted run came to no answer: it failed, was cancelled, or was given up; the message says why and what to do."""


class SubmittedRun(Generic[Output]):
    """A run that some worker makes.

    Args:
        id: its name.
        ledger: where it stands.
        output_of: makes the output of what the worker kept of it; None to leave it as JSON.
    """

    def __init__(
        self,
        id: str,  # noqa: A002 - the field's word
        ledger: RunLedger,
        *,
        output_of: Callable[[Any], Any] | None = None,
    ) -> None:
        self.id = id
        self._ledger = ledger
        self._output_of = output_of

    async def look(self) -> RunRow:
        """How it stands now.

        Raises:
            SettingsError: when there is none of that name.
        """
        row = await self._ledger.find(self.id)
        if row is None:
            raise tending.no_such(self._ledger, self.id)
        return row

    async def wait(self, seconds: float | None = None) -> Run[Output]:
        """The run, once it has an answer or waits for a person (`run.pending`).

        Args:
            seconds: how long at most; None for as long as it takes.

        Raises:
            RunError: when it failed, was cancelled or was given up.
            TimeoutError: when it takes longer.
        """
        until = None if seconds is None else time.monotonic() + seconds
        async with notices_of(self._ledger.store).about(self.id) as box:
            while True:
                row = await self.look()
                if row.has_ended or row.state == "waiting":
                    return await self._run(row)
                left = _LOOK_SECONDS if until is None else min(_LOOK_SECONDS, until - time.monotonic())
                if left <= 0:
                    raise TimeoutError(
                        say(
                            f"the run '{self.id}' is still {row.state} after {seconds:g} seconds: wait again, or cancel it",
                            f"{seconds:g} 秒后运行“{self.id}”仍是 {row.state}：请继续等待，或取消它",
                        )
                    )
                await box.next(left)

    async def events(self) -> AsyncIterator[Event]:
        """What happens in it, from its beginning, as `Agent.stream` tells it: words, calls, their results; last `RunFinished`.

        What was submitted with `streams=True` brings its words as they come, anything else reply by reply. Nothing is lost or
        told twice, whichever worker goes on with it.

        Raises:
            RunError: when it failed, was cancelled or was given up.
        """
        following = Following(self._ledger, self.id)
        async with notices_of(self._ledger.store).about(self.id) as box:
            while True:
                row = await self.look()
                for event in await following.news(row):
                    yield event
                if row.has_ended or row.state == "waiting":
                    yield RunFinished(run=await self._run(row))
                    return
                notice = await box.next(_LOOK_SECONDS if row.first_seq else _LOOK_SECONDS / 4)
                while notice and (pieces := following.hear(notice)) is not None:
                    for event in pieces:
                        yield event
                    notice = await box.next(_LOOK_SECONDS)

    async def cancel(self) -> bool:
        """Ends it, with a whole history; False where it had ended already.

        Raises:
            SettingsError: when there is none of that name.
        """
        return await tending.cancel(self._ledger, self.id)

    async def decide(self, decisions: Mapping[str, Decision]) -> None:
        """Tells it what a person decided about the calls that wait; then some worker goes on with it.

        Args:
            decisions: `Approve()`, `Deny(reason)` or `Edit(arguments)` by `PendingCall.approval_id` or call id.

        Raises:
            SettingsError: when it does not wait, or a decision is none or is about no call that waits.
        """
        await tending.decide(self._ledger, self.id, decisions)

    async def retry(self) -> None:
        """Has it tried again where it failed, was cancelled or was given up.

        Raises:
            SettingsError: when it has not ended so.
        """
        await tending.retry(self._ledger, self.id)

    async def _run(self, row: RunRow) -> Run[Any]:
        if row.state not in ("finished", "waiting"):
            raise RunError(_why(row))
        outcome, new = row.outcome, await self._new_messages(row)
        session = StoredSession(row.session_id, self._ledger.store, user=row.user)
        await session.load()
        calls: dict[str, ToolCall] = {call.id: call for message in new for call in message.calls}
        results: tuple[ToolResult, ...] = tuple(r for m in new for r in m.results if r.call_id in calls)
        said, output = str(outcome.get("said", "")), outcome.get("output")
        if output is not None and self._output_of is not None:
            output = self._output_of(output)
        return Run(
            output=output if outcome.get("typed") else said,
            said=said,
            stopped=outcome.get("stopped", "answered"),
            messages=session.messages,
            new_messages=tuple(new),
            calls=tuple(calls[result.call_id] for result in results),
            results=results,
            pending=tuple(PendingCall.from_json(told) for told in outcome.get("pending", ())),
            usage=Usage(**outcome.get("usage", {})),
            session_id=row.session_id,
            trace_id=str(outcome.get("trace_id", "")),
        )

    async def _new_messages(self, row: RunRow) -> list[Message]:
        following = Following(self._ledger, self.id)
        await following.news(row)
        return following.messages


def _why(row: RunRow) -> str:
    reason = row.error or say("no reason is known", "原因未知")
    match row.state:
        case "cancelled":
            return say(f"the run '{row.id}' was cancelled", f"运行“{row.id}”已被取消") + (
                f": {row.error}" if row.error else ""
            )
        case "dead":
            return say(
                f"the run '{row.id}' was given up: {reason}; `toolhand runs retry {row.id}` has it tried again",
                f"运行“{row.id}”已放弃：{reason}；用 `toolhand runs retry {row.id}` 重试",
            )
        case _:
            return say(
                f"the run '{row.id}' failed: {reason}; `toolhand runs retry {row.id}` goes on with it",
                f"运行“{row.id}”失败：{reason}；用 `toolhand runs retry {row.id}` 继续",
            )
