"""From the keys of a case to what it expects, what its tools answer, and what was said before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import toolhand.evals.bfcl_rules  # noqa: F401 - registers its matcher
from toolhand.arguments.suggest import closest
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.language import say
from toolhand.core.messages import Message, Text, ToolCall, ToolResult, Value
from toolhand.core.tools import Tool
from toolhand.evals.case import Fixture
from toolhand.evals.expectation import Arguments, Expectation, ExpectedCall
from toolhand.evals.format import EXPECTATION, FIXTURE
from toolhand.evals.matching import MATCHERS, compiled, compiled_text
from toolhand.evals.spots import Spot
from toolhand.toolset import Toolset

ANY_OTHERS: Final = "..."
"""The key in a call's arguments that lets others be sent too."""

_PLAIN: Final = ("string", "integer", "number", "boolean")


def read_expectation(
    spot: Spot, tools: Toolset, *, open_ended: bool = False, inner: bool = False
) -> Expectation:
    """What a case, a question or an alternative expects."""
    if inner:
        spot.keys(EXPECTATION, "an alternative", "备选")
    keys = spot.value
    if not open_ended and not any(key in keys for key in ("calls", "text", "no_text", "forbidden", "any_of")):
        spot.fail(
            "nothing is expected here: write calls, text, no_text, forbidden or any_of",
            "没有写期望：请写 calls、text、no_text、forbidden 或 any_of",
        )
    calls = _calls(spot.child("calls"), tools) if "calls" in keys else None
    return Expectation(
        calls=calls,
        orders=_orders(spot.child("order"), len(calls or ())) if "order" in keys else (),
        allowed=_calls(spot.child("allowed"), tools) if "allowed" in keys else (),
        # A forbidden call may be one that no tool offers: the model may still ask for it.
        forbidden=_calls(spot.child("forbidden"), None) if "forbidden" in keys else (),
        extra_calls="extra_calls" in keys and spot.child("extra_calls").flag(),
        repeats="repeats" not in keys or spot.child("repeats").flag(),
        text=tuple(compiled_text(s) for s in spot.child("text").each()) if "text" in keys else (),
        no_text=tuple(compiled_text(s) for s in spot.child("no_text").each()) if "no_text" in keys else (),
        any_of=tuple(read_expectation(s, tools, inner=True) for s in spot.child("any_of").list())
        if "any_of" in keys
        else (),
    )


def _calls(spot: Spot, tools: Toolset | None) -> tuple[ExpectedCall, ...]:
    if spot.value in ("none", None):
        return ()
    return tuple(_call(item, tools) for item in spot.each())


def _call(spot: Spot, tools: Toolset | None) -> ExpectedCall:
    if isinstance(spot.value, str):
        name, inner = spot.text(), None
    else:
        if len(spot.mapping()) != 1:
            spot.fail(
                "a call is a tool's name, or one `tool: {arguments}`; begin each call with its own '-'",
                "一次调用写成工具名，或一个 `工具名: {参数}`；每个调用各占一个“-”",
            )
        name = next(iter(spot.value))
        inner = spot.child(name)
    tool = tools.get(name) if tools is not None else None
    if tools is not None and tool is None:
        names = ", ".join(tools.names) or say("none", "无")
        spot.fail(
            f"there is no tool '{name}' in this case; there is: {names}",
            f"此用例中没有工具“{name}”；现有：{names}",
        )
    if inner is None or inner.value is None:
        return ExpectedCall(name=name)
    return ExpectedCall(name=name, arguments=_arguments(inner, tool))


def _arguments(spot: Spot, tool: Tool | None) -> Arguments:
    fields = spot.mapping()
    if list(fields) == ["bfcl"] and (tool is None or "bfcl" not in tool.properties):
        return Arguments(whole=MATCHERS["bfcl"](spot.child("bfcl")))
    for name in fields:
        if name != ANY_OTHERS and tool is not None and name not in tool.properties and _is_closed(tool):
            names = ", ".join(tool.properties) or say("none", "无")
            spot.child(name).fail(
                f"'{tool.name}' has no parameter '{name}'; it has: {names}",
                f"“{tool.name}”没有参数“{name}”；它的参数：{names}",
            )
    for name, item in spot.items():
        _check_matcher(item, tool.properties.get(name, {}) if tool is not None else {})
    matchers = {name: compiled(item) for name, item in spot.items() if name != ANY_OTHERS}
    return Arguments(fields=matchers, is_open=ANY_OTHERS in fields)


