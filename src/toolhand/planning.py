"""Runs the plans of a run: each of their steps goes the way of every call, and the plan's own call gets one result.

A plan travels through the history as one call, `run_plan`, so that a session stays neutral and can be resumed: the ids of its
steps follow from that call's id, each step has its lines in the ledger, and one that has a result is not run again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolhand.coding import OneProgram, carries_program
from toolhand.core.approvals import pending_of
from toolhand.core.canonical import same_call
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.jsonable import jsonable
from toolhand.core.messages import ToolCall, ToolResult, Value
from toolhand.core.tools import Tool
from toolhand.core.untrusted import disarmed
from toolhand.parsing.plans.words import said
from toolhand.parsing.programs.outcomes import CodeRules
from toolhand.plan import Checked, Done, Interpreter, Outcome, Plan, Rules, Undone, check, read
from toolhand.policies.conditions import note_success, succeeded
from toolhand.policies.redaction.masks import MASKED
from toolhand.policies.shrinking.store import results_of
from toolhand.protocols.reading.coded import RUN_CODE
from toolhand.protocols.reading.planned import RUN_PLAN
from toolhand.settling import Settling
from toolhand.toolset import Toolset
from toolhand.way import Way

_VARIABLES: Final = "plan.variables"
_STANDING: Final = "plan.standing"
"""What a failed plan of the run has done and not undone: the next one, which repeats it, need not do it again."""

CARRIERS: Final = frozenset({RUN_PLAN, RUN_CODE})
"""The names of calls that carry several."""

_RULES: Final = Rules()
_CODE_RULES: Final = CodeRules()

OnResult = Callable[[ToolResult], None]


@dataclass(slots=True)
class Planning:
    """The plans of one run.

    Args:
        rules: how plans run.
        code_rules: how programs run.
        steps: every step's call and result by the plan's or program's call, for the run's account.
        answer: what the last plan's `return` gave, as text; None where none did.
    """

    rules: Rules = _RULES
    code_rules: CodeRules = _CODE_RULES
    steps: dict[str, list[tuple[ToolCall, ToolResult]]] = field(default_factory=dict)
    answer: str | None = None

    async def each(self, calls: Sequence[ToolCall], way: Way, on_result: OnResult) -> None:
        """Runs the calls of a reply; those that carry a plan or a program behind the others, one after the other.

        Args:
            calls: the calls.
            way: what they run with.
            on_result: takes each result as soon as it is there, also that of a plan that is cut off.
        """
        self.answer = None
        several = {call.id: one for call in calls if (one := self._several(call, way)) is not None}
        plain = [call for call in calls if call.id not in several]
        if plain:
            await way.tools.dispatch.each(plain, way.context, way.choice, on_result=on_result)
        for one in several.values():
            try:
                await one.run()
            finally:
                on_result(one.result())

    def _several(self, call: ToolCall, way: Way) -> _OnePlan | OneProgram | None:
        """What makes several calls of one."""
        if carries_plan(call, way.tools):
            return _OnePlan(self, call, way)
        if carries_program(call, way.tools):
            return OneProgram(call, way, self.code_rules, self.steps.setdefault(call.id, []))
        return None

    def account(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResult]
    ) -> tuple[list[ToolCall], list[ToolResult]]:
        """Calls and results for the run's account: in the place of a plan its steps."""
        pairs: list[tuple[ToolCall, ToolResult]] = []
        for call, result in zip(calls, results, strict=True):
            pairs += self.steps.pop(call.id, []) or [(call, result)]
        return [call for call, _ in pairs], [result for _, result in pairs]

    def recall(self, calls: Sequence[ToolCall], results: Sequence[ToolResult], context: RunContext) -> None:
        """Takes the variables of a run's earlier plans from its history, where the run goes on in another process."""
        variables = context.memory.setdefault(_VARIABLES, {})
        for call, result in zip(calls, results, strict=True):
            if call.name == RUN_PLAN and isinstance(result.data, Mapping):
                for step in result.data.get("steps", ()):
                    if "save_as" in step and "result" in step:
                        variables[step["save_as"]] = step["result"]

    def left(self, calls: Sequence[ToolCall], way: Way) -> dict[str, ToolResult]:
        """The results of interrupted plans and programs that do not go on: which steps had ended, and which may have."""
        return {call.id: one.left() for call in calls if (one := self._several(call, way)) is not None}


def rules_of(protocol: object) -> dict[str, Any]:
    """How plans or programs run, where a protocol is one of them."""
    rules = getattr(protocol, "rules", None)
    return (
        {"rules": rules}
        if isinstance(rules, Rules)
        else {"code_rules": rules}
        if isinstance(rules, CodeRules)
        else {}
    )


def carries_plan(call: ToolCall, tools: Toolset) -> bool:
    """Whether a call is a plan's own."""
    return call.name == RUN_PLAN and RUN_PLAN not in tools and call.problem is None


