"""The event of a choice among many tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsChosen:
    """The model is shown further tools from now on.

    Args:
        reason: "message" (the user's words), "search" (the model looked for them) or "call" (it called one unseen).
        names: those that are new, best first.
        shown: how many it is shown now, of those that are chosen among.
        among: how many these are.
        seconds: how long the choice took.
        is_new: whether the list began anew, because it had grown too long or there was none.
        fault: why the vectors were not counted, where they should have been.
    """

    reason: Literal["message", "search", "call"]
    names: tuple[str, ...]
    shown: int
    among: int
    seconds: float = 0.0
    is_new: bool = False
    fault: str = ""
