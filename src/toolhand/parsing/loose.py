"""A tolerant reader of one JSON or Python-literal value, as models write them.

Strict JSON is tried first (it is fast and means what it says); then every liberty is written down as a `Fix`. What is
not mended: a value that is simply missing, and anything that would need a guess at what was meant. Text that ends
inside the value gives what was read, with the path that was still open, so that a caller can tell a missing closing
bracket from a value cut in two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from toolhand.parsing.costs import fix
from toolhand.parsing.descent import Reading
from toolhand.parsing.loose_values import Key, Loose, LooseError, json_path
from toolhand.parsing.strings import mend_surrogates

__all__ = ["Key", "Loose", "LooseError", "json_path", "read_value"]

_BLANK = re.compile(r"[\s\u00a0\ufeff\u200b]*")


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


_strict: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode
_raw_lines: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(
    parse_constant=_refuse_constant, strict=False
).raw_decode


def read_value(text: str, start: int = 0, *, stops: re.Pattern[str] | None = None) -> Loose:
    """Reads one value.

    Args:
        text: where it is.
        start: its first character; blanks before it are passed over.
        stops: what ends the value wherever it stands outside a string, such as a closing tag.

    Raises:
        LooseError: when there is no value, or one that cannot be mended.
    """
    begin = _BLANK.match(text, start).end()  # type: ignore[union-attr]
    first = text[begin : begin + 1]
    if first in '{["' and not text.startswith('"""', begin):
        if not first:
            raise LooseError("a value was expected", begin)
        try:
            value, end = _strict(text, begin)
        except json.JSONDecodeError as problem:
            if problem.msg.startswith("Invalid control character"):
                try:
                    value, end = _raw_lines(text, begin)
                except (ValueError, RecursionError):
                    pass
                else:
                    return Loose(_without_surrogates(value), end, (fix("raw_newline"),))
        except (ValueError, RecursionError):
            pass
        else:
            if text.find("\\u", begin, end) >= 0:
                value = _without_surrogates(value)
            return Loose(value, end)
    return Reading(text, begin, stops).run()


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return mend_surrogates(value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {mend_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value
