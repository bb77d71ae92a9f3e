"""Text of models, tools and users as a terminal may show it: what would steer the terminal is spelt out instead.

An escape sequence in a tool's result could rename the window, hide what is being agreed to, or type for the person; a mark
that turns the writing direction round makes a text read as another than it is.
Source: ECMA-48 (C0 and C1 controls); Unicode Standard Annex 9 (bidirectional marks); CVE-2021-42574.
"""

from __future__ import annotations

import re
from typing import Final

_STEERING: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls but for tab and line end, marks of direction, ends of lines that only some know, halves, annotations, tags."""


def plain(text: str) -> str:
    r"""The text with everything that steers a terminal spelt as JSON spells it, `\u001b`; JSON text keeps its meaning.

    Tabs and ends of lines stay. Carriage returns go: with one a later word could cover an earlier one.
    """
    if text.isprintable():
        return text
    return _STEERING.sub(_spelt, text.replace("\r", ""))


def _spelt(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code - 0x10000 & 0x3FF):04x}"
