"""What could not be read, in words that let a model mend it."""

from __future__ import annotations

from toolhand.parsing.loose import LooseError


def syntax_problem(problem: LooseError, text: str, offset: int = 0) -> str:
    """What is wrong with a JSON text, in words that name the place; the text begins at `offset` of what was read."""
    position = problem.position - offset
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    near = f', at the key "{problem.key}"' if problem.key else ""
    return f"The arguments are not valid JSON: {problem.reason} at line {line}, column {column}{near}."
