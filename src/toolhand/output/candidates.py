"""The JSON values in a model's words, in the order in which they are likely to be its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from toolhand.parsing.loose import LooseError, read_value

_FENCE: Final = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_THOUGHT: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OPENING: Final = re.compile(r"[{\[｛［]")

MOST: Final = 12
"""How many values are looked at. An answer stands among the first or is the last fence."""


def candidates(text: str) -> Iterator[Any]:
    """The values: of fences, the last one first, then of the bare text. What is in a marked thought is none.

    A value that is cut off is none either: what is missing would be a guess.
    """
    said = _THOUGHT.sub("", text) if "<think" in text.lower() else text
    fences = [found[1] for found in _FENCE.finditer(said)]
    for inner in reversed(fences[-MOST:]):
        yield from _values(inner, 2)
    yield from _values(said, MOST)


def _values(text: str, most: int) -> Iterator[Any]:
    place = 0
    for _ in range(most):
        opening = _OPENING.search(text, place)
        if opening is None:
            return
        try:
            loose = read_value(text, opening.start())
        except LooseError as problem:
            place = max(opening.end(), problem.reached if problem.reached < len(text) else 0)
            continue
        except RecursionError:
            return
        if loose.is_complete:
            yield loose.value
        place = max(loose.end, opening.end())
