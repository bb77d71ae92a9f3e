"""A call as YAML lines, `name: …` and `arguments:`, in a fence or alone."""

from __future__ import annotations

import re

from toolhand.parsing.simple_yaml import YamlError, read_yaml
from toolhand.protocols.reading.asked import Candidate
from toolhand.protocols.reading.family import Family
from toolhand.protocols.reading.scan import Scan

_OPEN = re.compile(
    r"(?:- )?(?:name|tool|tool_name|function|function_name|action|tool_call|tool_calls|function_call)[ ]*:(?=[ \n])",
    re.IGNORECASE,
)
_LINE = re.compile(
    r"(?:[ \t]+\S[^\n]*|(?:- )?[\"']?[^\W\d][\w \-]{0,40}[\"']?[ ]*:(?:[ ][^\n]*)?|- [^\n]*|[ \t]*(?:#[^\n]*)?)(?:\n|$)"
)


def read(scan: Scan, match: re.Match[str]) -> Candidate | None:
    """Reads the lines that belong together; None when they are not a call of a known tool."""
    text = scan.text
    pos = match.start()
    if pos < scan.lines_tried_to:
        return None
    end = pos
    while pos < len(text):
        line = _LINE.match(text, pos)
        if not line or line.end() == pos:
            break
        pos = line.end()
        if line[0].strip():
            end = pos
        elif pos < len(text) and text[pos] not in " \t" and not _LINE.match(text, pos):
            break
    scan.lines_tried_to = end
    try:
        value = read_yaml(text[match.start() : end])
    except YamlError:
        return None
    asked = scan.envelopes.calls_in(value)
    if not asked or not any(scan.tools.lookup(call.name) for call in asked):
        return None
    return Candidate(match.start(), end, "bare", asked)


FAMILY = Family(name="yaml_document", first="\n", opening=_OPEN, read=read, rank=70, holds=False)
