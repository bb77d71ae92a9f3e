"""Cuts texts where a reader would: at the end of a line, else of a sentence, else between words."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from toolhand.core.language import Language
from toolhand.policies.shrinking.words import WORDS

_SENTENCE_END: Final = re.compile(r"(?:[。！？!?；…]+[”’」』）)\"']*|\.[\"')]*(?=\s|$))\s*")
_WORD_END: Final = re.compile(r"[\s,，、;:：]+")
_JOINED: Final = ("\u200d", "\ufe0f", "\u20e3")
_ENCODED: Final = re.compile(r"(?:data:[\w/+.\-]+;base64,)?[A-Za-z0-9+/=_\-]{2000}")

MIDDLE_SHARE: Final = 0.65
"""How much of what is shown is the beginning; the rest is the end."""


def cut_before(text: str, at: int, least: int = 0) -> int:
    """The best place to end a piece of text, at most at `at` and more than `least`.

    Args:
        text: the text.
        at: the last place allowed, in characters.
        least: places up to this one are not looked at.
    """
    if at >= len(text):
        return len(text)
    line = text.rfind("\n", least, at)
    window = max(least, at - 2000)
    if line >= window or (line > least and line > at // 2):
        return line + 1
    for boundary in (_SENTENCE_END, _WORD_END):
        end = max((match.end() for match in boundary.finditer(text, window, at)), default=-1)
        if end > least:
            return end
    return _between_characters(text, at, least)


def cut_after(text: str, at: int) -> int:
    """The best place to begin a piece of text, not before `at`."""
    if at <= 0:
        return 0
    line = text.find("\n", at - 1, at + 2000)
    if line >= 0:
        return line + 1
    for boundary in (_SENTENCE_END, _WORD_END):
        match = boundary.search(text, at, at + 2000)
        if match and match.end() < len(text):
            return match.end()
    return at


def _between_characters(text: str, at: int, least: int) -> int:
    """A place that does not part a letter from its accents, or the pieces of one emoji."""
    for place in range(at, max(least, at - 16), -1):
        following, previous = text[place : place + 1], text[place - 1 : place]
        if not unicodedata.combining(following or " ") and following not in _JOINED and previous != "\u200d":
            return place
    return at


def is_encoded(text: str) -> bool:
    """Whether a text is base64 or the like, of which a piece tells a reader nothing."""
    return len(text) > 4000 and _ENCODED.match(text) is not None


def shortened(text: str, most: int, language: Language, more: str = "") -> tuple[str, int]:
    """The beginning and the end of a text with a mark between them, and how many characters of the beginning are shown.

    Args:
        text: the text.
        most: the most characters of what comes back.
        language: of the mark.
        more: a sentence in the mark that says how to read on; `{start}` in it becomes where the gap begins.
    """
    if len(text) <= most:
        return text, len(text)
    words = WORDS[language]
    if is_encoded(text):
        mark = words["content"].format(total=len(text))
        head = text[: min(40, max(0, most - len(mark) - 2))]
        return f"{head}… {mark}"[:most], len(head)
    gap = words["characters"].format(left_out=len(text), total=len(text))
    room = most - len(gap) - len(more) - 16
    if room < 40:
        end = cut_before(text, max(0, most - 1))
        return text[:end].rstrip()[: most - 1] + "…", end
    head_end = cut_before(text, int(room * MIDDLE_SHARE))
    tail_start = cut_after(text, len(text) - (room - head_end if head_end < room else 0))
    tail_start = max(tail_start, head_end)
    if len(text) - tail_start > room - head_end:
        tail_start = len(text) - (room - head_end)
    said = words["characters"].format(left_out=tail_start - head_end, total=len(text))
    mark = f"… {said}{'. ' if language == 'en' and more else '。' if more else ''}{more.replace('{start}', str(head_end))} …"
    return f"{text[:head_end].rstrip()}\n{mark}\n{text[tail_start:].lstrip()}", head_end
