"""A line that names the recipient, its arguments behind it.

`>>>name` of Functionary, `call:name{…}` of Gemma, `to=functions.name` of a harmony header that lost its tokens.
"""

from __future__ import annotations

import re

from toolhand.parsing.loose import LooseError
from toolhand.protocols.reading.asked import Asked, Candidate
from toolhand.protocols.reading.body import read_body
from toolhand.protocols.reading.family import Family
from toolhand.protocols.reading.scan import Scan

_OPEN = re.compile(
    r"(?:>>>|(?:<\|[\w ]+\|>)?(?:assistant|commentary|analysis|code|json| )*\bto=(?:functions\.)"
    r"|functions\.(?=\w+:\d+\s*\{)|call:)"
    r"[ \t]*(?P<name>[^\W\d][\w.\-]*)(?::\d+)?"
    r"(?:[ \t]*(?:<\|[\w]+\|>|code|json|commentary)){0,4}[ \t]*\n?(?=[ \t]*[{｛])"
)


def read(scan: Scan, match: re.Match[str]) -> Candidate | None:
    """Reads the object behind the name, and further ones of the same kind."""
    name = match["name"]
    text = scan.text
    if name == "all":
        return None
    try:
        loose = scan.read_value(match.end())
    except LooseError:
        return None
    asked = scan.envelopes.with_value(name, scan.tools.lookup(name), loose.value) or Asked(name, {})
    asked.fixes = (*loose.fixes, *asked.fixes)
    if loose.open_path is not None:
        asked.state = "cut" if loose.is_cut or loose.open_path else "unclosed"
    closing = read_body(scan, loose.end) if text[loose.end : loose.end + 1] == "<" else None
    end = closing.end if closing is not None and not closing.asked else loose.end
    return Candidate(match.start(), end, "label", [asked])


FAMILY = Family(name="recipient", first="\n", opening=_OPEN, read=read, rank=45, holds=False)
