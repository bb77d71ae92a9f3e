"""Whether the options of `@tool` can be what they say, judged when the tool is made and not at its first call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, get_args

from toolhand.core.errors import SettingsError, ToolDefinitionError
from toolhand.core.language import say
from toolhand.core.rates import rates
from toolhand.core.tools import Breaker, Effect, Isolation, Kind, Tool

_SETS: Final = ("tags", "sensitive", "reveals")
_LISTS: Final = ("before", "after")


def collected(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with a single name or condition as a collection of one."""
    given = dict(options)
    for key in _SETS:
        if isinstance(given.get(key), str):
            given[key] = frozenset([given[key]])
        elif _is_iterable(given.get(key)):
            given[key] = frozenset(given[key])
    for key in _LISTS:
        if callable(given.get(key)):
            given[key] = (given[key],)
        elif _is_iterable(given.get(key)):
            given[key] = tuple(given[key])
    if isinstance(given.get("undo"), Tool):
        given["undo"] = given["undo"].name
    return given


def check_options(label: str, options: Mapping[str, Any]) -> None:
    """Refuses options that cannot be what they say.

    Args:
        label: the tool, for the error.
        options: as `collected` gave them.

    Raises:
        ToolDefinitionError: naming the option, what it may be, and what came.
    """
    for key, value in options.items():
        fits, what = _KINDS[key]
        if not fits(value):
            raise ToolDefinitionError(
                say(
                    f"option {key} of tool '{label}' is {what[0]}, not {value!r:.80}",
                    f"工具“{label}”的选项 {key} 应为：{what[1]}；不能是 {value!r:.80}",
                )
            )
    try:
        rates(options.get("rate_limit", ""))
    except SettingsError as error:
        raise ToolDefinitionError(
            say(f"option rate_limit of tool '{label}': {error}", f"工具“{label}”的选项 rate_limit：{error}")
        ) from None


def _is_iterable(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes)


def _is_number(value: Any, least: float = -math.inf, *, may_equal: bool = True) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value > least or (may_equal and value == least)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_names(value: Any) -> bool:
    return isinstance(value, frozenset) and all(isinstance(name, str) for name in value)


def _is_callables(value: Any) -> bool:
    return isinstance(value, tuple) and all(callable(one) for one in value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_Words: TypeAlias = tuple[str, str]
_Kind: TypeAlias = tuple[Callable[[Any], bool], _Words]


def _some_of(choices: Iterable[str], words: _Words) -> _Words:
    given = list(choices)
    return f"{words[0]} {', '.join(given)}", f"{'、'.join(given)} {words[1]}"


def _one_of(*choices: Any) -> _Kind:
    words = _some_of(map(repr, choices), ("one of", "之一"))
    return (lambda value: any(value is choice or value == choice for choice in choices)), words


_TRUTH: Final[_Kind] = (_is_bool, ("True or False", "True 或 False"))
_TEXT: Final[_Kind] = (_is_text, ("a string", "字符串"))
_NAMES: Final[_Kind] = (_is_names, ("a name or a list of names", "一个名称或名称列表"))
_CONDITIONS: Final[_Kind] = (_is_callables, ("a function or a list of functions", "一个函数或函数列表"))
_MORE_THAN_0: Final = ("a whole number that is more than 0, or None", "大于 0 的整数，或 None")

_KINDS: Final[Mapping[str, _Kind]] = {
    "effect": _one_of(*get_args(Effect)),
    "isolation": _one_of(None, *get_args(Isolation)),
    "idempotent": _TRUTH,
    "approval": _TRUTH,
    "poll": _TRUTH,
    "user_visible": _TRUTH,
    "shows_errors": _one_of(True, False, None),
    "untrusted": _TRUTH,
    "category": _TEXT,
    "permission": _TEXT,
    "upstream": _TEXT,
    "undo": (_is_text, ("a tool or a tool's name", "工具或工具名")),
    "source": (_is_text, ("the name of a parameter", "参数名")),
    "rate_limit": (_is_text, ('a string such as "10/minute"', '字符串，例如 "10/minute"')),
    "tags": _NAMES,
    "sensitive": _NAMES,
    "reveals": (
        lambda value: _is_names(value) and value <= set(get_args(Kind)),
        _some_of(get_args(Kind), ("some of", "中的若干")),
    ),
    "timeout": (
        lambda value: value is None or _is_number(value, 0, may_equal=False),
        ("a number of seconds that is more than 0, or None", "大于 0 的秒数，或 None"),
    ),
    "longest_wait": (
        lambda value: value is None or _is_number(value, 0),
        ("a number of seconds that is at least 0, or None", "不小于 0 的秒数，或 None"),
    ),
    "cost": (lambda value: _is_number(value, 0), ("a number that is at least 0", "不小于 0 的数")),
    "retries": (lambda value: _is_whole(value, 0), ("a whole number that is at least 0", "不小于 0 的整数")),
    "concurrency": (
        lambda value: value is None or _is_whole(value, 1),
        _MORE_THAN_0,
    ),
    "max_result": (
        lambda value: value is None or _is_whole(value, 1),
        _MORE_THAN_0,
    ),
    "before": _CONDITIONS,
    "after": _CONDITIONS,
    "breaker": (
        lambda value: value is None or value == "default" or isinstance(value, Breaker),
        (
            'a Breaker(failures=…, cooldown=…), "default", or None for no circuit',
            'Breaker(failures=…, cooldown=…)、"default"，或表示不熔断的 None',
        ),
    ),
    "fallback": (
        lambda value: value is None or callable(value),
        ("a tool or a function, or None", "工具或函数，或 None"),
    ),
    "idempotency_key": (
        lambda value: value is None or callable(value),
        ("a function of the arguments, or None", "以参数为输入的函数，或 None"),
    ),
}
"""What each option may be, in a test and in words, in English and Chinese."""
