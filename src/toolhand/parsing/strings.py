"""Quoted text as models write it: which mark closes which, which escapes mean what, where a string really ends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

# The longest spelling of an opening mark comes first.
QUOTES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        '"""': ('"""', "triple_quotes"),
        "'''": ("'''", "triple_quotes"),
        '<|"|>': ('<|"|>', "marked_quotes"),
        "<escape>": ("<escape>", "marked_quotes"),
        '\\"': ('\\"', "escaped_quotes"),
        '"': ('"', ""),
        "'": ("'", "single_quotes"),
        "`": ("`", "typographic_quotes"),
        "“": ("”", "typographic_quotes"),
        "”": ("”", "typographic_quotes"),
        "‘": ("’", "typographic_quotes"),
        "’": ("’", "typographic_quotes"),
        "「": ("」", "typographic_quotes"),
        "『": ("』", "typographic_quotes"),
        "＂": ("＂", "typographic_quotes"),
        "＇": ("＇", "typographic_quotes"),
    }
)
OPENING = re.compile("|".join(re.escape(mark) for mark in QUOTES))
TYPOGRAPHIC = "“”‘’「」『』＂＇"

_SIMPLE = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "/": "/",
    "\\": "\\",
    '"': '"',
    "'": "'",
    "\n": "",
}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_INVALID = re.compile(r"\\(?!u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[ntrbf/\\\"'\n])")
_DRIVE = re.compile(r"^(?:[A-Za-z]:\\|\\\\\w)")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE = re.compile("[\ud800-\udfff]")


def unescape(raw: str) -> tuple[str, str]:
    """The text that a string's raw contents stand for, and the kind of liberty that was taken ("" for none).

    A backslash before a letter that is no escape is kept; in what is plainly a Windows path with such a letter,
    every single backslash is kept.
    """
    if "\\" not in raw:
        return raw, ""
    liberty = ""
    if _INVALID.search(raw):
        liberty = "literal_backslash"
        if _DRIVE.match(raw) and "\\\\" not in raw[2:]:
            return raw, liberty
    return mend_surrogates(_ESCAPE.sub(_decoded, raw)), liberty


def _decoded(match: re.Match[str]) -> str:
    body = match[1]
    if len(body) > 1:
        return chr(int(body[1:], 16))
    return _SIMPLE.get(body, match[0])


def mend_surrogates(text: str) -> str:
    """Joins surrogate pairs to one character; a lone half becomes U+FFFD, so that every string can be encoded."""
    if text.isascii() or not _LONE.search(text):
        return text
    joined = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return _LONE.sub("\ufffd", joined)
