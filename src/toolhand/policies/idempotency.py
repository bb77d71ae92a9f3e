"""Gives an errand a name, so that it is done once however often it is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from toolhand.core.canonical import digest, same_call
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.language import say
from toolhand.core.messages import BoundCall, ToolResult, Value
from toolhand.core.tools import IDEMPOTENCY_KEY, Tool
from toolhand.policies import Proceed
from toolhand.policies.redaction.unheard import tell_failed
from toolhand.policies.sharing import Receipt, SharedState
from toolhand.policies.sharing.memory import MemoryState

_UNKNOWN: Final = ""
"""Kept in place of a result when nobody knows how the errand ended."""

RUNNING_SECONDS: Final = 60.0
"""How long a call of a tool without a timeout counts as still running."""

_WORDS = {
    "en": {
        "done": "This was done before; it is the result of that time. It was not done again.",
        "running": "'{name}' is doing exactly this at the moment. It was not started a second time.",
        "unknown": "'{name}' was asked for this before, and it may have had its effect, or not. It was not run again.",
        "unknown_hint": "Check whether it had before anything else; if you cannot, tell the user.",
        "nameless": "'{name}' did not run: its errand could not be named. The details are in the program's log.",
    },
    "zh": {
        "done": "这件事之前已经做过，这是当时的结果，没有再做一次。",
        "running": "“{name}”正在做完全相同的事，没有再启动一次。",
        "unknown": "之前已经请求过“{name}”，它可能已经生效，也可能没有。没有再次运行。",
        "unknown_hint": "请先核实它是否已经生效；无法核实时，请告诉用户。",
        "nameless": "“{name}”没有运行：无法确定这件事的名称，详情在程序的日志里。",
    },
}


class Idempotency:
    """For a tool that asks for a key (`Injected("idempotency_key")`), or that names its errands (`idempotency_key=…`).

    The key is made of the tool, the user, and what the errand is: its name, or else the session and the arguments. It is the
    same for every attempt, in every process. Where the errand has a name, its result is kept and given to whoever of the
    same user asks for it again.

    Args:
        state: where results are kept; in this process by default.
        seconds: how long.
    """

    def __init__(self, state: SharedState | None = None, *, seconds: float = 86_400.0) -> None:
        self._state = state or MemoryState()
        self._seconds = seconds

    def applies(self, tool: Tool) -> bool:
        """Only where a key is of use."""
        return tool.rules.idempotency_key is not None or IDEMPOTENCY_KEY in tool.injected.values()

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """Runs the errand once."""
        naming = call.tool.rules.idempotency_key
        try:
            errand = (
                (context.session_id, same_call(call.tool, call.call.arguments))
                if naming is None
                else (_named(naming(call.call.arguments)),)
            )
        except Exception as error:  # noqa: BLE001 - the author's own function may raise anything
            tell_failed(call, context, error)
            return call.answer(_error("nameless", ErrorCode.EXECUTION, call, context))
        key = digest("errand", call.tool.name, context.user, *errand)
        if IDEMPOTENCY_KEY in call.tool.injected.values():
            context = replace(context, facts={**context.facts, IDEMPOTENCY_KEY: key})
        if naming is None:
            return await proceed(call, context)
        receipt = await self._state.claim(key, self._seconds)
        known = None if receipt is None else self._known(receipt, call, context)
        return known or await self._run(key, call, context, proceed)

    def _known(self, receipt: Receipt, call: BoundCall, context: RunContext) -> ToolResult | None:
        """What is answered without a run; None when it may run."""
        if receipt.value:
            done = call.answer(Value(json.loads(receipt.value)), repeated=True)
            return replace(done, remark=_WORDS[context.language]["done"])
        rules = call.tool.rules
        lease = RUNNING_SECONDS if rules.timeout is None else rules.timeout * (rules.retries + 1) + 1
        if receipt.value is None and receipt.age_seconds < lease:
            error = _error("running", ErrorCode.REPEATED_CALL, call, context)
            details = {"retry_after": lease - receipt.age_seconds}
            return call.answer(replace(error, retryable=True, details=details))
        if call.tool.repeatable:
            return None
        return call.answer(_error("unknown", ErrorCode.OUTCOME_UNKNOWN, call, context))

    async def _run(self, key: str, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        try:
            result = await proceed(call, context)
        except BaseException:  # cancelled: it may have had its effect
            await self._state.keep(key, _UNKNOWN, self._seconds)
            raise
        if result.ok:
            await self._state.keep(key, json.dumps(result.data, ensure_ascii=False), self._seconds)
        elif result.error is not None and result.error.code is ErrorCode.OUTCOME_UNKNOWN:
            await self._state.keep(key, _UNKNOWN, self._seconds)
        else:
            await self._state.release(key)
        return result


def _named(name: object) -> str:
    if name is None or name == "":  # one name for all that have none would make them one errand
        raise ValueError(
            say(
                "idempotency_key gave no name for these arguments: give one that names the errand",
                "idempotency_key 没有为这些参数给出名字：请给出能标识这件事的名字",
            )
        )
    return str(name)


def _error(word: str, code: ErrorCode, call: BoundCall, context: RunContext) -> ToolError:
    words = _WORDS[context.language]
    message = words[word].format(name=call.tool.name)
    return ToolError(code=code, message=message, hint=words.get(f"{word}_hint", ""))
