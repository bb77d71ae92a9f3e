"""Runs the programs of a run: each of their calls goes the way of every call, and the program's own call gets one result.

A program travels through the history as one call, `run_code`. Where it is interrupted, or waits for a person, it is begun anew
afterwards: the ids of its calls follow from what they ask for, so what has a result in the ledger is not run again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from toolhand.core.approvals import pending_of
from toolhand.core.context import RunContext
from toolhand.core.jsonable import jsonable
from toolhand.core.messages import ToolCall, ToolResult, Value
from toolhand.parsing.programs.outcomes import CodeRules, Outcome
from toolhand.protocols.reading.coded import RUN_CODE
from toolhand.settling import Settling
from toolhand.toolset import Toolset
from toolhand.way import Way

_LONGEST_CALL: Final = 500


def carries_program(call: ToolCall, tools: Toolset) -> bool:
    """Whether a call is a program's own."""
    return call.name == RUN_CODE and RUN_CODE not in tools and call.problem is None


@dataclass(slots=True)
class OneProgram:
    """One program on its way to its result.

    Args:
        call: the call that carries it.
        way: what its calls run with.
        rules: how it runs.
        ran: takes its calls and their results.
    """

    call: ToolCall
    way: Way
    rules: CodeRules
    ran: list[tuple[ToolCall, ToolResult]]
    _outcome: Outcome | None = None
    _waiting: ToolResult | None = None

    async def run(self) -> None:
        """Runs it.

        Raises:
            SandboxError: when no sandbox holds on this machine.
        """
        from toolhand.sandbox.running import arun_code  # noqa: PLC0415 - for those who run programs

        way, limits = self.way, self.rules.limits
        most = limits.calls if way.most_calls is None else min(limits.calls, way.most_calls)
        offered = way.tools.offered(way.context)
        self._outcome = await arun_code(
            str(self.call.arguments.get("code", "")),
            offered.filter(lambda tool: way.choice.allows(tool.name)),
            limits=replace(limits, calls=most),
            backend=self.rules.backend,
            context=way.context,
            prefix=self.call.id,
            dispatch=self._dispatch,
        )

    async def _dispatch(self, call: ToolCall, context: RunContext) -> ToolResult:
        """Runs one call; what the ledger knows of it, from before the program was interrupted, is not run again."""
        from toolhand.jails.runs import Ended  # noqa: PLC0415 - as above

        way = self.way
        known = Settling(way.session, way.tools, context).resumed([call], way.decisions).get(call.id)
        if known is None and self._has_changed(call):
            raise Ended("replay")
        if known is None:
            way.running.add(call.id)
            found = await way.tools.dispatch.each([call], context, way.choice, on_result=self._note)
            known = found[0]
        else:
            self._note(known)
        if pending_of(known) is not None:
            self._waiting = self._waiting or known
        else:
            self.ran.append((call, known))
        return known

    def _note(self, result: ToolResult) -> None:
        session = self.way.session
        if (pending := pending_of(result)) is not None:
            if not pending.may_have_run:
                session.note_waiting(result.call_id, result.name)
        elif session.ledger.of(result.call_id).result is None:
            session.note_ended(result)

    def _has_changed(self, call: ToolCall) -> bool:
        """Whether another call had this one's place before, and may have changed something."""
        place = call.id.rsplit(".", 1)[0] + "."
        for call_id, state in list(self.way.session.ledger.calls.items()):
            if (
                call_id.startswith(place)
                and call_id != call.id
                and (state.started or state.result is not None)
            ):
                tool = self.way.tools.get(state.result.name) if state.result is not None else None
                if tool is None or not tool.repeatable:
                    return True
        return False

    def result(self) -> ToolResult:
        """The program's own result, also of one that was cut off in its midst."""
        outcome = self._outcome
        if outcome is None:
            return self.left()
        if self._waiting is not None:
            return replace(self._waiting, call_id=self.call.id, name=self.call.name)
        report: dict[str, Any] = {"output": outcome.output, "steps": self._steps()}
        if outcome.value is not None:
            report["value"] = outcome.value
        if outcome.files:
            report["files"] = list(outcome.files)
        if outcome.error is not None:
            report["error"] = str(outcome.error)
        return self._answer(report)

    def left(self) -> ToolResult:
        """The result of a program that does not go on, from what the ledger knows of its calls."""
        settling = Settling(self.way.session, self.way.tools, self.way.context)
        steps: list[dict[str, Any]] = []
        for call_id, state in list(self.way.session.ledger.calls.items()):
            if not call_id.startswith(f"{self.call.id}."):
                continue
            if state.result is not None:
                steps.append(self._step(ToolCall(id=call_id, name=state.result.name), state.result))
            elif state.started:
                unknown = settling.unfinished(ToolCall(id=call_id, name="")).error
                steps.append({"call": call_id, "error": unknown.sentence if unknown else ""})
        gone = settling.unfinished(self.call).error
        return self._answer({"output": "", "error": gone.sentence if gone else "", "steps": steps})

    def _steps(self) -> list[dict[str, Any]]:
        return [self._step(call, result) for call, result in self.ran]

    def _step(self, call: ToolCall, result: ToolResult) -> dict[str, Any]:
        named = ", ".join(f"{key}={jsonable(value)!r}" for key, value in call.arguments.items())
        step: dict[str, Any] = {"call": f"{call.name}({named})"[:_LONGEST_CALL]}
        tool = self.way.tools.get(result.name)
        if tool is None or tool.rules.effect != "reads":
            step["writes"] = True
        if result.error is not None:
            step["error"] = result.error.sentence
        return step

    def _answer(self, report: dict[str, Any]) -> ToolResult:
        untrusted = any(result.untrusted for _, result in self.ran)
        return ToolResult(
            call_id=self.call.id, name=self.call.name, outcome=Value(report), untrusted=untrusted
        )
