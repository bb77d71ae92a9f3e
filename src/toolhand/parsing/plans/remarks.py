"""What models put around a statement that is none of it: a remark behind it, tags, bold, a type, an answer without quotes."""

from __future__ import annotations

import re
from typing import Final

from toolhand.core.messages import Fix
from toolhand.parsing.costs import fix

# Words that make a remark a condition: it is left where it stands, and the line is refused.
_HANGS: Final = re.compile(
    r"\b(?:if|when|unless|only|until|otherwise|else|or|optional\w*|instead|except|not|never|example|confirm\w*|depend\w*)\b"
    r"|如果|若|当|除非|只有|仅|否则|确认|等|视|取决|或|可选|不|别|例|[?？]",
    re.IGNORECASE,
)
_REMARK: Final = re.compile(
    r"(?P<step>.*(?:[)\"']|(?:[-—]{1,3}>|→|➜|⟶|=>|⇒)[ \t]*\$?[^\W\d]\w*))"
    r"(?:[ \t]*\((?P<bracketed>[^()\"'$={}]*)\)|[ \t]+(?:--|—|——|–)[ \t]+(?P<dashed>[^()\"'$={}]+)"
    r"|[ \t]*:[ \t]+(?P<told>[^()\"'$={}]+))"
)
_WORDY: Final = re.compile(r"[^\W\d]{2,}[ \t]+[^\W\d]|[\u4e00-\u9fff]{2}")
_CALLED: Final = re.compile(r"[^\W\d][\w.\-]*[ \t]*\(")
_TAGS: Final = re.compile(
    r"<(?P<tag>step|action|call|tool|line|li|item)(?:\s[^<>\n]*)?>[ \t]*(?P<held>.*?)[ \t]*</(?P=tag)>",
    re.IGNORECASE,
)
_BOLD: Final = re.compile(r"(?P<mark>\*\*|__|`)(?P<name>[^\W\d][\w.\-]*)(?P=mark)(?=[ \t]*\()")
_TYPED: Final = re.compile(
    r"(?P<name>\$?[^\W\d]\w*)[ \t]*:[ \t]*[^\W\d][\w.\[\], |]{0,40}?[ \t]*(?=:?=(?!=))"
)
_ANSWER: Final = re.compile(r"(?:return\b|返回)[ \t]*[:：]?[ \t]*(?P<said>.+)", re.IGNORECASE)
_PART: Final = re.compile(r"\{?\{\$?[^\W\d][^{}\n]*\}\}?|\$\{?[^\W\d][\w.\[\]]*\}?")
_FORMULA: Final = re.compile(r"[+*/<>=&|^\"'`()\[\]]|\s-\s|\b(?:if|else|for|not|and|or)\b", re.IGNORECASE)


def plain(said: str, fixes: dict[str, Fix]) -> str:
    """A line without what is none of the statement.

    Args:
        said: the line, with half-width marks.
        fixes: takes what was mended.
    """
    if tagged := _TAGS.fullmatch(said):
        said = tagged["held"]
        fixes["stray_marker"] = fix("stray_marker", before=f"<{tagged['tag']}>")
    if said.startswith("**") and said.endswith("**"):
        said = said.strip("*").strip()
        fixes["stray_marker"] = fix("stray_marker", before="**")
    if bold := _BOLD.match(said):
        said = bold["name"] + said[bold.end() :]
        fixes["stray_marker"] = fix("stray_marker", before=bold["mark"])
    if (typed := _TYPED.match(said)) and _CALLED.search(said, typed.end()):
        fixes["idle_remark"] = fix("idle_remark", before=said[typed.end("name") : typed.end()].strip())
        said = f"{typed['name']} {said[typed.end() :]}"
    return _without_remark(said, fixes)


def _without_remark(said: str, fixes: dict[str, Fix]) -> str:
    found = _REMARK.fullmatch(said)
    if found is None or _CALLED.match(said) is None:
        return said
    remark = found["bracketed"] or found["dashed"] or found["told"] or ""
    if not (found["dashed"] or _WORDY.search(remark)) or _HANGS.search(remark):
        return said
    fixes["idle_remark"] = fix("idle_remark", before=remark.strip())
    return found["step"]


def has_unquoted_answer(said: str) -> bool:
    """Whether an answer is words without quotes around them, with at least one result among them, and no formula."""
    found = _ANSWER.fullmatch(said.strip())
    if found is None or not _PART.search(found["said"]):
        return False
    around = _PART.sub(" ", found["said"])
    return bool(re.search(r"[^\W\d]{2}", around)) and not _FORMULA.search(around)


def quoted_answer(said: str) -> str:
    """Such an answer, with its quotes."""
    found = _ANSWER.fullmatch(said.strip())
    assert found is not None  # noqa: S101 - asked before
    return f'return "{found["said"]}"'
