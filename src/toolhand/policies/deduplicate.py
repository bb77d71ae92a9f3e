"""Answers a call that comes again from the run's memory, or refuses it with a hint; polling is let through.

A reading call runs twice in quick succession, since only a second run shows whether its result changes; while it changes it
goes on running, else it is answered from memory and then refused. What a writing call has done it does not do again by
itself. `docs/adr/0008-policies.md` says why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolhand.core.approvals import Deny, decision_for
from toolhand.core.canonical import loose, same_call
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import BoundCall, ToolResult
from toolhand.policies import Proceed
from toolhand.policies.sharing import SYSTEM_CLOCK, Clock
from toolhand.policies.sharing.repeat_words import REPEAT_WORDS
from toolhand.policies.sharing.repeats import NOT_RUN, Errand, Repeats, Verdict

_KEY: Final = "deduplicate"
STUCK_AFTER: Final = 3
"""After so many refusals in a row a run gets nowhere."""


class Deduplicate:
    """Sees calls that come again in a run, near-repeats and cycles over several tools too.

    Args:
        clock: where the time comes from.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._now = clock.now

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """Runs the call, answers it from memory, or refuses it."""
        repeats = context.memory.get(_KEY)
        if repeats is None:
            repeats = context.memory[_KEY] = Repeats()
        tool = call.tool
        if tool.rules.poll:
            result = await proceed(call, context)
            if tool.rules.effect != "reads":
                repeats.era += 1
            return result
        exact = same_call(tool, call.call.arguments)
        near = (tool.name, loose(exact))
        errand = repeats.errands.get(near)
        if errand is None:
            errand = repeats.errands[near] = Errand()
        elif errand.turnstile.is_inside:
            return _refused(call, context, "inside", errand, repeats)
        passage = await errand.turnstile.enter()
        try:
            repeats.trail.append("\n".join(near))
            errand.asked += 1
            before, is_near = errand.last, exact not in errand.results and tool.rules.effect != "reads"
            if (
                before is not None
                and (known := self._known(call, context, errand, exact, repeats)) is not None
            ):
                return known
            result = await proceed(call, context)
            repeats.remember(errand, exact, call, result, now=self._now(), turn=context.turn)
            return result if before is None else _marked(result, errand, context, is_near=is_near)
        finally:
            errand.turnstile.leave(passage)

    def _known(
        self, call: BoundCall, context: RunContext, errand: Errand, exact: str, repeats: Repeats
    ) -> ToolResult | None:
        """The answer to a call that comes again: from memory, or a refusal; None where it runs again."""
        verdict = repeats.judge(errand, exact, call.tool, now=self._now(), turn=context.turn)
        if verdict == "run" or not isinstance(decision_for(call.call, context), Deny | None):
            return None  # a person has agreed to it
        if verdict == "recall":
            errand.recalled(context.turn)
            known = errand.results[exact]
            notes = {**known.notes, "repeat_of": known.call_id, "times": errand.asked}
            remark = REPEAT_WORDS[context.language]["recall"].format(name=call.tool.name)
            return replace(known, call_id=call.call.id, notes=notes, remark=remark)
        repeats.refuse(context.turn)
        return _refused(call, context, verdict, errand, repeats)

    def recall(self, call: BoundCall, result: ToolResult, context: RunContext) -> None:
        """Takes note of a call that another process ran: its effect is not had a second time unasked."""
        error = result.error
        if call.tool.rules.poll or "repeat_of" in result.notes:
            return
        if error is not None and (error.code in NOT_RUN or error.code is ErrorCode.CANCELLED):
            return
        repeats = context.memory.setdefault(_KEY, Repeats())
        exact = same_call(call.tool, call.call.arguments)
        near = (call.tool.name, loose(exact))
        errand = repeats.errands.setdefault(near, Errand())
        repeats.trail.append("\n".join(near))
        errand.asked += 1
        repeats.remember(errand, exact, call, result, now=self._now(), turn=0)


def unremembering(context: RunContext) -> RunContext:
    """The same context without a memory of calls, for a program: its loops are written, not stumbled into.

    What other policies keep for the run is shared as far as it is there; `remembered` hands on what they begin.
    """
    return replace(context, memory={**context.memory, _KEY: Repeats()})


def remembered(context: RunContext, inner: RunContext) -> None:
    """Hands on to a run's memory what policies have begun to keep in an `unremembering` one."""
    for key, kept in inner.memory.items():
        if key != _KEY:
            context.memory.setdefault(key, kept)


def is_stuck(context: RunContext) -> bool:
    """Whether the run only asks for what was refused: time to ask the model for its best answer."""
    repeats = context.memory.get(_KEY)
    return repeats is not None and repeats.refusals >= STUCK_AFTER


def _marked(result: ToolResult, errand: Errand, context: RunContext, *, is_near: bool) -> ToolResult:
    """A result of a call that came before in this way or nearly so, with a word about it."""
    word = "near" if is_near else "same" if errand.same > 1 else ""
    if not word or not result.ok:
        return result
    remark = REPEAT_WORDS[context.language][word].format(name=result.name)
    return replace(result, remark=f"{result.remark} {remark}".strip())


def _refused(
    call: BoundCall, context: RunContext, verdict: Verdict, errand: Errand, repeats: Repeats
) -> ToolResult:
    words = REPEAT_WORDS[context.language]
    error = errand.last.error.message if errand.last and errand.last.error else ""
    times = errand.same if verdict == "failing" else errand.asked
    message = words[verdict].format(name=call.tool.name, times=times, error=error)
    hint = words[f"{verdict}_hint"]
    if cycle := repeats.cycle:
        hint = f"{words['circle'].format(cycle=' → '.join((*cycle, cycle[0])))} {hint}"
    code = ErrorCode.OUTCOME_UNKNOWN if verdict == "unknown" else ErrorCode.REPEATED_CALL
    details: dict[str, object] = {"times": errand.asked, "reason": verdict}
    if errand.last is not None:
        details["repeat_of"] = errand.last.call_id
    return call.answer(ToolError(code=code, message=message, hint=hint, details=details))
