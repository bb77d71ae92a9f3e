"""Several steps in one note: what a plan's lines say beyond the calls in them."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.core.messages import ToolCall


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
