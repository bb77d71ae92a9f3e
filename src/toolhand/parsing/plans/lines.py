"""From a model's text to logical lines: brackets and strings kept together, comments and numbers taken off, marks half-width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from toolhand.core.messages import Fix
from toolhand.parsing.costs import fix
from toolhand.parsing.plans.remarks import plain

_PIECE: Final = (
    r"""(?P<string>"{3}(?:[^"\\]|\\.|"(?!""))*(?:"{3}|\Z)|'{3}(?:[^'\\]|\\.|'(?!''))*(?:'{3}|\Z)"""
    r"""|"(?:[^"\\\n]|\\.)*(?:"|(?=\n)|\Z)|'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z)|[“”][^“”"\n]*[“”"]?|「[^」\n]*」?|‘[^’\n]*’?%s)"""
    r"""|(?P<comment>(?<![Ss]tep )(?<![Tt]ask )\#[^\n]*|//[^\n]*)"""
    r"""|(?P<newline>\n)|(?P<open>[(\[{（［｛【])|(?P<close>[)\]}）］｝】])"""
    r"""|(?P<arrow>->|→|➜|⟶|—>)|(?P<other>[^"'“”「‘#/\n()\[\]{}（）［］｛｝【】\-→➜⟶—%s]+|.)"""
)
_OUTSIDE: Final = re.compile(_PIECE % ("", ""), re.DOTALL)
_WITHIN: Final = re.compile(_PIECE % (r"|`[^`]*`", "`"), re.DOTALL)
"""Where a value may stand, also with the text marks of JavaScript; elsewhere those mark code."""
_VALUE_NEXT: Final = re.compile(r"(?:return|返回|[=:+])[ \t]*$", re.IGNORECASE)
_GOES_ON: Final = re.compile(
    r"(?:[=<>!+,:]|\b(?:if|when|elif|elsif|in|of|is|contains|and|or|not)|如果|若|包含|在)\s*$", re.IGNORECASE
)
"""Behind this a brace begins an object."""
_ELSE_NEXT: Final = re.compile(r"[\s;]*(?:else|elif|elsif|否则)", re.IGNORECASE)
_HALF: Final = str.maketrans(
    "（）［］｛｝【】，、；：＝＜＞！＋－．＄　“”「」‘’", '()[]{}[],,;:=<>!+-.$ """"\'\''
)
_COUNT: Final = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
MARK: Final = (
    r"(?:(?:\*\*|__)?(?:\d{1,2}(?:\.\d{1,2})*[.)、：:,](?!\d)|\d{1,2}(?:\.\d{1,2})+(?=[ \t])|[①-⑳]"
    r"|[(（]\d{1,2}[)）](?=\s*[^\W\d])|(?:[a-h]|[ivxIVX]{1,4})[.)](?=\s)|[+→](?=\s)|(?:[-—]{1,2}|=)>(?=\s)"
    r"|(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|after that|afterwards|finally|lastly)\b[ \t]*[,，:：]?(?=[ \t])"
    r"|\d\ufe0f?\u20e3|\d{1,2}[ \t]*\|(?=\s)|(?:plan|计划)[ \t]*[:：]"
    r"|(?:首先|其次|然后|接着|随后|之后|最后)[,，:：]?"
    rf"|[-*•](?=\s)(?:[ \t]+\[[ xX]?\])?|(?:步骤|step|task|任务)[ \t]*#?{_COUNT}[ \t]*[:：.、,]?|第{_COUNT}步[ \t]*[:：、，,]?)"
    r"(?:\*\*|__)?[:：]?[ \t]*)"
)
"""What stands before a step in a list: its number, in figures or in words, or a bullet; bold or not."""

_MARKS: Final = re.compile(MARK + "+", re.IGNORECASE)
_HEAD: Final = re.compile(
    rf"\s*{MARK}*(?:(?:if|when|unless|elif|elsif|else|for|foreach|parallel)(?![A-Za-z_])|如果|除非|若|否则|对|遍历|并行|同时)",
    re.IGNORECASE,
)
_STOP: Final = re.compile(r"(?<=[\w)\]}\"'])\.$")
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
    return _Walk(source.replace("\r\n", "\n").replace("\t", "    ")).lines()


