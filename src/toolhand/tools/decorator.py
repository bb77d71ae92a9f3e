"""`@tool`: makes a tool of a function."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, overload

from toolhand.core.errors import ToolDefinitionError
from toolhand.core.tools import Effect, Rules, Tool
from toolhand.tools.schema import describe


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    aliases: Mapping[str, Iterable[str]] | None = None,
    effect: Effect = "reads",
    idempotent: bool = False,
    category: str = "",
    tags: Iterable[str] = (),
    timeout: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    aliases: Mapping[str, Iterable[str]] | None = None,
    effect: Effect = "reads",
    idempotent: bool = False,
    category: str = "",
    tags: Iterable[str] = (),
    timeout: float | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a tool of a function: bare, or called with options. The result can still be called as the function.

    Name, description and parameters come from the signature, the annotations and the docstring (Google, NumPy or Sphinx
    style, English or Chinese).

    Args:
        function: the function, when the decorator stands bare.
        name: the name that models use; the function's own by default.
        description: what models read; the docstring's by default.
        aliases: other names that models use for a parameter: `{"city": ["location", "城市"]}`.
        effect: "reads" changes nothing, "writes" changes something, "destroys" cannot be undone.
        idempotent: whether running it twice with the same arguments is the same as once.
        category: a word to route by.
        tags: words to filter by.
        timeout: seconds after which a call is given up.

    Raises:
        ToolDefinitionError: when the function cannot be described; the message names the parameter and the cure.
    """

    def make(target: Callable[..., Any]) -> Tool:
        rules = Rules(
            effect=effect, idempotent=idempotent, category=category, tags=frozenset(tags), timeout=timeout
        )
        return _make(target, name=name, description=description, aliases=aliases or {}, rules=rules)

    return make if function is None else make(function)


def _make(
    target: Any,
    *,
    name: str | None,
    description: str | None,
    aliases: Mapping[str, Iterable[str]],
    rules: Rules,
) -> Tool:
    if isinstance(target, Tool):
        return replace(target, name=name or target.name, description=description or target.description)
    inner: Any = target.__func__ if isinstance(target, classmethod | staticmethod) else target
    if isinstance(getattr(inner, "__func__", None), Tool):  # a classmethod around a decorated function
        inner = inner.__func__.function.__get__(inner.__self__)
    if not callable(inner):
        raise ToolDefinitionError(f"a tool is made of a function, and {target!r} is none")
    tool_name = name or getattr(inner, "__name__", None) or type(inner).__name__
    if getattr(inner, "func", None) is not None and name is None and not hasattr(inner, "__name__"):
        tool_name = inner.func.__name__  # a partial
    if tool_name == "<lambda>":
        raise ToolDefinitionError("a lambda has no name for the model to use: give one with tool(name=…)")
    skips_first = isinstance(target, classmethod) or _is_method_in_a_class_body(inner)
    described = describe(_without_receiver(inner) if skips_first else inner, namespace=_namespace)
    return Tool(
        name=tool_name,
        description=described.description if description is None else description,
        parameters=described.parameters,
        function=target if skips_first or isinstance(target, staticmethod) else described.function,
        validate=described.validate,
        rules=rules,
        aliases=_by_alias(tool_name, aliases, described.parameters["properties"]),
        injected=described.injected,
    )


def _by_alias(
    tool_name: str, aliases: Mapping[str, Iterable[str]], properties: Mapping[str, Any]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for parameter, spellings in aliases.items():
        if parameter not in properties:
            raise ToolDefinitionError(
                f"aliases of tool '{tool_name}' name the parameter '{parameter}', which it does not have; "
                f"it has: {', '.join(properties) or 'none'}"
            )
        for spelling in [spellings] if isinstance(spellings, str) else spellings:
            if found.setdefault(spelling, parameter) != parameter:
                raise ToolDefinitionError(
                    f"alias '{spelling}' of tool '{tool_name}' is given to two parameters"
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


def _namespace() -> dict[str, Any]:
    """The local names where the tool is made, for annotations that are strings and name a local type."""
    found: dict[str, Any] = {}
    frame = sys._getframe(1)  # noqa: SLF001 - there is no public way to see the caller's locals
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith("toolhand."):
            for key, value in frame.f_locals.items():
                found.setdefault(key, value)
            if frame.f_code.co_name == "<module>":
                break
        frame = frame.f_back  # type: ignore[assignment]
    return found
