"""The last step: fills in what the model does not send, validates, and runs the tool's function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from toolhand.arguments.defaults import fill_defaults
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, FatalError, ToolError, ToolFailure
from toolhand.core.events import CallFailed, Event
from toolhand.core.jsonable import MAX_ITERATED, jsonable
from toolhand.core.largeness import is_large
from toolhand.core.messages import BoundCall, ToolResult, Value
from toolhand.core.tools import Tool
from toolhand.execution.faults import Fault, fault
from toolhand.execution.stopping import in_own_context, is_async, stoppable
from toolhand.execution.threads import THREADS, ToolExit
from toolhand.policies.conditions import SUCCEEDED
from toolhand.policies.redaction.unheard import tell_failed
from toolhand.policies.redaction.walk import redacted_text
from toolhand.policies.timeout import CALL_CLOCK

_WORDS = {
    "en": {
        "declared": "'{name}' is only declared here and has no function to run.",
        "unfilled": "'{name}' cannot run: the program did not fill in '{key}'.",
        "invalid": "The arguments of '{name}' are not valid: {detail}.",
        "raised": "'{name}' failed with an internal error. The details are in the program's log.",
        "network": "'{name}' could not reach what it needs.",
        "timeout": "'{name}' gave up waiting for what it needs.",
        "stuck": "Too many earlier calls of '{name}' have been given up and have not ended yet.",
        "ended": "The process of '{name}' ended unexpectedly.",
        "memory": "'{name}' needed more memory than it may use. Ask for less at a time.",
        "large": "The result of '{name}' is too large. Ask for less at a time.",
        "limited": "What '{name}' needs is asked too often{after}.",
        "upstream": "What '{name}' needs answered with a failure (HTTP {status}).",
        "refused": "What '{name}' needs did not accept the request (HTTP {status}).",
        "unknown": "'{name}' lost contact before it had an answer: it may have had its effect, or not.",
        "unknown_hint": "Check before you call it again.",
        "changed": "Whether it changed something is unknown: check before you call it again.",
        "said": "{message} It said: {text}",
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
        "stuck": "“{name}”之前有太多调用已被放弃却仍未结束。",
        "ended": "“{name}”的进程意外结束。",
        "memory": "“{name}”所需内存超出限制，请减少每次请求的内容。",
        "large": "“{name}”的结果太大，请减少每次请求的内容。",
        "limited": "“{name}”需要的服务请求过于频繁{after}。",
        "upstream": "“{name}”需要的服务出错（HTTP {status}）。",
        "refused": "“{name}”需要的服务没有接受请求（HTTP {status}）。",
        "unknown": "“{name}”在得到答复之前失去了联系：它可能已经生效，也可能没有。",
        "unknown_hint": "再次调用之前请先核实。",
        "changed": "它是否已经改变了什么无法确定：再次调用之前请先核实。",
        "said": "{message}它给出的信息是：{text}",
        "stopped": "“{name}”在得到结果之前停止了。",
        "after": "，{seconds:g} 秒后可以再试",
    },
}

_AT_ANY_POINT: Final = frozenset({"raised", "ended", "memory", "large", "upstream", "stopped"})
"""The faults that say nothing of how far the tool had got."""


_MOST_SAID = 500


async def invoke(call: BoundCall, context: RunContext) -> ToolResult:
    """Runs the tool's function; whatever it raises becomes an error that leaks nothing."""
    tool = call.tool
    if tool.function is None:
        return _refused("declared", ErrorCode.EXECUTION, call, context)
    arguments: Mapping[str, Any]
    if tool.validate is None:
        arguments = fill_defaults(call.call.arguments, tool.parameters)
    else:
        try:
            # The function has its own defaults, and real ones: only what was sent is validated.
            arguments = tool.validate(call.call.arguments)
        except Exception as error:  # noqa: BLE001 - a type's own validators may raise anything
            return _unfit(call, context, error)
    filled = dict(arguments)
    for parameter, key in tool.injected.items():
        try:
            filled[parameter] = _own_context(call, context) if key == "context" else context.fact(key)
        except KeyError:
            return _refused("unfilled", ErrorCode.EXECUTION, call, context, key=key)
    if context.before_tool is not None:
        await context.before_tool(call)
    try:
        value = await _run(call, filled, context)
    except BaseException as error:
        found = _ended(call, context, error)
        if found is None:
            raise
        return found
    if not tool.rules.after:  # else it has still to be found good
        context.memory.setdefault(SUCCEEDED, set()).add(tool.name)
    untrusted = tool.rules.untrusted
    return ToolResult(call_id=call.call.id, name=tool.name, outcome=Value(value), untrusted=untrusted)


def _unfit(call: BoundCall, context: RunContext, error: Exception) -> ToolResult:
    """The answer where the arguments are not valid, or could not be looked at."""
    if not isinstance(error, ValueError):
        return _raised(call, context, error, has_begun=False)
    code, detail = ErrorCode.INVALID_ARGUMENT, str(error).rstrip("。. ")
    return _refused("invalid", code, call, context, retryable=True, detail=detail)


def _ended(call: BoundCall, context: RunContext, error: BaseException) -> ToolResult | None:
    """The result where the tool's function raised; None where what it raised ends the run as it is."""
    if isinstance(error, ToolFailure):
        return call.answer(error.told(context.language))
    if isinstance(error, FatalError):
        context.emit(CallFailed(call=call.call, exception=error, tool=call.tool))
        return None
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            return None  # the run is being stopped, not the tool's own doing
        return _raised(call, context, asyncio.CancelledError("the tool cancelled itself"))
    found = _raised(call, context, error)
    if fatal := _fatal_in(error):
        raise fatal from error
    return found


