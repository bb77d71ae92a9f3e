"""From a model's text to logical lines: brackets and strings kept together, comments and numbers taken off, marks half-width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from toolhand.core.messages import Fix
from toolhand.parsing.costs import fix

_TOKEN: Final = re.compile(
    r"""(?P<string>"{3}(?:[^"\\]|\\.|"(?!""))*(?:"{3}|\Z)|'{3}(?:[^'\\]|\\.|'(?!''))*(?:'{3}|\Z)"""
    r"""|"(?:[^"\\\n]|\\.)*(?:"|(?=\n)|\Z)|'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z)|[“”][^“”"\n]*[“”"]?|「[^」\n]*」?|‘[^’\n]*’?)"""
    r"""|(?P<comment>\#[^\n]*|//[^\n]*)|(?P<newline>\n)|(?P<open>[(\[{（［｛【])|(?P<close>[)\]}）］｝】])"""
    r"""|(?P<arrow>->|→|➜|—>)|(?P<other>[^"'“”「‘#/\n()\[\]{}（）［］｛｝【】\-→➜—]+|.)""",
    re.DOTALL,
)
_HALF: Final = str.maketrans(
    "（）［］｛｝【】，、；：＝＜＞！＋．＄　“”「」‘’", '()[]{}[],,;:=<>!+.$ """"\'\''
)
_MARK: Final = re.compile(
    r"(?:(?:\d{1,2}(?:\.\d{1,2})*[.)、:]|[-*•](?=\s)|步骤\s*\d{1,2}\s*[:.]?|step\s*\d{1,2}\s*[:.]?)\s*)+",
    re.IGNORECASE,
)
MOST_RESTARTS: Final = 10
_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}


@dataclass(slots=True)
class Line:
    """One statement's text.

    Args:
        number: the line that it begins in, from 1.
        indent: how many columns stand before it.
        text: it, with half-width marks.
        raw: the line as it was written, for messages.
        start: how many characters of `raw` stand before `text`.
        fixes: the liberties taken here.
    """

    number: int
    indent: int = 0
    text: str = ""
    raw: str = ""
    start: int = 0
    fixes: list[Fix] = field(default_factory=list)


def logical_lines(source: str) -> Iterator[Line]:
    """The statements of a plan, in one walk over its text."""
    source = source.replace("\r\n", "\n").replace("\t", "    ")
    raw = source.split("\n")
    pieces: list[str] = []
    open_marks: list[str] = []
    fixes: dict[str, Fix] = {}
    number = at = 1
    pos = begun = restarts = 0
    while pos <= len(source):
        match = _TOKEN.match(source, pos)
        if (match is None or match["arrow"]) and open_marks and at > number and restarts < MOST_RESTARTS:
            # A bracket that nothing closes: it costs its own line and not all that follow.
            restarts, at = restarts + 1, number
            pos = source.index("\n", begun)
            pieces, open_marks = [source[begun:pos]], []
            continue
        if match is None or (match["newline"] and not open_marks):
            if line := _line(number, "".join(pieces), raw[number - 1], fixes):
                yield line
            number, pieces, fixes, open_marks = at + 1, [], {}, []
            begun = pos + 1
        if match is None:
            return
        token, pos = match[0], match.end()
        if (
            match["string"]
            and open_marks
            and source[pos : pos + 1] == "\n"
            and (stop := source.find(token[0], pos)) >= 0
        ):
            fixes.setdefault("raw_newline", fix("raw_newline"))
            at += source.count("\n", pos, stop)
            token, pos = token + source[pos : stop + 1].replace("\n", "\\n"), stop + 1
        at += token.count("\n")
        if match["comment"]:
            fixes.setdefault("comment", fix("comment"))
        elif match["newline"]:
            pieces.append(" " if open_marks else "")
        elif match["string"]:
            pieces.append(_string(token, fixes))
        else:
            pieces.append(_mark(match, token, open_marks, fixes))


def _string(token: str, fixes: dict[str, Fix]) -> str:
    if token[0] not in "“”「‘":
        return token
    inner = token[1:-1] if token[-1] in '“”"」’' and len(token) > 1 else token[1:]
    fixes.setdefault("typographic_quotes", fix("typographic_quotes", before=token[0], after='"'))
    return '"' + inner.replace('"', "'") + ('"' if len(inner) < len(token) - 1 else "")


def _mark(match: re.Match[str], token: str, open_marks: list[str], fixes: dict[str, Fix]) -> str:
    half = token.translate(_HALF)
    if half != token and token.strip("　"):
        fixes.setdefault("full_width_punctuation", fix("full_width_punctuation", before=token, after=half))
    if match["open"]:
        open_marks.append(half)
    elif match["close"] and open_marks:
        open_marks.pop()
    elif match["arrow"] and open_marks:  # there is no arrow inside brackets: they should have been closed
        half = "".join(_CLOSERS[mark] for mark in reversed(open_marks)) + half
        open_marks.clear()
        fixes.setdefault("missing_closer", fix("missing_closer"))
    return half


def _line(number: int, text: str, raw: str, fixes: dict[str, Fix]) -> Line | None:
    """The line without blanks, its number, a list's mark and a full stop; None where nothing is left."""
    bare = text.lstrip()
    indent = len(text) - len(bare)
    mark = _MARK.match(bare)
    if mark:
        fixes["numbered_line"] = fix("numbered_line", before=mark[0].strip())
        bare = bare[mark.end() :]
    said = bare.strip().strip("`").rstrip("。;").strip()
    if not said:
        return None
    start = raw.find(said[:6])
    return Line(number, indent, said, raw.rstrip(), max(start, 0), list(fixes.values()))
