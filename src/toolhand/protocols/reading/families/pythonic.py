"""A list of calls in Python's syntax: `[get_weather(city="Oslo"), list_ports()]`. Llama 4, LFM, ToolACE."""

from __future__ import annotations

import re

from toolhand.protocols.reading.asked import Candidate
from toolhand.protocols.reading.body import Body, python_list
from toolhand.protocols.reading.family import Family
from toolhand.protocols.reading.scan import Scan


def read(scan: Scan, match: re.Match[str]) -> Candidate | None:
    """Reads the list; None unless every name in it could be a tool's and the first one is, or it is the whole text."""
    body = Body(match.end())
    end = python_list(scan, match.end(), body)
    if not body.asked:
        return None
    known = [scan.tools.lookup(asked.name) is not None for asked in body.asked]
    if not any(known) and scan.text[: match.start()].strip():
        return None
    return Candidate(match.start(), end, "bare", body.asked)


FAMILY = Family(
    name="pythonic",
    first="[［",
    opening=re.compile(r"[\[［]\s*(?=[^\W\d][\w.\-]*\s*[(（])"),
    read=read,
    rank=30,
    holds=False,
)