class _Walk:
    """One walk over a text: what it has of a line so far, and what is open."""

    def __init__(self, source: str) -> None:
        self.source, self.raw = source, source.split("\n")
        self.number = self.at = 1
        self.pos = self.begun = self.restarts = 0
        self.pieces: list[str] = []
        self.open_marks: list[str] = []
        self.fixes: dict[str, Fix] = {}
        self.blocks: list[int] = []  # how far the heads are indented whose blocks stand in braces

    def lines(self) -> Iterator[Line]:
        while self.pos <= len(self.source):
            match = self._token()
            if (match is None or match["arrow"]) and self._restarts():
                continue
            if match is None or (match["newline"] and not self.open_marks):
                yield from self._taken(self.at + 1, self.pos + 1)
                self.open_marks = []
            if match is None:
                return
            token = self._read(match)
            if match["comment"]:
                self.fixes.setdefault("comment", fix("comment"))
            elif match["newline"]:
                self.pieces.append(" " if self.open_marks else "")
            elif match["string"]:
                self.pieces.append(_string(token, self.fixes))
            elif not self.open_marks and (found := self._brace(token)) is not None:
                yield from found
            else:
                self.pieces.append(_mark(match, token, self.open_marks, self.fixes))

    def _token(self) -> re.Match[str] | None:
        is_value = self.open_marks or (self.pieces and _VALUE_NEXT.search(self.pieces[-1][-20:]))
        return (_WITHIN if is_value else _OUTSIDE).match(self.source, self.pos)

    def _read(self, match: re.Match[str]) -> str:
        """The token's text; of a string that goes over lines inside brackets the whole of it."""
        token, self.pos = match[0], match.end()
        if match["string"] and self.open_marks and self.source[self.pos : self.pos + 1] == "\n":
            stop = self.source.find(token[0], self.pos)
            if stop >= 0:
                self.fixes.setdefault("raw_newline", fix("raw_newline"))
                self.at += self.source.count("\n", self.pos, stop)
                token += self.source[self.pos : stop + 1].replace("\n", "\\n")
                self.pos = stop + 1
        self.at += token.count("\n")
        return token

    def _restarts(self) -> bool:
        """Goes back where a bracket is never closed: it costs its own line and not all that follow."""
        if not self.open_marks or self.at <= self.number or self.restarts >= MOST_RESTARTS:
            return False
        self.restarts, self.at = self.restarts + 1, self.number
        self.pos = self.source.index("\n", self.begun)
        self.pieces, self.open_marks = [self.source[self.begun : self.pos]], []
        return True

    def _taken(self, number: int, begun: int) -> Iterator[Line]:
        """The line that has ended; the next begins there."""
        line = _line(self.number, "".join(self.pieces), self.raw[self.number - 1], self.fixes)
        if line is not None:
            if self.blocks:  # the braces say what belongs to them, however it is indented
                line.indent = max(line.indent, self.blocks[-1] + 1)
            yield line
        self.number, self.begun, self.pieces, self.fixes = number, begun, [], {}

    def _brace(self, token: str) -> list[Line] | None:
        """The lines that a block's brace ends; None for what is none."""
        half = token.translate(_HALF)
        if half == "}" and self.blocks:
            found = list(self._taken(self.at, self.pos))
            indent = self.blocks.pop()
            if not _ELSE_NEXT.match(self.source, self.pos):
                found.append(Line(self.at, indent, "end", self.raw[self.at - 1].rstrip()))
            self.pieces = [" " * indent]
            return found
        if (
            half != "{"
            or not _HEAD.match("".join(self.pieces[:12]))
            or _GOES_ON.search("".join(self.pieces[-4:]))
        ):
            return None
        self.fixes.setdefault("braces_for_block", fix("braces_for_block"))
        self.pieces.append(":")
        found = list(self._taken(self.at, self.pos))
        self.blocks.append(found[0].indent)
        return found


def _string(token: str, fixes: dict[str, Fix]) -> str:
    if token[0] == "`":
        fixes.setdefault("other_quotes", fix("other_quotes", before="`", after='"'))
        return '"' + token[1:-1].replace('"', '\\"').replace("\n", "\\n") + '"'
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
    mark = _MARKS.match(bare)
    if mark:
        fixes["numbered_line"] = fix("numbered_line", before=mark[0].strip())
        bare = bare[mark.end() :]
    said = plain(_STOP.sub("", bare.strip().strip("`").rstrip("。;").strip()), fixes)
    if not said:
        return None
    start = raw.find(said[:6])
    return Line(number, indent, said, raw.rstrip(), max(start, 0), list(fixes.values()))
