"""Runs a plan step by step. It can do nothing but hand calls to `dispatch`, so every policy holds for each of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.events import Event
from toolhand.core.language import Language
from toolhand.core.messages import ToolCall, ToolResult, Value
from toolhand.core.plan_events import PlanFinished, PlanStarted, StepFinished
from toolhand.core.tools import Tool
from toolhand.parsing.costs import fix
from toolhand.parsing.plans.arguments import named_arguments, undo_arguments
from toolhand.parsing.plans.nodes import Block, Expression, For, If, Parallel, Plan, Reference, Return, Step
from toolhand.parsing.plans.outcomes import Done, Ending, Outcome, Rules, Undone
from toolhand.parsing.plans.picked import picked
from toolhand.parsing.plans.values import NoValue, Unseen, holds, is_open, value_of
from toolhand.parsing.plans.words import said
from toolhand.plan.check import at_line
from toolhand.plan.order import waves
from toolhand.tools.collection import ToolCollection

Dispatch = Callable[[Sequence[ToolCall]], Awaitable[Sequence[ToolResult]]]
"""Runs calls side by side; gives their results in the same order."""


class _End(Exception):  # noqa: N818 - how the plan ends, on its way out of the blocks
    def __init__(self, ending: Ending, answer: Any = None, error: ToolError | None = None) -> None:
        super().__init__(ending)
        self.ending, self.answer, self.error = ending, answer, error


class Interpreter:
    """One run of a plan.

    The ids of its calls follow from `plan_id` and their place: a plan that is run again asks for its calls by the same ids,
    so that a `dispatch` over a ledger answers the finished ones without running them.

    Args:
        plan: a plan without problems.
        tools: the tools there are.
        dispatch: runs calls.
        plan_id: what the ids of its calls begin with.
        variables: those that exist already.
        rules: how it runs.
        language: of the errors' words.
        emit: takes its events.
    """

    def __init__(
        self,
        plan: Plan,
        tools: ToolCollection,
        dispatch: Dispatch,
        *,
        plan_id: str = "plan",
        variables: Mapping[str, Any] | None = None,
        rules: Rules | None = None,
        language: Language = "en",
        emit: Callable[[Event], None] = lambda event: None,  # noqa: ARG005
    ) -> None:
        self.plan, self.plan_id, self.rules = plan, plan_id, rules or Rules()
        self.variables: dict[str, Any] = dict(variables or {})
        self.done: list[Done] = []
        self._tools, self._dispatch, self._language, self._emit = tools, dispatch, language, emit
        self._calls = 0
        self._is_stopped = False

    def stop(self) -> None:
        """Ends the plan before its next step."""
        self._is_stopped = True

    async def run(self) -> Outcome:
        """Runs the plan to its end. It raises only what `dispatch` raises."""
        self._emit(PlanStarted(plan_id=self.plan_id, source=str(self.plan)))
        try:
            await self._block(self.plan.body, "")
            end = _End("done")
        except _End as found:
            end = found
        undone = await self.undo() if end.ending == "failed" and self.rules.undo else ()
        self._emit(PlanFinished(plan_id=self.plan_id, ending=end.ending, error=end.error))
        return Outcome(
            ending=end.ending,
            answer=end.answer,
            done=tuple(self.done),
            error=end.error,
            undone=undone,
            variables=dict(self.variables),
        )

    # ------------------------------------------------------------------ statements
    async def _block(self, body: Block, above: str) -> None:
        for number, statement in enumerate(body, 1):
            path = f"{above}{number}"
            match statement:
                case Step():
                    await self._steps([(path, statement)])
                case Parallel(steps=steps):
                    for wave in waves(steps, self._tools.lookup):
                        await self._steps([(f"{path}.{place + 1}", steps[place]) for place in wave])
                case If():
                    await self._if(statement, path)
                case For():
                    await self._for(statement, path)
                case Return(value=value, line=line):
                    raise _End("answered", answer=self._value(value, line))

    async def _if(self, statement: If, path: str) -> None:
        for place, (test, body) in enumerate(statement.branches):
            try:
                is_met = test is None or holds(test, self.variables)
            except NoValue as missing:
                if missing.key == "unseen":  # a dry run cannot know: nothing under it is run
                    step = Step(value=test, line=statement.line)
                    self.done.append(Done(path=path, step=step, skipped=self._said(missing)))
                    return
                raise self._failed(missing, statement.line) from None
            if is_met:
                await self._block(body, f"{path}{chr(97 + place % 26)}.")
                return

    async def _for(self, statement: For, path: str) -> None:
        line, written = statement.line, str(statement.items)
        items = self._value(statement.items, line)
        if isinstance(items, Unseen):
            items = [Unseen(f"${statement.name}")]
        if isinstance(items, Mapping):
            lists = [value for value in items.values() if isinstance(value, list)]
            items = lists[0] if len(lists) == 1 else items
        if not isinstance(items, list):
            raise self._failed(NoValue("not_list", items=written), line)
        if len(items) > self.rules.rounds:
            raise self._failed(
                NoValue("rounds", items=written, count=len(items), most=self.rules.rounds), line
            )
        for number, item in enumerate(items, 1):
            self.variables[statement.name] = item
            await self._block(statement.body, f"{path}[{number}].")

    async def _steps(self, steps: Sequence[tuple[str, Step]]) -> None:
        """Steps that run side by side; all of them end before one that failed ends the plan."""
        if self._is_stopped:
            raise _End("stopped")
        calls: list[tuple[str, Step, ToolCall]] = []
        for path, step in steps:
            if step.value is not None:
                self._keep(step, self._value(step.value, step.line))
                self.done.append(Done(path=path, step=step))
            else:
                calls.append((path, step, self._call(path, step)))
        self._calls += len(calls)
        if self._calls > self.rules.calls:
            raise self._failed(NoValue("calls", most=self.rules.calls), steps[0][1].line)
        live = [call for _, _, call in calls if not self._is_told_only(call)]
        results = iter(await self._dispatch(live)) if live else iter(())
        self._end(
            [
                (path, step, call, self._told(step, call) if self._is_told_only(call) else next(results))
                for path, step, call in calls
            ]
        )

    def _end(self, ended: Sequence[tuple[str, Step, ToolCall, ToolResult]]) -> None:
        failures: list[tuple[Step, ToolError]] = []
        for path, step, call, result in ended:
            self.done.append(Done(path=path, step=step, call=call, result=result))
            self._tell(path, step.line, call, result, step.save_as)
            if result.error is not None:
                failures.append((step, result.error))
            else:
                self._keep(step, result.data)
        waits = [error for _, error in failures if error.code is ErrorCode.APPROVAL_REQUIRED]
        if failures and len(waits) == len(failures):
            raise _End("waiting", error=waits[0])
        for step, error in failures:
            if error not in waits:
                raise _End("failed", error=at_line(error, step.line, self._language))

    def _tell(self, path: str, line: int, call: ToolCall, result: ToolResult, save_as: str = "") -> None:
        told: dict[str, Any] = {
            "path": path,
            "line": line,
            "call": call,
            "result": result,
            "save_as": save_as,
        }
        self._emit(StepFinished(plan_id=self.plan_id, **told))

    def _keep(self, step: Step, value: Any) -> None:
        if step.save_as:
            self.variables[step.save_as] = value

    def _call(self, path: str, step: Step) -> ToolCall:
        tool = self._tools.lookup(step.tool)
        named = named_arguments(step, tool)
        arguments = {key: self._value(value, step.line) for key, value in named.items()}
        fixes = list(step.fixes)
        only_reads = tool is not None and tool.rules.effect == "reads"
        for key, value in arguments.items():
            schema = tool.properties.get(key) if tool and isinstance(named[key], Reference) else None
            arguments[key] = picked(value, key, schema, guesses=only_reads)
            if arguments[key] is not value:
                fixes.append(fix("picked_field", f"$.{key}", str(named[key]), arguments[key]))
        name = tool.name if tool else step.tool
        return ToolCall(id=f"{self.plan_id}.{path}", name=name, arguments=arguments, fixes=tuple(fixes))

    def _value(self, expression: Expression, line: int) -> Any:
        try:
            return value_of(expression, self.variables)
        except NoValue as missing:
            raise self._failed(missing, line) from None

    def _failed(self, missing: NoValue, line: int) -> _End:
        error = ToolError(code=ErrorCode.INVALID_ARGUMENT, message=self._said(missing), retryable=True)
        return _End("failed", error=at_line(error, line, self._language))

    def _said(self, missing: NoValue) -> str:
        return said(missing.key, self._language, **missing.words)

    # ------------------------------------------------------------------ a dry run
    def _is_told_only(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        writes = tool is None or tool.rules.effect != "reads"
        return self.rules.is_dry and (writes or is_open(call.arguments))

    @staticmethod
    def _told(step: Step, call: ToolCall) -> ToolResult:
        return ToolResult(
            call_id=call.id, name=call.name, outcome=Value(Unseen(f"${step.save_as or call.name}"))
        )

    # ------------------------------------------------------------------ the way back
    async def undo(self) -> tuple[Undone, ...]:
        """Undoes the finished writing steps, the last first, each by the tool that its own tool names.

        One that cannot be undone is reported and does not keep the others from it.
        """
        undone: list[Undone] = []
        for done in reversed(self.done):
            tool = self._tools.get(done.call.name) if done.call is not None else None
            if done.call is None or done.result is None or tool is None or tool.rules.effect == "reads":
                continue
            if done.result.ok:
                undone.append(await self._undo(done, done.call, tool))
            elif done.result.error is not None and done.result.error.code is ErrorCode.OUTCOME_UNKNOWN:
                undone.append(Undone(path=done.path, reason=said("undo_unknown", self._language)))
        return tuple(undone)

    async def _undo(self, done: Done, call: ToolCall, tool: Tool) -> Undone:
        if not tool.rules.undo:
            return Undone(path=done.path, reason=said("undo_none", self._language, name=tool.name))
        back = self._tools.get(tool.rules.undo)
        if back is None:
            return Undone(path=done.path, reason=said("undo_gone", self._language, name=tool.rules.undo))
        undoing = ToolCall(
            id=f"{call.id}.undo", name=back.name, arguments=undo_arguments(back, call, done.result)
        )
        (result,) = await self._dispatch([undoing])
        self._tell(f"{done.path}.undo", done.step.line, undoing, result)
        return Undone(path=done.path, call=undoing, result=result)
