"""What a family of call spellings is. Each is one file in `families/`, found by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolhand.protocols.reading.asked import Candidate
    from toolhand.protocols.reading.scan import Scan

OPENING: Final = 64
"""So many characters are waited for, from the first on, to see whether they are an opening that holds text back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A way of writing calls down.

    Args:
        name: its file's name.
        first: the characters that it may begin with, but for a backtick; a line break stands for "at the beginning of a line".
        opening: what must stand at that place for `read` to be asked. It looks at nothing before that place.
        read: reads the candidate that begins at the match, or None when there is none.
        rank: the lower is asked first where two families begin alike.
        holds: whether text that streams in is held back where `opening` matches within `OPENING` characters. False where prose
            may begin so too; then `gate.py` or `lines.py` tells the two apart.
    """

    name: str
    first: str
    opening: re.Pattern[str]
    read: Callable[[Scan, re.Match[str]], Candidate | None]
    rank: int = 50
    holds: bool = True