class _OnePlan:
    """One plan on its way to its result."""

    def __init__(self, planning: Planning, call: ToolCall, way: Way) -> None:
        self.planning, self.call, self.way = planning, call, way
        self._interpreter: Interpreter | None = None
        self._outcome: Outcome | None = None
        self._refused: ToolError | None = None
        self._waiting: ToolResult | None = None
        self._ran = planning.steps.setdefault(call.id, [])

    async def run(self) -> None:
        """Reads, checks and runs the plan."""
        context = self.way.context
        variables = context.memory.setdefault(_VARIABLES, {})
        plan = read(str(self.call.arguments.get("plan", "")), known=variables, language=context.language)
        checked = self._checked(plan, variables)
        if checked.problems:
            self._refused = together(checked.problems)
            return
        rules, most = self.planning.rules, self.way.most_calls
        self._interpreter = Interpreter(
            plan,
            self.way.tools,
            self._dispatch,
            plan_id=self.call.id,
            variables=variables,
            rules=rules if most is None else replace(rules, calls=min(rules.calls, most)),
            language=context.language,
            emit=context.emit,
        )
        self._outcome = await self._interpreter.run()
        variables.update(self._outcome.variables)
        self._let_stand(self._outcome)
        if self._outcome.ending == "answered":
            self.planning.answer = text_of(self._outcome.answer)

    def _checked(self, plan: Plan, variables: Mapping[str, Any]) -> Checked:
        context, tools = self.way.context, self.way.tools
        offered = tools.offered(context)

        def refuses(tool: Tool) -> ToolError | None:
            if tool.name in offered and self.way.choice.allows(tool.name):
                return None
            code = ErrorCode.NOT_ALLOWED if tool.name in offered else ErrorCode.NOT_PERMITTED
            return ToolError(code=code, message=said(str(code), context.language, name=tool.name))

        return check(
            plan,
            tools,
            lambda call: tools.dispatch.rebind(call, context),
            known=variables,
            met=succeeded(context),
            refuses=refuses,
            language=context.language,
        )

    async def _dispatch(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Runs steps; what the ledger knows of them, from before the run was interrupted, is not run again."""
        way, found = self.way, dict[str, ToolResult]()
        known = Settling(way.session, way.tools, way.context).resumed(calls, way.decisions)

        def ended(result: ToolResult) -> None:
            found[result.call_id] = result
            if (pending := pending_of(result)) is not None:
                if not pending.may_have_run:
                    way.session.note_waiting(result.call_id, result.name)
            elif way.session.ledger.of(result.call_id).result is None:
                way.session.note_ended(result)

        known |= {
            call.id: stands
            for call in calls
            if call.id not in known and (stands := self._masked(call) or self._stands(call)) is not None
        }
        for result in known.values():
            ended(result)
            if result.ok:
                note_success(result.name, way.context)
        new = [call for call in calls if call.id not in known]
        way.running.update(call.id for call in new)
        try:
            if new:
                await way.tools.dispatch.each(new, way.context, way.choice, on_result=ended)
        finally:
            for call in calls:
                self._note(call, found.get(call.id))
        return [self._whole(found[call.id]) for call in calls]

    def _let_stand(self, outcome: Outcome) -> None:
        """Keeps what a failed plan has done for the one that is written in its place."""
        standing: dict[tuple[str, str], list[ToolResult]] = {}
        self.way.context.memory[_STANDING] = standing
        if outcome.ending != "failed":
            return
        gone = {
            f"{self.call.id}.{one.path}" for one in outcome.undone if one.result is not None and one.result.ok
        }
        gone |= {f"{call_id}.undo" for call_id in gone}
        for call, result in self._ran:
            if result.ok and call.id not in gone and (key := self._effect(call)) is not None:
                standing.setdefault(key, []).append(result)

    def _masked(self, call: ToolCall) -> ToolResult | None:
        """The error of a step that would be given a mask in the place of a value: no tool can do anything right with it."""
        for key, value in call.arguments.items():
            if isinstance(value, str) and MASKED.fullmatch(value.strip()):
                message = said("masked", self.way.context.language, name=call.name, key=key)
                error = ToolError(code=ErrorCode.INVALID_ARGUMENT, message=message)
                return ToolResult(call_id=call.id, name=call.name, outcome=error)
        return None

    def _stands(self, call: ToolCall) -> ToolResult | None:
        """The result of a step that a failed plan of this run has finished already, each for one repetition."""
        standing: dict[tuple[str, str], list[ToolResult]] = self.way.context.memory.get(_STANDING, {})
        key = self._effect(call) if standing else None
        before = standing.get(key) if key is not None else None
        if not before:
            return None
        result: ToolResult = before.pop(0)
        return replace(result, call_id=call.id, notes={**result.notes, "repeat_of": result.call_id})

    def _effect(self, call: ToolCall) -> tuple[str, str] | None:
        """What a writing call does, by its tool and arguments as they are bound; None for any other."""
        bound = self.way.tools.dispatch.rebind(call, self.way.context)
        if isinstance(bound, ToolError) or bound.tool.rules.effect == "reads" or bound.tool.rules.poll:
            return None
        return bound.tool.name, same_call(bound.tool, bound.call.arguments)

    def _note(self, call: ToolCall, result: ToolResult | None) -> None:
        if result is None:
            return
        if result.error is not None and result.error.code is ErrorCode.APPROVAL_REQUIRED:
            self._waiting = self._waiting or result
        else:
            self._ran.append((call, result))

    def _whole(self, result: ToolResult) -> ToolResult:
        """The result with all of its value, where it was shrunk for a model: a loop goes over every item."""
        handle = result.notes.get("handle")
        kept = results_of(self.way.context).get(handle) if handle else None
        return result if kept is None else replace(result, outcome=Value(kept.value))

    def result(self) -> ToolResult:
        """The plan's own result, also of a plan that was cut off in its midst."""
        if self._refused is not None:
            return self._answer(self._refused)
        outcome = self._outcome
        if outcome is not None and outcome.ending == "waiting" and self._waiting is not None:
            return replace(self._waiting, call_id=self.call.id, name=self.call.name)
        if outcome is None:
            return self.left()
        shown = {call.id: result for call, result in self._ran}
        return self._answer(Value(report(outcome, shown)))

    def left(self) -> ToolResult:
        """The result of a plan that does not go on, from what the ledger knows of its steps."""
        settling, steps = Settling(self.way.session, self.way.tools, self.way.context), []
        for call_id, state in list(self.way.session.ledger.calls.items()):
            if not call_id.startswith(f"{self.call.id}."):
                continue
            name = state.result.name if state.result is not None else ""
            step: dict[str, Any] = {"step": call_id.removeprefix(f"{self.call.id}."), "call": name}
            if state.result is None and state.started:
                gone = settling.unfinished(ToolCall(id=call_id, name=name))
                step["error"] = gone.error.sentence if gone.error is not None else ""
            elif state.result is not None:
                step |= _ended(state.result)
            steps.append(step)
        return self._answer(Value({"ending": "stopped", "steps": steps}))

    def _answer(self, outcome: Value | ToolError) -> ToolResult:
        # Its report is the program's, but strangers' words may stand in it.
        steps = outcome.data.get("steps", ()) if isinstance(outcome, Value) else ()
        untrusted = any(step.get("untrusted", False) for step in steps)
        return ToolResult(call_id=self.call.id, name=self.call.name, outcome=outcome, untrusted=untrusted)


def together(problems: Sequence[ToolError]) -> ToolError:
    """Several problems as one error."""
    message = "\n".join(dict.fromkeys(problem.sentence for problem in problems))
    return replace(problems[0], message=message, hint="", retryable=True)


def text_of(answer: Any) -> str:
    """An answer as text."""
    return answer if isinstance(answer, str) else json.dumps(jsonable(answer), ensure_ascii=False)


def report(outcome: Outcome, shown: Mapping[str, ToolResult]) -> dict[str, Any]:
    """How a plan went, as JSON: what the history keeps and the model reads.

    Args:
        outcome: how it ended.
        shown: the results as a model may see them, by call id.
    """
    done = [one for one in outcome.done if one.call or one.skipped]
    found: dict[str, Any] = {"ending": outcome.ending, "steps": [_step(one, shown) for one in done]}
    if outcome.ending == "answered":
        found["answer"] = jsonable(outcome.answer)
    if outcome.error is not None:
        found["error"] = outcome.error.sentence
    if outcome.undone:
        found["undone"] = [_undone(one) for one in outcome.undone]
    return found


def _step(done: Done, shown: Mapping[str, ToolResult]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "step": done.path,
        "call": _written(done.call) if done.call else str(done.step),
    }
    if done.step.save_as:
        found["save_as"] = done.step.save_as
    if "[" in done.path:
        found["in_loop"] = True
    if done.skipped:
        return {**found, "skipped": done.skipped}
    result = shown.get(done.call.id, done.result) if done.call else None
    return found if result is None else {**found, **_ended(result)}


def _ended(result: ToolResult) -> dict[str, Any]:
    if result.error:
        return {"error": disarmed(result.error.sentence) if result.untrusted else result.error.sentence}
    marked = {"untrusted": True} if result.untrusted else {}
    return {"result": jsonable(result.data), **marked}


def _written(call: ToolCall) -> str:
    named = (
        f"{key}={json.dumps(jsonable(value), ensure_ascii=False)}" for key, value in call.arguments.items()
    )
    return f"{call.name}({', '.join(named)})"


def _undone(one: Undone) -> dict[str, Any]:
    is_ok = one.result is not None and one.result.ok
    reason = one.reason or (one.result.error.sentence if one.result is not None and one.result.error else "")
    return {"step": one.path, "ok": is_ok, "call": _written(one.call) if one.call else "", "reason": reason}
