"""Marks that a chat template or a protocol may read as its own, broken visibly where they stand in what a tool gave back."""

from __future__ import annotations

import re
from typing import Final

from toolhand.core.lazily import lazy_pattern

TEMPLATE_MARKS: Final = lazy_pattern(
    r"<[|｜][^|｜<>\s]{1,60}[|｜]>|\[/?INST\]|</?s>|<(?:start|end)_of_turn>|\[/?(?:TOOL_RESULTS|TOOL_CALLS|AVAILABLE_TOOLS)\]",
    re.IGNORECASE,
)
"""Control marks of the known families' chat templates."""

NATIVE_MARKS: Final = lazy_pattern(
    rf"{TEMPLATE_MARKS.pattern}|<\s*/?\s*(?:untrusted_)?tool_(?:response|result|output|call)s?\b",
    re.IGNORECASE,
)
"""These, and the elements that templates put around a result when a server makes a prompt's text of structured messages."""


def unforgeable(text: str, frame: re.Pattern[str]) -> str:
    """A text in which nothing can pass for the frame around it: what looks like it is broken visibly.

    Args:
        text: what a tool gave back, which may have been written by anybody.
        frame: what the frame looks like; its first character is set apart wherever it occurs.
    """
    return frame.sub(lambda found: f"{found[0][0]}\u00b7{found[0][1:]}", text)
