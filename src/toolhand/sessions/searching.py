"""Looking for words in what was said. Chinese is written without blanks, so each of its characters counts as a word."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

from toolhand.sessions.entries import Entry

_WIDE: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_WIDE}]|[^\W{_WIDE}_]+")
_RUN: Final = re.compile(rf"[{_WIDE}]+|[^\W{_WIDE}_]+")
_AROUND: Final = 60


def folded(text: str) -> str:
    """A text as it is compared: without case and the width of its characters."""
    return unicodedata.normalize("NFKC", text).casefold()


def words_of(entry: Entry) -> tuple[str, str]:
    """Who said what in an entry: a role, and the text of a user or a model; nothing for other entries."""
    if entry.kind != "message" or not entry.body.startswith(('{"role":"user"', '{"role":"assistant"')):
        return "", ""
    value = json.loads(entry.body)
    return value["role"], "\n".join(part["text"] for part in value["parts"] if part.get("text"))


def spaced(text: str) -> str:
    """A text as words with blanks between them, for an index that parts words at blanks."""
    return " ".join(_WORD.findall(folded(text)))


class Looking:
    """What is looked for: words that must all occur; characters of Chinese that stand together must stand together.

    Args:
        text: as a person types it.
    """

    def __init__(self, text: str) -> None:
        self.runs: list[str] = _RUN.findall(folded(text))

    def query(self) -> str:
        """For SQLite's FTS5: each run of words is a phrase; the last letter of an English word may be missing."""
        return " ".join(f'"{spaced(run)}"' + ("*" if run[-1].isascii() else "") for run in self.runs)

    def is_in(self, text: str) -> bool:
        """Whether all of it occurs in a text."""
        inside = folded(text)
        return bool(self.runs) and all(run in inside for run in self.runs)

    def excerpt(self, text: str) -> str:
        """The part of a text around the first of the words."""
        place = max(folded(text).find(self.runs[0]), 0) if self.runs else 0
        start, end = max(0, place - _AROUND), place + _AROUND
        head, tail = "…" if start else "", "…" if end < len(text) else ""
        return f"{head}{text[start:end]}{tail}".replace("\n", " ")
