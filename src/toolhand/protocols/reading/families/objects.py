"""Bare JSON: `{"tool": …}`, lists of it, wire envelopes, `functools[…]`, alone or in a fence."""

from __future__ import annotations

import re

from toolhand.parsing.loose import Loose
from toolhand.protocols.reading.asked import Asked, Candidate
from toolhand.protocols.reading.body import name_before
from toolhand.protocols.reading.family import Family
from toolhand.protocols.reading.scan import Scan

_STRAY = re.compile(r"[ \t]*[}\]]+[ \t]*(?=$|\n|;|<)")
_COMMENT = re.compile(r"[ \t]*(?://|#)[^\n]*(?=\n|$)")

_KNOWN_WORD = re.compile(
    r"(?:^|(?<=[\s>|]))(?:functools|tool_calls?|function_calls?)\s*[:=]?\s*$", re.IGNORECASE
)


def read(scan: Scan, match: re.Match[str]) -> Candidate | None:
    """Reads the value; data gives an empty candidate that is passed over, text that is no value gives None."""
    start = match.start()
    loose = scan.value_at(start)
    if loose is None:
        return _unreadable(scan, start)
    found = scan.envelopes.calls(loose) if isinstance(loose.value, dict | list) else None
    if found is None:
        return _data(scan, start, loose)
    asked, answer = found
    word = _KNOWN_WORD.search(scan.text, max(0, start - 20), start)
    begin = word.start() if word else start
    introduction = "marked" if word else "bare"
    return Candidate(begin, _with_stray_brackets(scan.text, loose), introduction, asked, answer)  # type: ignore[arg-type]


def _with_stray_brackets(text: str, loose: Loose) -> int:
    """Past closing brackets too many, which belong to nothing."""
    match = _STRAY.match(text, loose.end)
    end = match.end() if match else loose.end
    comment = _COMMENT.match(text, end)
    return comment.end() if comment else end


def _data(scan: Scan, start: int, loose: Loose) -> Candidate | None:
    name = name_before(scan.text, start) if not loose.is_complete else ""
    if name and (scan.tools.lookup(name) is not None or loose.is_cut):
        return Candidate(start, loose.end, "bare", [Asked(name, {}, loose.fixes, "cut")])
    return Candidate(start, loose.end, "bare") if loose.is_complete else None


def _unreadable(scan: Scan, start: int) -> Candidate | None:
    """An object that is no JSON, though it names a tool and has arguments."""
    if scan.failed is None or scan.failed_at != start:
        return None
    name = name_before(scan.text, start)
    if not name or scan.tools.lookup(name) is None or not scan.failed.path:
        return None
    end = scan.text.find("\n", scan.failed.position)
    problem = scan.failure_at(start)
    return Candidate(start, end if end > 0 else len(scan.text), "bare", [Asked(name, {}, problem=problem)])


FAMILY = Family(
    name="objects",
    first="{｛[［",
    opening=re.compile(
        r"[{｛](?=\s*(?:\\?[\"'“‘「『`＂]|[\w\-.]{1,40}\s*(?:=>|[:：=＝])|//|#|/\*|[}｝]))|[\[［](?=\s*[{｛])"
    ),
    read=read,
    rank=40,
    holds=False,
)
