"""Calls behind a tag or a special token, of whatever vendor.

Hermes and Qwen, Mistral, Llama, DeepSeek and DSML, GLM, Kimi,
Granite, InternLM, MiniMax, Step, Seed, Cohere, Jamba, Gemma, LFM, function-calls XML, and what models make up.
"""

from __future__ import annotations

import re

from toolhand.protocols.reading.asked import Candidate
from toolhand.protocols.reading.body import read_body
from toolhand.protocols.reading.family import Family
from toolhand.protocols.reading.markers import marker_at
from toolhand.protocols.reading.scan import Scan

_NEXT_TAG = re.compile(r"[<\[](?=[|｜/A-Za-z])")


def read(scan: Scan, match: re.Match[str]) -> Candidate | None:
    """Reads on from an opening marker, or from a function or element that names a tool."""
    if scan.is_spent:
        return None
    start = match.start()
    found = marker_at(scan.text, start)
    if found is None:
        return None
    marker, end = found
    if marker.kind == "element" and scan.tools.lookup(marker.name) is None:
        return None
    if marker.kind not in ("open", "function", "element"):
        return None
    body = read_body(scan, start)
    if not body.is_readable:
        body.end = max(body.end, end, _closing(scan.text, max(body.end, end)))
    candidate = Candidate(start, max(body.end, end), "marked", body.asked, body.answer)
    candidate.is_weak = marker.kind == "element" or (
        not marker.is_token and marker.tag in ("tool", "tools", "action", "function", "call")
    )
    if not body.is_readable and candidate.is_weak:
        return None
    candidate.is_closed = body.is_closed
    return candidate


def _closing(text: str, position: int) -> int:
    """Where the marker ends that closes what could not be read, or 0."""
    for match in _NEXT_TAG.finditer(text, position, position + 2000):
        found = marker_at(text, match.start())
        if found and found[0].kind == "close":
            return found[1]
        if found and found[0].kind in ("open", "function", "think"):
            break
    return 0


FAMILY = Family(
    name="tagged", first="<[", opening=re.compile(r"<[|｜/]?\w|\[[A-Z]"), read=read, rank=20, holds=False
)
