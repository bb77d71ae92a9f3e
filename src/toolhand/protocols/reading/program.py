"""Several steps in one note: what a plan's lines say beyond the calls in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolhand.core.messages import ToolCall

_WORD = re.compile(r"[^\W\d]\w*")
_VARIABLE = re.compile(r"\$\{?[A-Za-z_\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a plan.

    Args:
        call: the call; a variable in its arguments is written `$name`.
        save_as: the variable that keeps its result, or "".
        when: the condition under which it runs, as written, or "".
    """

    call: ToolCall
    save_as: str = ""
    when: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps in order. Its calls must not run before their variables and conditions are known.

    Args:
        steps: the lines.
    """

    steps: tuple[Step, ...]

    @property
    def ready(self) -> tuple[ToolCall, ...]:
        """The calls before the first one that has a condition or takes another's result: these may run by themselves."""
        found: list[ToolCall] = []
        saved: set[str] = set()
        for step in self.steps:
            if step.when or any(_mentions(text, saved) for text in _texts(step.call.arguments)):
                break
            found.append(step.call)
            saved |= {step.save_as.lstrip("$")} - {""}
        return tuple(found)


def _mentions(text: str, saved: set[str]) -> bool:
    """Whether a text may stand for another step's result: rather one step too late than one with a formula for a value."""
    return _VARIABLE.search(text) is not None or not saved.isdisjoint(_WORD.findall(text))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for item in items:
        yield from _texts(item)
