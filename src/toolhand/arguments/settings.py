"""What a caller decides about binding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from toolhand.core.language import Language

Clock: TypeAlias = Callable[[], datetime]

Extra: TypeAlias = Literal["drop", "refuse", "keep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BindSettings:
    """How a call is bound to its tool.

    Args:
        clock: gives the present as an aware datetime; its time zone is the user's. None means that words such as
            "tomorrow" are refused.
        extra: what happens to arguments that the tool does not declare: "drop" leaves them out and notes it, "refuse"
            makes an error, "keep" passes them on.
        language: the language of the errors' words.
        hidden: names of tools that the model is not shown: no error tells of them, and only the exact name means one.
    """

    clock: Clock | None = None
    extra: Extra = "drop"
    language: Language = "en"
    hidden: frozenset[str] = frozenset()


DEFAULT: Final = BindSettings()
