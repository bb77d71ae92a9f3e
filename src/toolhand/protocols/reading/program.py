"""Several steps in one note: what a plan's lines say beyond the calls in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from toolhand.core.messages import ToolCall

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
        return tuple(step.call for step in takewhile(_needs_nothing, self.steps))


def _needs_nothing(step: Step) -> bool:
    return not step.when and not _names_a_variable(step.call.arguments)


def _names_a_variable(value: Any) -> bool:
    if isinstance(value, str):
        return _VARIABLE.search(value) is not None
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(_names_a_variable(item) for item in items)