def _own_context(call: BoundCall, context: RunContext) -> RunContext:
    """The context as the tool gets it: it knows its call, and what a thread tells is heard where the run is."""
    if _is_async(call.tool):
        return replace(context, call=call.call)
    loop, emit = asyncio.get_running_loop(), context.emit

    def emit_there(event: Event) -> None:
        with suppress(RuntimeError):  # the loop is closed: the run has given this thread up
            loop.call_soon_threadsafe(emit, event)

    return replace(context, call=call.call, emit=emit_there)


def _fatal_in(error: BaseException) -> BaseException | None:
    """The `FatalError` among those that a task group raised together."""
    while isinstance(error, BaseExceptionGroup):
        fatal = error.subgroup(FatalError)
        if fatal is None:
            return None
        error = fatal.exceptions[0]
    return error if isinstance(error, FatalError) else None


async def _run(call: BoundCall, arguments: dict[str, Any], context: RunContext) -> Any:
    """What the tool gives, in JSON's types."""
    tool, function = call.tool, call.tool.function
    if tool.rules.isolation == "process":
        # Loaded for those who need it: most programs have no tool in a process of its own.
        from toolhand.execution.workers.running import run_in_process  # noqa: PLC0415

        return await run_in_process(call, arguments, context)
    if not _is_async(tool):
        value, is_json = await _in_thread(tool, arguments)
        if is_json:
            return value
        if inspect.isawaitable(value):
            value = await in_own_context(_awaited(value))
    elif tool.rules.timeout is None and context.deadline is None:
        value = await _uncancelled(in_own_context(function(**arguments)))  # type: ignore[misc]
    else:
        value = await stoppable(function(**arguments))  # type: ignore[misc]
    if inspect.isasyncgen(value):
        value = await in_own_context(_items(value))
    return await asyncio.to_thread(jsonable, value) if is_large(value) else jsonable(value)


@lru_cache(maxsize=4096)
def _is_async(tool: Tool) -> bool:
    return is_async(tool.function)


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


async def _items(generator: AsyncIterator[Any]) -> list[Any]:
    """What an async generator gives, which may have no end."""
    found: list[Any] = []
    async for item in generator:
        found.append(item)
        if len(found) > MAX_ITERATED:
            return [*found[:MAX_ITERATED], f"(more than {MAX_ITERATED} items)"]
    return found


async def _in_thread(tool: Tool, arguments: dict[str, Any]) -> tuple[Any, bool]:
    clock, function = CALL_CLOCK.get(), tool.function

    def run() -> tuple[Any, bool]:
        if clock is not None:
            clock.has_started = True
        value = function(**arguments)  # type: ignore[misc]
        if inspect.isawaitable(value) or inspect.isasyncgen(value):
            return value, False
        return jsonable(value), True  # here, since a value's own methods may take their time too

    if clock is not None:
        clock.has_started = False
    found: tuple[Any, bool] = await THREADS.run(run, tool=tool.name)
    return found


async def _uncancelled(work: Any) -> Any:
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    value = await work
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError  # the tool swallowed it, and the run would go on
    return value


def _raised(
    call: BoundCall, context: RunContext, error: BaseException, *, has_begun: bool = True
) -> ToolResult:
    if isinstance(error, ToolExit):
        error = error.error
    found = fault(error, call.tool)
    is_expected = found.retryable or found.word == "stopped" or _is_about_the_call(found, call.tool)
    tell_failed(call, context, error, is_expected=is_expected)
    words, wait = _WORDS[context.language], found.details.get("retry_after")
    message = words[found.word].format(
        name=call.tool.name,
        status=found.details.get("status", ""),
        after="" if wait is None else words["after"].format(seconds=wait),
    )
    if _is_told(found, error, call.tool) and (said := _said(error)):
        message = words["said"].format(message=message, text=said)
    unsure = has_begun and _may_have_changed(found, call.tool)
    failure = ToolError(
        code=found.code,
        message=message,
        retryable=found.retryable,
        hint=words["changed"] if unsure else words.get(f"{found.word}_hint", ""),
        details=found.details,
    )
    if _is_about_the_call(found, call.tool):
        return call.answer(failure, exception=type(error).__name__, own_words=True)
    return call.answer(failure, exception=type(error).__name__)


def _is_about_the_call(found: Fault, tool: Tool) -> bool:
    """Whether a reading tool's author says what is wrong with what was asked, told or not: then the tool is well."""
    return found.is_own_words and tool.rules.effect == "reads"


def _may_have_changed(found: Fault, tool: Tool) -> bool:
    """Whether the tool failed at a point that nobody knows, before its effect or after it (ADR 8)."""
    return found.word in _AT_ANY_POINT and not found.retryable and not tool.repeatable


def _is_told(found: Fault, error: BaseException, tool: Tool) -> bool:
    """Whether the exception's text goes to the model; of itself only what a reading tool's author has written.

    A text that has to be masked was not written for a model.
    """
    shows = tool.rules.shows_errors
    if shows is not None:
        return shows
    said = _said(error) if _is_about_the_call(found, tool) else ""
    return bool(said) and redacted_text(said) == said


def _said(error: BaseException) -> str:
    """An exception's own text in one line; the policies mask it, as they do every result."""
    try:
        return " ".join(str(jsonable(str(error)[:_MOST_SAID])).split())
    except Exception:  # noqa: BLE001 - an exception's own text may do anything
        return ""


def _refused(
    word: str, code: ErrorCode, call: BoundCall, context: RunContext, *, retryable: bool = False, **words: str
) -> ToolResult:
    """The answer where the function could not be called at all."""
    message = _WORDS[context.language][word].format(name=call.tool.name, **words)
    return call.answer(ToolError(code=code, message=message, retryable=retryable))
