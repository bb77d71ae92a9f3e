"""Which of the two languages a text is in, or a person has chosen."""

from __future__ import annotations

import os
import re
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["en", "zh"]

_CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")


def chosen_language() -> Language | None:
    """What `TOOLHAND_LANG` says, or None when it says nothing."""
    value = os.environ.get("TOOLHAND_LANG", "").lower()
    return "zh" if value.startswith("zh") else "en" if value else None


def language_of(text: str) -> Language:
    """The chosen language, or else that of the text: Chinese if it holds a Chinese character."""
    chosen = chosen_language() if "TOOLHAND_LANG" in os.environ else None
    return chosen or ("zh" if _CHINESE.search(text) else "en")


def language_of_person() -> Language:
    """The language for a person at the command line: chosen, or else that of the locale."""
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return chosen_language() or ("zh" if locale.lower().startswith("zh") else "en")


def say(english: str, chinese: str) -> str:
    """The sentence for a person, in their language."""
    return chinese if language_of_person() == "zh" else english
