"""The last step: fills in what the model does not send, validates, and runs the tool's function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

from toolhand.arguments.defaults import fill_defaults
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError, ToolFailure
from toolhand.core.events import CallFailed
from toolhand.core.jsonable import jsonable
from toolhand.core.messages import BoundCall, ToolResult, Value
from toolhand.core.tools import Tool
from toolhand.execution.faults import fault
from toolhand.execution.threads import THREADS

_WORDS = {
    "en": {
        "declared": "'{name}' is only declared here and has no function to run.",
        "unfilled": "'{name}' cannot run: the program did not fill in '{key}'.",
        "invalid": "The arguments of '{name}' are not valid: {detail}.",
        "raised": "'{name}' failed with an internal error. The details are in the program's log.",
        "network": "'{name}' could not reach what it needs.",
        "timeout": "'{name}' gave up waiting for what it needs.",
        "limited": "What '{name}' needs is asked too often{after}.",
        "upstream": "What '{name}' needs answered with a failure (HTTP {status}).",
        "refused": "What '{name}' needs did not accept the request (HTTP {status}).",
        "unknown": "'{name}' lost contact before it had an answer: it may or may not have had its effect.",
        "unknown_hint": "Check before you call it again.",
        "stopped": "'{name}' stopped before it had a result.",
        "after": "; it can be tried again in {seconds:g} seconds",
    },
    "zh": {
        "declared": "“{name}”在这里只有声明，没有可以运行的函数。",
        "unfilled": "“{name}”无法运行：程序没有提供“{key}”。",
        "invalid": "“{name}”的参数无效：{detail}。",
        "raised": "“{name}”内部出错，详情在程序的日志里。",
        "network": "“{name}”无法连接到它需要的服务。",
        "timeout": "“{name}”等待超时。",
        "limited": "“{name}”需要的服务请求过于频繁{after}。",
        "upstream": "“{name}”需要的服务出错（HTTP {status}）。",
        "refused": "“{name}”需要的服务没有接受请求（HTTP {status}）。",
        "unknown": "“{name}”在得到答复之前失去了联系：它可能已经生效，也可能没有。",
        "unknown_hint": "再次调用之前请先核实。",
        "stopped": "“{name}”在得到结果之前停止了。",
        "after": "，{seconds:g} 秒后可以再试",
    },
}


async def invoke(call: BoundCall, context: RunContext) -> ToolResult:
    """Runs the tool's function; whatever it raises becomes an error that leaks nothing."""
    outcome = await _outcome(call, context)
    return outcome if isinstance(outcome, ToolResult) else call.answer(outcome)


async def _outcome(call: BoundCall, context: RunContext) -> Value | ToolError | ToolResult:
    tool = call.tool
    if tool.function is None:
        return _error("declared", ErrorCode.EXECUTION, tool, context)
    arguments: Mapping[str, Any] = fill_defaults(call.call.arguments, tool.parameters)
    if tool.validate is not None:
        try:
            # The function has its own defaults, and real ones: only what was sent is validated.
            arguments = tool.validate(call.call.arguments)
        except ValueError as error:
            return _error(
                "invalid",
                ErrorCode.INVALID_ARGUMENT,
                tool,
                context,
                retryable=True,
                detail=str(error).rstrip("。. "),
            )
    filled = dict(arguments)
    for parameter, key in tool.injected.items():
        try:
            filled[parameter] = context if key == "context" else context.fact(key)
        except KeyError:
            return _error("unfilled", ErrorCode.EXECUTION, tool, context, key=key)
    try:
        return Value(jsonable(await _run(tool.function, filled)))
    except ToolFailure as failure:
        return failure.error
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # the run is being stopped, not the tool's own doing
        return _raised(call, context, asyncio.CancelledError("the tool cancelled itself"))
    except BaseException as error:  # noqa: BLE001 - a tool may raise anything, an exit too
        return _raised(call, context, error)


async def _run(function: Any, arguments: dict[str, Any]) -> Any:
    if _is_async(function):
        value = await function(**arguments)
    else:
        value = await THREADS.run(partial(function, **arguments))
        if inspect.isawaitable(value):
            value = await value
    if inspect.isasyncgen(value):
        return [item async for item in value]
    return value


def _is_async(function: Any) -> bool:
    inner = getattr(function, "func", function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004


def _raised(call: BoundCall, context: RunContext, error: BaseException) -> ToolResult:
    context.emit(CallFailed(call=call.call, exception=error))
    found = fault(error, call.tool)
    words, wait = _WORDS[context.language], found.details.get("retry_after")
    message = words[found.word].format(
        name=call.tool.name,
        status=found.details.get("status", ""),
        after="" if wait is None else words["after"].format(seconds=wait),
    )
    failure = ToolError(
        code=found.code,
        message=message,
        retryable=found.retryable,
        hint=words.get(f"{found.word}_hint", ""),
        details=found.details,
    )
    return call.answer(failure, exception=type(error).__name__)


def _error(
    word: str, code: ErrorCode, tool: Tool, context: RunContext, *, retryable: bool = False, **words: str
) -> ToolError:
    message = _WORDS[context.language][word].format(name=tool.name, **words)
    return ToolError(code=code, message=message, retryable=retryable)
