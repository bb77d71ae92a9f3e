"""The command line's words in both languages."""

from __future__ import annotations

from toolhand.core.language import language_of_person


def say(english: str, chinese: str) -> str:
    """The sentence in the person's language (`TOOLHAND_LANG`, else the locale)."""
    return chinese if language_of_person() == "zh" else english
