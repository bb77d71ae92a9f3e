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
from toolhand.core.messages import BoundCall, ToolCall, ToolResult, Value
from toolhand.core.tools import Tool
from toolhand.execution.threads import THREADS

_WORDS = {
    "en": {
        "declared": "'{name}' is only declared here and has no function to run.",
        "unfilled": "'{name}' cannot run: the program did not fill in '{key}'.",
        "invalid": "The arguments of '{name}' are not valid: {detail}.",
        "raised": "'{name}' failed with an internal error. The details are in the program's log.",
        "network": "'{name}' could not reach what it needs.",
        "timeout": "'{name}' gave up waiting for what it needs.",
    },
    "zh": {
        "declared": "“{name}”在这里只有声明，没有可以运行的函数。",
        "unfilled": "“{name}”无法运行：程序没有提供“{key}”。",
        "invalid": "“{name}”的参数无效：{detail}。",
        "raised": "“{name}”内部出错，详情在程序的日志里。",
        "network": "“{name}”无法连接到它需要的服务。",
        "timeout": "“{name}”等待超时。",
    },
}


async def invoke(call: BoundCall, context: RunContext) -> ToolResult:
    """Runs the tool's function; whatever it raises becomes an error that leaks nothing."""
    outcome = await _outcome(call, context)
    return ToolResult(call_id=call.call.id, name=call.tool.name, outcome=outcome)


async def _outcome(call: BoundCall, context: RunContext) -> Value | ToolError:
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
        return _raised(call.call, context, tool, asyncio.CancelledError("the tool cancelled itself"))
    except BaseException as error:  # noqa: BLE001 - a tool may raise anything, an exit too
        return _raised(call.call, context, tool, error)


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


def _raised(call: ToolCall, context: RunContext, tool: Tool, error: BaseException) -> ToolError:
    context.emit(CallFailed(call=call, exception=error))
    if isinstance(error, TimeoutError):
        return _error("timeout", ErrorCode.TIMEOUT, tool, context, retryable=True)
    if isinstance(error, ConnectionError):
        return _error("network", ErrorCode.NETWORK, tool, context, retryable=True)
    return _error("raised", ErrorCode.EXECUTION, tool, context)


def _error(
    word: str, code: ErrorCode, tool: Tool, context: RunContext, *, retryable: bool = False, **words: str
) -> ToolError:
    message = _WORDS[context.language][word].format(name=tool.name, **words)
    return ToolError(code=code, message=message, retryable=retryable)
