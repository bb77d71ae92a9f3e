"""`@tool`: makes a tool of a function."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal, TypedDict, Unpack, overload

from toolhand.core.errors import ToolDefinitionError
from toolhand.core.language import say
from toolhand.core.tools import Breaker, Condition, Effect, Isolation, Rules, Tool
from toolhand.tools.options import check_options, collected
from toolhand.tools.schema import describe
from toolhand.tools.signature import unwrapped

_LOG: Final = logging.getLogger("toolhand")


class ToolOptions(TypedDict, total=False):
    """What `@tool` takes. All but the first three are kept in `Tool.rules`, where each is explained."""

    name: str
    description: str
    aliases: Mapping[str, str | Iterable[str]]
    effect: Effect
    idempotent: bool
    category: str
    tags: Iterable[str]
    timeout: float | None
    retries: int
    permission: str
    approval: bool
    rate_limit: str
    concurrency: int | None
    fallback: Tool | Callable[..., Any] | None
    sensitive: Iterable[str]
    reveals: Iterable[str]
    max_result: int | None
    isolation: Isolation | None
    poll: bool
    upstream: str
    before: Condition | Iterable[Condition]
    after: Condition | Iterable[Condition]
    cost: float
    breaker: Breaker | Literal["default"] | None
    longest_wait: float | None
    idempotency_key: Callable[[Mapping[str, Any]], str] | None
    user_visible: bool
    shows_errors: bool | None
    untrusted: bool
    undo: Tool | str
    source: str


@overload
def tool(function: Callable[..., Any], /, **options: Unpack[ToolOptions]) -> Tool: ...


@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a tool of a function: bare, or called with options. The result can still be called as the function.

    Name, description and parameters come from the signature, the annotations and the docstring (Google, NumPy or Sphinx
    style, English or Chinese).

    Args:
        function: the function, when the decorator stands bare.
        options: `name` and `description` instead of the function's own; `aliases`, other names that models use for a
            parameter (`{"city": ["location", "城市"]}`); and any of `Rules`: `effect`, `timeout`, `permission` …

    Raises:
        ToolDefinitionError: when the function cannot be described or an option is not valid; the message names the
            parameter or option and the cure.
    """
    return (lambda target: _told(target, options)) if function is None else _told(function, options)


def _told(target: Any, options: ToolOptions) -> Tool:
    """The tool; a rule that will do nothing is said now, since nobody would miss it before the day on which it counts."""
    try:
        made = _make(target, options)
        if made.rules.source:
            _check_source(made)
    except ToolDefinitionError as error:
        error.args = (f"{error}{_place(target)}",)
        raise
    if options.get("retries") and not made.repeatable:
        _LOG.warning(
            say(
                "retries=%s of tool '%s' does nothing: it changes something and may not run twice. "
                "Say idempotent=True if it may, or hand on an Injected('idempotency_key')",
                "retries=%s 对工具“%s”不起作用：它会改变东西，不能运行两次。"
                "如果可以，请写 idempotent=True，或转交 Injected('idempotency_key')",
            ),
            made.rules.retries,
            made.name,
        )
    return made


def _place(target: Any) -> str:
    """Where the function stands, for a sentence about it."""
    code = getattr(unwrapped(getattr(target, "__func__", target)), "__code__", None)
    return "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"


def _check_source(made: Tool) -> None:
    name, rules = made.rules.source, made.rules
    if made.properties.get(name, {}).get("type") != "string" or set(made.required) - {name}:
        raise ToolDefinitionError(
            say(
                f"option source of tool '{made.name}' is the parameter that takes a question in words, and the only one that "
                f"must be given, not {name!r}",
                f"工具“{made.name}”的选项 source 应是接收文字问题的参数，并且是唯一必需的参数，不能是 {name!r}",
            )
        )
    if rules.effect != "reads" or rules.approval:
        raise ToolDefinitionError(
            say(
                f"tool '{made.name}' cannot be a source: a source is asked without the model, so it only reads and "
                "needs no approval",
                f"工具“{made.name}”不能作为 source：source 不经模型就会被询问，因此只能读取且无需批准",
            )
        )


_OWN: Final = frozenset({"name", "description", "aliases"})


def _rules(label: str, options: ToolOptions, base: Rules) -> Rules:
    """The options as rules, with every mistake that can be seen now named now."""
    given: dict[str, Any] = {key: value for key, value in options.items() if key not in _OWN}
    unknown = given.keys() - Rules.__dataclass_fields__.keys()
    if unknown:
        there = ", ".join(ToolOptions.__annotations__)
        raise ToolDefinitionError(
            say(
                f"tool '{label}' has no option {', '.join(sorted(unknown))}; there is: {there}",
                f"工具“{label}”没有选项 {'、'.join(sorted(unknown))}；可用：{there}",
            )
        )
    given = collected(given)
    check_options(label, given)
    fallback = given.get("fallback")
    if fallback is not None and not isinstance(fallback, Tool):
        given["fallback"] = _make(fallback, {})
    return replace(base, **given)


