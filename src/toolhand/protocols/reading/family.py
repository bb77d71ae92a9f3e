"""What a family of call spellings is. Each is one file in `families/`, found by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolhand.protocols.reading.asked import Candidate
    from toolhand.protocols.reading.scan import Scan


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A way of writing calls down.

    Args:
        name: its file's name.
        first: the characters that it may begin with; a line break stands for "at the beginning of a line".
        opening: what must stand at that place for `read` to be asked.
        read: reads the candidate that begins at the match, or None when there is none.
        rank: the lower is asked first where two families begin alike.
    """

    name: str
    first: str
    opening: re.Pattern[str]
    read: Callable[[Scan, re.Match[str]], Candidate | None]
    rank: int = 50
