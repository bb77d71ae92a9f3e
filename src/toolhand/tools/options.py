"""Whether the options of `@tool` can be what they say, judged when the tool is made and not at its first call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from toolhand.core.errors import SettingsError, ToolDefinitionError
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
            raise ToolDefinitionError(f"option {key} of tool '{label}' is {what}, not {value!r:.80}")
    try:
        rates(options.get("rate_limit", ""))
    except SettingsError as error:
        raise ToolDefinitionError(f"option rate_limit of tool '{label}': {error}") from None


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


def _one_of(*choices: Any) -> tuple[Callable[[Any], bool], str]:
    shown = ", ".join(repr(choice) for choice in choices)
    return (lambda value: any(value is choice or value == choice for choice in choices)), f"one of {shown}"


_TRUTH: Final = (_is_bool, "True or False")
_TEXT: Final = (_is_text, "a string")
_NAMES: Final = (_is_names, "a name or a list of names")
_CONDITIONS: Final = (_is_callables, "a function or a list of functions")

_KINDS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
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
    "undo": (_is_text, "a tool or a tool's name"),
    "source": (_is_text, "the name of a parameter"),
    "rate_limit": (_is_text, 'a string such as "10/minute"'),
    "tags": _NAMES,
    "sensitive": _NAMES,
    "reveals": (
        lambda value: _is_names(value) and value <= set(get_args(Kind)),
        f"some of {', '.join(get_args(Kind))}",
    ),
    "timeout": (
        lambda value: value is None or _is_number(value, 0, may_equal=False),
        "a number of seconds that is more than 0, or None",
    ),
    "longest_wait": (
        lambda value: value is None or _is_number(value, 0),
        "a number of seconds that is at least 0, or None",
    ),
    "cost": (lambda value: _is_number(value, 0), "a number that is at least 0"),
    "retries": (lambda value: _is_whole(value, 0), "a whole number that is at least 0"),
    "concurrency": (
        lambda value: value is None or _is_whole(value, 1),
        "a whole number that is more than 0, or None",
    ),
    "max_result": (
        lambda value: value is None or _is_whole(value, 1),
        "a whole number that is more than 0, or None",
    ),
    "before": _CONDITIONS,
    "after": _CONDITIONS,
    "breaker": (
        lambda value: value is None or value == "default" or isinstance(value, Breaker),
        'a Breaker(failures=…, cooldown=…), "default", or None for no circuit',
    ),
    "fallback": (lambda value: value is None or callable(value), "a tool or a function, or None"),
    "idempotency_key": (
        lambda value: value is None or callable(value),
        "a function of the arguments, or None",
    ),
}
"""What each option may be, in a test and in words."""