def _make(target: Any, options: ToolOptions) -> Tool:
    name, description = options.get("name"), options.get("description")
    if isinstance(target, Tool):
        return replace(
            target,
            name=name or target.name,
            description=description or target.description,
            rules=_rules(target.name, options, target.rules),
            aliases={
                **target.aliases,
                **_by_alias(target.name, options.get("aliases", {}), target.properties),
            },
        )
    inner: Any = target.__func__ if isinstance(target, classmethod | staticmethod) else target
    if isinstance(getattr(inner, "__func__", None), Tool):  # a classmethod around a decorated function
        inner = inner.__func__.function.__get__(inner.__self__)
    if not callable(inner):
        raise ToolDefinitionError(
            say(
                f"a tool is made of a function, and {target!r} is none",
                f"工具由函数生成，而 {target!r} 不是函数",
            )
        )
    tool_name = name or getattr(inner, "__name__", None) or type(inner).__name__
    if getattr(inner, "func", None) is not None and name is None and not hasattr(inner, "__name__"):
        tool_name = inner.func.__name__  # a partial
    if tool_name == "<lambda>":
        raise ToolDefinitionError(
            say(
                "a lambda has no name for the model to use: give one with tool(name=…)",
                "lambda 没有可供模型使用的名字：请用 tool(name=…) 指定",
            )
        )
    skips_first = isinstance(target, classmethod) or _is_method_in_a_class_body(inner)
    described = describe(
        _without_receiver(inner) if skips_first else inner, namespace=partial(_namespace, inner)
    )
    return Tool(
        name=tool_name,
        description=described.description if description is None else description,
        parameters=described.parameters,
        function=target if skips_first or isinstance(target, staticmethod) else described.function,
        validate=described.validate,
        rules=_rules(tool_name, options, Rules()),
        aliases=_by_alias(tool_name, options.get("aliases", {}), described.parameters["properties"]),
        injected=described.injected,
    )


def _by_alias(
    tool_name: str, aliases: Mapping[str, str | Iterable[str]], properties: Mapping[str, Any]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for parameter, spellings in aliases.items():
        if parameter not in properties:
            raise ToolDefinitionError(
                say(
                    f"aliases of tool '{tool_name}' name the parameter '{parameter}', which it does not have; "
                    f"it has: {', '.join(properties) or 'none'}",
                    f"工具“{tool_name}”的 aliases 写了参数“{parameter}”，但它没有这个参数；"
                    f"现有：{'、'.join(properties) or '（没有）'}",
                )
            )
        for spelling in [spellings] if isinstance(spellings, str) else spellings:
            if found.setdefault(spelling, parameter) != parameter:
                raise ToolDefinitionError(
                    say(
                        f"alias '{spelling}' of tool '{tool_name}' is given to two parameters",
                        f"工具“{tool_name}”的别名“{spelling}”同时给了两个参数",
                    )
                )
    return found


def _is_method_in_a_class_body(function: Any) -> bool:
    """Whether the function is being defined inside a class body, where its first parameter will be the instance."""
    if not inspect.isfunction(function) or "." not in function.__qualname__:
        return False
    if function.__qualname__.rsplit(".", 2)[-2] == "<locals>":
        return False
    parameters = list(inspect.signature(function).parameters)
    return bool(parameters) and parameters[0] in ("self", "cls")


def _without_receiver(function: Callable[..., Any]) -> Callable[..., Any]:
    receiver = next(iter(inspect.signature(function).parameters))
    bound: Callable[..., Any] = _Receiver(function, receiver)
    return bound


class _Receiver:
    """A method as its callers see it: without the first parameter, but with its annotations and docstring."""

    def __init__(self, function: Callable[..., Any], receiver: str) -> None:
        signature = inspect.signature(function)
        self.__signature__ = signature.replace(
            parameters=[p for n, p in signature.parameters.items() if n != receiver]
        )
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)


def _namespace(function: Any) -> dict[str, Any]:
    """The local names where the tool is made, for annotations that are strings and name a local type.

    Toolhand's own files are only on the way there, but for the one that the function is written in.
    """
    written_in = getattr(function, "__module__", None)
    found: dict[str, Any] = {}
    frame = sys._getframe(1)  # noqa: SLF001 - there is no public way to see the caller's locals
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module == written_in or not module.startswith("toolhand."):
            for key, value in frame.f_locals.items():
                found.setdefault(key, value)
            if frame.f_code.co_name == "<module>":
                break
        frame = frame.f_back  # type: ignore[assignment]
    return found
