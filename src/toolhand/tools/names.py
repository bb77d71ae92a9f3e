"""Names that every provider takes, and back.

The rule is what OpenAI, Anthropic and Gemini have in common: letters, digits, underscore, hyphen, a letter or an underscore
first, at most 64.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from toolhand.core.tools import Tool

_VALID: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_INVALID_RUN: Final = re.compile(r"[^a-zA-Z0-9_-]+")


@lru_cache(maxsize=4096)
def wire_name(name: str) -> str:
    """A name that every provider takes: the tool's own where it can be, else a readable, stable, collision-free form.

    It depends on the name alone, so it is the same in every process, history, provider and set of tools.
    """
    if _VALID.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = _INVALID_RUN.sub("_", name).strip("_-")[:48] or "tool"
    return f"{readable}_{digest}" if readable[0].isalpha() else f"tool_{readable}_{digest}"


def own_name(name: str, tools: Iterable[Tool]) -> str:
    """The tool's own name behind one from the wire; the name itself where no tool has it."""
    return next((tool.name for tool in tools if wire_name(tool.name) == name), name)
