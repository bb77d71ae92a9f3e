"""The harmony format of gpt-oss: channels, recipients, and a body that ends with a token.

Source: https://cookbook.openai.com/articles/openai-harmony.
"""

from __future__ import annotations

import re

from toolhand.parsing.loose import LooseError
from toolhand.protocols.reading.asked import Asked, Candidate
from toolhand.protocols.reading.failures import Failure
from toolhand.protocols.reading.family import Family
from toolhand.protocols.reading.scan import Scan

_CLOSE = re.compile(r"\s*<\|(?:end|call|return)\|>")

_OPEN = re.compile(
    r"(?:<\|start\|>(?P<role>[^<\n]{0,80}))?(?:<\|channel\|>(?P<head>[^<\n]{0,120}))"
    r"(?:<\|constrain\|>[\w ]*)?(?:<\|message\|>|(?=[ ]*\{))"
)
_END = re.compile(r"<\|(?:end|call|return)\|>|(?=<\|start\|>|<\|channel\|>)")
_TO = re.compile(r"to=([^\s<]+)")


def read(scan: Scan, match: re.Match[str]) -> Candidate | None:
    """A message with a recipient is a call, on whatever channel; analysis is thinking; the rest is said to the user."""
    text = scan.text
    head = f"{match['role'] or ''} {match['head'] or ''}"
    recipient = _TO.search(head)
    body = match.end()
    if recipient and recipient[1] not in ("assistant", "user", "all"):
        return _call(scan, match.start(), body, recipient[1])
    end = _END.search(text, body)
    stop, after = (end.start(), end.end()) if end else (len(text), len(text))
    if "analysis" in head:
        scan.found.thoughts.append((match.start(), after))
    else:
        scan.found.noise.append((match.start(), body))
        scan.found.noise.append((stop, after))
    return Candidate(match.start(), max(after, body), "bare")


def _call(scan: Scan, start: int, body: int, name: str) -> Candidate:
    text = scan.text
    tool = scan.tools.lookup(name)
    try:
        loose = scan.read_value(body)
    except LooseError as problem:
        end = _END.search(text, body)
        stop = end.start() if end else len(text)
        raw = text[body:stop].strip()
        inner = scan.envelopes.with_text(name, tool, raw) if not raw.startswith("{") else None
        asked = inner or Asked(
            name, {}, problem=Failure(kind="named", reason=problem.reason, facts={"name": name})
        )
        return Candidate(start, end.end() if end else stop, "marked", [asked])
    asked = scan.envelopes.with_value(name, tool, loose.value) or Asked(name, {})
    asked.fixes = (*loose.fixes, *asked.fixes)
    if loose.open_path is not None:
        asked.state = "cut" if loose.is_cut or loose.open_path else "unclosed"
    end = _CLOSE.match(text, loose.end)
    return Candidate(start, end.end() if end else loose.end, "marked", [asked])


FAMILY = Family(name="harmony", first="<", opening=_OPEN, read=read, rank=5, holds=False)
