"""What stands in the place of something masked. A mask holds nothing that would be masked again."""

from __future__ import annotations

import re
from typing import Final, get_args

from toolhand.core.tools import Kind

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""Every kind that is masked by default; the words that `Rules.reveals` takes."""

DECLARED: Final = "[masked]"
"""In the place of a whole value whose name was declared sensitive."""

SECRET: Final = "[masked:secret]"  # noqa: S105 - the mask, not a secret

MASKED: Final = re.compile(r"\[masked(?::[^\]\s]*)?\]")


UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]"
)
"""Characters without a width: they part a word for a program and not for a person."""


def mask(kind: str, shown: str = "") -> str:
    """A mask that says what it hides.

    Args:
        kind: what was there, such as "phone".
        shown: the part that may stay, at most its last four characters or its domain.
    """
    return f"[masked:{kind}:{shown}]" if shown else f"[masked:{kind}]"
