"""What becomes of calls that were left without a result when their run was interrupted: by a crash, or to ask a person.

The ledger says which had started. What has a result keeps it; what never started, or may run twice without harm, may run now;
a call that may have had its effect is not run again unless a person says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolhand.core.approvals import (
    PENDING,
    Approve,
    Decision,
    Deny,
    Edit,
    PendingCall,
    approval_id,
    check_decisions,
    decide,
)
from toolhand.core.canonical import digest
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError, ToolError
from toolhand.core.language import say
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.observability.outcomes import LET_GO
from toolhand.policies.permission import Permission
from toolhand.protocols.reading.coded import RUN_CODE
from toolhand.protocols.reading.planned import RUN_PLAN
from toolhand.run import WORDS
from toolhand.sessions.entries import CallState
from toolhand.sessions.session import Session
from toolhand.toolset import Toolset


class Settling:
    """The calls of an interrupted run.

    Args:
        session: the conversation, held.
        tools: what may be called.
        context: the run's that goes on.
    """

    def __init__(self, session: Session, tools: Toolset, context: RunContext) -> None:
        self._session, self._tools, self._context = session, tools, context
        self._words = WORDS[context.language]

    def check(self, calls: Sequence[ToolCall], decisions: Mapping[str, Decision]) -> None:
        """Refuses, before anything counts or runs, decisions that could come to nothing: the run waits on as it is.

        Args:
            calls: those without a result.
            decisions: what a person decided, by approval id or call id.

        Raises:
            SettingsError: when one is no decision, is about no call of this run, changes arguments into what does not fit the
                tool, or when a call that waits is one that the user may not make with the permissions and roles that the run is
                gone on with.
        """
        check_decisions(decisions)
        waiting = {call.id: self._names(call) for call in calls}
        self._check_known(waiting, decisions)
        told = {**self._session.decisions, **decisions}
        for call in calls:
            found = [told[name] for name in waiting[call.id] if name in told]
            tool = self._tools.lookup(call.name)
            if tool is None or self._session.ledger.of(call.id).result is not None:
                continue
            if not any(isinstance(one, Deny) for one in found) and (found or tool.rules.approval):
                self._check_permitted(call, tool)
            for name in waiting[call.id]:
                if isinstance(edit := decisions.get(name), Edit):
                    self._check_edited(call, edit)

    def _names(self, call: ToolCall) -> tuple[str, ...]:
        """What a decision about a call may be given by; what a person was asked with stands last."""
        bound = self._tools.dispatch.rebind(call, self._context)
        seen = call if isinstance(bound, ToolError) else bound.call
        names = call.id, approval_id(call, self._context), approval_id(seen, self._context)
        state = self._session.ledger.of(call.id)
        return (*names, self._again(call, state)) if state.is_unknown else names

    def _check_known(self, waiting: Mapping[str, Sequence[str]], decisions: Mapping[str, Decision]) -> None:
        told = {*self._session.decisions, *(name for names in waiting.values() for name in names)}
        if decisions.keys() <= told:
            return
        earlier, _ = self._session.run_calls()  # a decision that is given once more is no mistake
        told.update(name for call in earlier for name in self._names(call))
        unanswered = self._session.unanswered
        if any(_asks_for_others(self._tools.lookup(call.name), call) for call in (*earlier, *unanswered)):
            return  # what waits there has a name that only its own run knows
        for name in decisions.keys() - told:
            ids = ", ".join(
                f"'{names[-1]}' ({call_id})"
                for call_id, names in waiting.items()
                if self._session.ledger.of(call_id).result is None
            )
            raise SettingsError(
                say(
                    f"the decision about '{name}' is about no call of this run: what waits is {ids or 'nothing'}",
                    f"关于“{name}”的决定不对应这次运行的任何调用：正在等待的是 {ids or '（没有）'}",
                )
            )

    def _check_permitted(self, call: ToolCall, tool: Tool) -> None:
        for policy in self._tools.dispatch.layers(tool):
            if not isinstance(policy, Permission) or policy.offers(tool, self._context):
                continue
            lacks = policy.lacks(tool, self._context)
            given = f"permissions=['{lacks}']" if lacks else "permissions=…, roles=…"
            raise SettingsError(
                say(
                    f"the call '{call.id}' of '{call.name}' waits, and the user may not make it: "
                    f"resume with {given} as the run had, or decide Deny()",
                    f"“{call.name}”的调用“{call.id}”在等待，但当前用户无权执行："
                    f"请像原来的运行那样在 resume 时给出 {given}，或决定 Deny()",
                )
            )

    def _check_edited(self, call: ToolCall, edit: Edit) -> None:
        bound = self._tools.dispatch.rebind(replace(call, arguments=dict(edit.arguments)), self._context)
        if isinstance(bound, ToolError):
            raise SettingsError(
                say(
                    f"the changed arguments do not fit '{call.name}', and nothing was decided: {bound.message}",
                    f"修改后的参数不符合“{call.name}”的要求，尚未作出任何决定：{bound.message}",
                )
            )

    def resumed(self, calls: Sequence[ToolCall], decisions: Mapping[str, Decision]) -> dict[str, ToolResult]:
        """The results of calls that do not run now, by call id; the others may, with what was decided about them.

        Args:
            calls: those without a result.
            decisions: what a person decided, by approval id or call id.
        """
        check_decisions(decisions)
        known: dict[str, ToolResult] = {}
        for call in calls:
            state = self._session.ledger.of(call.id)
            if state.result is not None:
                known[call.id] = state.result
            elif state.is_unknown:
                result = self._unknown(call, state, decisions)
                if result is not None:
                    known[call.id] = result
        if decisions and len(known) < len(calls):
            self._session.note_decided(decisions)
        decide(self._context, self._session.decisions)
        return known

    def let_go(self, calls: Sequence[ToolCall]) -> dict[str, ToolResult]:
        """The same where the user says something new instead: only what reads still runs, or had begun and is harmless to repeat.

        What would have changed something did not run and does not now: by now the user may want something else.
        """
        known: dict[str, ToolResult] = {}
        for call in calls:
            state, tool = self._session.ledger.of(call.id), self._tools.lookup(call.name)
            if state.result is not None:
                known[call.id] = state.result
            elif state.is_unknown:
                self._recall(call)
                known[call.id] = self.unfinished(call)
            elif tool is None or tool.rules.approval or not _may_still_run(tool, state):
                known[call.id] = self.not_run(call)
        return known

    def _recall(self, call: ToolCall) -> None:
        """Has the audit know what a person had decided about a call that was under way."""
        told = self._session.decisions
        decide(self._context, {name: told[name] for name in self._names(call) if name in told})

    def not_run(self, call: ToolCall) -> ToolResult:
        """The result of a call that is let go before it ran."""
        error = ToolError(code=ErrorCode.CANCELLED, message=self._words["not_run"], retryable=True)
        return ToolResult(call_id=call.id, name=call.name, outcome=error, notes={LET_GO: True})

    def unfinished(self, call: ToolCall) -> ToolResult:
        """The result of a call that a stopped run leaves behind."""
        state = self._session.ledger.of(call.id)
        if not state.is_unknown:
            message = self._words[ErrorCode.CANCELLED]
            return _answer(call, ToolError(code=ErrorCode.CANCELLED, message=message, retryable=True))
        message = self._words[ErrorCode.OUTCOME_UNKNOWN]
        return _answer(call, ToolError(code=ErrorCode.OUTCOME_UNKNOWN, message=message))

    def _unknown(
        self, call: ToolCall, state: CallState, decisions: Mapping[str, Decision]
    ) -> ToolResult | None:
        """The result of a call that may have had its effect; None where a person has agreed to run it again."""
        message = self._words["perhaps"].format(name=call.name)
        tool = self._tools.lookup(call.name)
        if tool is None or not tool.rules.approval:
            return _answer(call, ToolError(code=ErrorCode.OUTCOME_UNKNOWN, message=message))
        name = self._again(call, state)
        match {**self._session.decisions, **decisions}.get(
            name
        ):  # an older agreement, or one by the call's id, was to the first try
            case Approve() | Edit() as agreed:
                decide(self._context, {approval_id(call, self._context): agreed})
                self._session.note_decided({approval_id(call, self._context): agreed})
                state.started = False  # the second try is written down as one of its own
                return None
            case Deny(reason=reason):
                hint = self._words["declined"].format(reason=reason).strip()
                error = ToolError(code=ErrorCode.OUTCOME_UNKNOWN, message=message, hint=hint)
                return _answer(call, error)
            case _:
                return self._asks_again(call, tool, name, message)

    def _again(self, call: ToolCall, state: CallState) -> str:
        """The name of the question whether a call may run a second time."""
        return digest("approval again", self._context.session_id, call.id, str(state.started_seq))

    def _asks_again(self, call: ToolCall, tool: Tool, name: str, message: str) -> ToolResult:
        pending = PendingCall(
            approval_id=name,
            call_id=call.id,
            name=call.name,
            arguments=dict(call.arguments),
            user=self._context.user,
            session_id=self._context.session_id,
            trace_id=self._context.trace_id,
            effect=tool.rules.effect,
            may_have_run=True,
        )
        error = ToolError(
            code=ErrorCode.APPROVAL_REQUIRED,
            message=message,
            details={"approval_id": name, "pending": pending.to_json()},
        )
        return ToolResult(call_id=call.id, name=call.name, outcome=error, notes={PENDING: pending.to_json()})


def _asks_for_others(tool: Tool | None, call: ToolCall) -> bool:
    """Whether other calls than this one may wait for a person in its place."""
    return call.name in (RUN_PLAN, RUN_CODE) or (tool is not None and tool.rules.fallback is not None)


def _may_still_run(tool: Tool, state: CallState) -> bool:
    return tool.rules.effect == "reads" or (state.started and tool.repeatable)


def _answer(call: ToolCall, error: ToolError) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, outcome=error)
