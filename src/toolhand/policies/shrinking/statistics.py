"""What a column of a table is like: the range of its numbers and dates, the most frequent of its texts, how much is missing."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

_NUMERIC: Final = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,12}")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.+\-Z]*)?")
_NAME_OF_KEY: Final = re.compile(
    r"(?:^|[_\W])(?:id|no|code|zip|phone)s?$|Id$|编号$|号码?$|单号$|代码$", re.IGNORECASE
)
_MOST_TOP: Final = 5
_MOST_SHOWN: Final = 40


def column(values: Sequence[Any], name: str = "") -> dict[str, Any]:
    """A few facts about the values of a column; missing ones are None.

    Numbers give min, max, mean and sum (no mean or sum of what names things), dates their range, texts how many different
    ones there are and the most frequent.

    Args:
        values: JSON values.
        name: the column's, which tells an amount from a number that only names something.
    """
    present = [value for value in values if value is not None]
    facts: dict[str, Any] = {}
    if len(present) < len(values):
        facts["missing"] = len(values) - len(present)
    if not present:
        return facts
    kinds = set(map(type, present))
    if kinds <= {int, float}:
        return facts | _numbers(present, name)
    if kinds == {bool}:
        return facts | {"true": present.count(True), "false": present.count(False)}
    if kinds == {str}:
        return facts | _texts(present, name)
    return facts


def _numbers(present: list[Any], name: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"min": min(present), "max": max(present)}
    if not _NAME_OF_KEY.search(name):
        try:
            total = sum(present) if all(type(value) is int for value in present) else math.fsum(present)
            facts |= {"mean": _rounded(total / len(present)), "sum": _rounded(total)}
        except OverflowError:
            pass
    return {
        key: value for key, value in facts.items() if not isinstance(value, float) or math.isfinite(value)
    }


def _rounded(number: float) -> int | float:
    return number if isinstance(number, int) else float(f"{number:.12g}")


def _texts(present: list[str], name: str) -> dict[str, Any]:
    first = present[0]
    if _NUMERIC.fullmatch(first) and all(map(_NUMERIC.fullmatch, present)):
        return _numbers([float(value) for value in present], name)
    if _DAY.fullmatch(first) and all(map(_DAY.fullmatch, present)):
        return {"min": min(present), "max": max(present)}
    counted = Counter(present)
    facts: dict[str, Any] = {"distinct": len(counted)}
    if len(counted) <= max(20, len(present) // 2):
        facts["top"] = {_short(text): count for text, count in counted.most_common(_MOST_TOP)}
    return facts


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"
