"""Call syntax as in Python: `name(key="value", other=[1, 2])`, with every liberty of `loose`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from toolhand.core.messages import Fix
from toolhand.parsing.descent import Reading

_KEYWORD = re.compile(r"\s*([^\W\d][\w\-]*)\s*(=(?!=)|[:：＝])\s*(?!/)")
_SPREAD = re.compile(r"\s*\*\*\s*(?=\{)")


@dataclass(slots=True)
class PythonCall:
    """A call as written.

    Args:
        keywords: the named arguments.
        positions: the others, in order.
        end: the position after it.
        fixes: the liberties taken.
        bare: the names of arguments whose value is a word without quotes, such as a variable.
        is_closed: whether its closing bracket is there.
        is_cut: whether the text ended inside a value.
        has_types: whether it reads like a signature (`port: str`).
    """

    keywords: dict[str, Any] = field(default_factory=dict)
    positions: list[Any] = field(default_factory=list)
    end: int = 0
    fixes: tuple[Fix, ...] = ()
    bare: set[str] = field(default_factory=set)
    is_closed: bool = True
    is_cut: bool = False
    has_types: bool = False


def read_arguments(text: str, start: int, stops: re.Pattern[str] | None = None) -> PythonCall:
    """Reads the arguments of a call; `start` is the position after its opening bracket.

    Raises:
        LooseError: when what stands there is no list of arguments.
    """
    reading = Reading(text, start, stops)
    call = PythonCall()
    reading.path.append("")
    while True:
        reading.gap()
        if reading.at_end():
            call.is_closed = False
            break
        char = text[reading.pos]
        if char in ")）":
            if char == "）":
                reading.took("full_width_punctuation")
            reading.pos += 1
            break
        if char in "]］}｝":
            raise reading.fail("a closing bracket was expected")
        if char in ",，;；、":
            reading.pos += 1
            continue
        _argument(reading, call)
        if reading.open_path is not None:
            call.is_closed = False
            break
    call.end = reading.pos
    call.is_cut = reading.is_cut or (reading.open_path is not None and len(reading.open_path) > 1)
    call.fixes = tuple(reading.fixes.values())
    return call


def _argument(reading: Reading, call: PythonCall) -> None:
    text = reading.text
    spread = _SPREAD.match(text, reading.pos)
    if spread:
        reading.pos = spread.end()
        value = reading.value(")")
        if isinstance(value, dict):
            call.keywords.update(value)
        return
    keyword = _KEYWORD.match(text, reading.pos)
    if keyword:
        reading.pos = keyword.end()
        if keyword[2] in ":：":
            reading.took("other_separator")
        elif keyword[2] == "＝":
            reading.took("full_width_punctuation")
        reading.path[-1] = keyword[1]
    is_bare = _is_bare(reading)
    value = reading.value(")")
    if keyword:
        call.keywords[keyword[1]] = value
        if is_bare and isinstance(value, str):
            call.bare.add(keyword[1])
            call.has_types = call.has_types or keyword[2] in ":："
        reading.path[-1] = ""
    else:
        if is_bare and isinstance(value, str):
            call.bare.add("")
        call.positions.append(value)


def _is_bare(reading: Reading) -> bool:
    """Whether the value that follows has no quotes."""
    reading.gap()
    char = reading.text[reading.pos : reading.pos + 1]
    return bool(char) and (char.isalpha() or char in "$_")
