"""What a server's refusal asks to be done otherwise, by its words: many reasoning models take no temperature. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.messages import Sampling

_NAMES: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(rf"(?<![a-z_]){spelling}(?![a-z_])", re.IGNORECASE)
    for name, spelling in {
        "temperature": "temperature",
        "top_p": "top_?p",
        "seed": "(?:random_)?seed",
    }.items()
}

_REFUSES: Final = re.compile(
    r"un(?:supported|known|recognized|expected)|(?:not|n't) (?:support|allow|permit|accept|work)|deprecated|only .{0,30}allowed|"
    r"invalid|extra (?:fields|inputs)|cannot|不支持|不允许|无效|只能",
    re.IGNORECASE,
)


def refused_setting(error: ModelError, sampling: Sampling) -> str | None:
    """The field of `Sampling` that a refusal is about; None where it is about something else, or nothing was set.

    Of two that do not go together the one is named that says less about what the user wants.

    Args:
        error: what the server answered.
        sampling: what was sent.
    """
    said = str(error)
    if error.fault is not ModelFault.REFUSED or not _REFUSES.search(said):
        return None
    named = [name for name, spelling in _NAMES.items() if spelling.search(said)]
    return next((name for name in reversed(named) if getattr(sampling, name) is not None), None)


_WANTED: Final = re.compile(
    r"(?:missing|must include).{0,20}reasoning_content|reasoning_content.{0,40}(?:missing|passed back|required)",
    re.IGNORECASE,
)


def wanted_back(error: ModelError) -> str:
    """The field of its own replies that a server misses in a history; "" where it misses none.

    DeepSeek's and Moonshot's models that think refuse a history in which a reply lacks its reasoning, an empty one included:
    https://api-docs.deepseek.com/guides/thinking_mode.

    Args:
        error: what the server answered.
    """
    is_wanted = error.fault is ModelFault.REFUSED and _WANTED.search(str(error).replace("`", ""))
    return "reasoning_content" if is_wanted else ""