def _check_matcher(spot: Spot, schema: Any) -> None:
    """Refuses an object in the place of a plain value: it is a matcher that is misspelt, and would match nothing."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if kind not in _PLAIN or not isinstance(spot.value, Mapping) or set(spot.value) & set(MATCHERS):
        return
    key = str(next(iter(spot.value), ""))
    near = closest(key, list(MATCHERS))
    hint = say(f"; did you mean '{near}'?", f"；是否想写“{near}”？") if near else ""
    known = ", ".join(MATCHERS)
    spot.fail(
        f"there is no matcher '{key}'{hint} There is: {known}",
        f"没有匹配器“{key}”{hint}可用的有：{known}",
    )


def _is_closed(tool: Tool) -> bool:
    return not tool.parameters.get("additionalProperties") and not tool.parameters.get("patternProperties")


def _orders(spot: Spot, count: int) -> tuple[tuple[int, ...], ...]:
    if spot.value == "any":
        return ()
    if spot.value == "listed":
        return (tuple(range(count)),)
    orders = []
    for item in spot.list():
        numbers = [number.whole(1) for number in item.list()]
        if sorted(numbers) != list(range(1, count + 1)):
            item.fail(
                f"an order names each of the {count} calls once, from 1 to {count}",
                f"每种顺序都要把 {count} 个调用各列一次（1 到 {count}）",
            )
        orders.append(tuple(number - 1 for number in numbers))
    return tuple(orders)


def read_fixtures(spot: Spot) -> tuple[Fixture, ...]:
    """What a tool answers instead of running."""
    value = spot.value
    if (
        isinstance(value, list)
        and value
        and all(isinstance(v, Mapping) and v and set(v) <= set(FIXTURE) for v in value)
    ):
        return tuple(_fixture(item) for item in spot.list())
    return (Fixture(result=value),)


def _fixture(spot: Spot) -> Fixture:
    if ("result" in spot.value) == ("error" in spot.value):
        spot.fail("a fixture has either a result or an error", "预设结果需要 result 或 error 之一")
    return Fixture(
        when=Arguments(
            fields={name: compiled(item) for name, item in spot.child("when").items() if name != ANY_OTHERS},
            is_open=True,
        )
        if "when" in spot.value
        else None,
        result=spot.value.get("result"),
        error=_error(spot.child("error")) if "error" in spot.value else None,
        times=spot.child("times").whole(1) if "times" in spot.value else None,
    )


def _error(spot: Spot) -> ToolError:
    if isinstance(spot.value, str):
        return ToolError(code=ErrorCode.EXECUTION, message=spot.text())
    spot.keys(("code", "message", "retryable"), "an error", "错误")
    if "message" not in spot.value:
        spot.fail("an error needs a message", "错误需要 message")
    code = spot.child("code").choice(*map(str, ErrorCode)) if "code" in spot.value else ErrorCode.EXECUTION
    return ToolError(
        code=ErrorCode(code),
        message=spot.child("message").text(),
        retryable="retryable" in spot.value and spot.child("retryable").flag(),
    )


def read_history(spot: Spot, tools: Toolset) -> tuple[Message, ...]:
    """What was said before."""
    found: list[Message] = []
    for number, item in enumerate(spot.list(), 1):
        item.keys(("user", "assistant", "system", "call", "result"), "an entry of a history", "历史条目")
        role = next((r for r in ("user", "assistant", "system") if r in item.value), None)
        if role is not None and len(item.value) == 1:
            found.append(Message(role=role, parts=(Text(item.child(role).text()),)))  # type: ignore[arg-type]
            continue
        if set(item.value) != {"call", "result"}:
            item.fail(
                "an entry is one of user, assistant, system, or a call with its result",
                "条目是 user、assistant、system 之一，或 call 加 result",
            )
        call = item.child("call")
        if len(call.mapping()) != 1:
            call.fail("a call is `tool: {arguments}`", "call 写成 `工具名: {参数}`")
        name = next(iter(call.value))
        _call(Spot(name, call.source, call.path), tools)
        sent = ToolCall(id=f"before_{number}", name=name, arguments=call.value[name] or {})
        result = ToolResult(call_id=sent.id, name=name, outcome=Value(item.value["result"]))
        found += [Message(role="assistant", parts=(sent,)), Message(role="tool", parts=(result,))]
    return tuple(found)
