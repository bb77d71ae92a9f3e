"""The words that a text is found by: Chinese in pairs of characters and single ones, everything else as words.

Pairs find what a dictionary's words do not, such as new names, and need no dictionary: `docs/adr/0016-document-search.md`.
English stems are the index's own.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_RUN: Final = re.compile(
    r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]+|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_CHINESE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_MOST_ASKED: Final = 60
_IDLE: Final = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "i", "in", "is", "it", "its",
    "me", "my", "of", "on", "or", "our", "please", "tell", "that", "the", "there", "this", "to", "us", "was", "were", "what",
    "when", "where", "which", "who", "why", "will", "with", "you", "your",
])  # fmt: skip
"""English words that say nothing of what is asked for."""

_ASKING: Final = re.compile(
    "请问|請問|什么|什麼|怎么样|怎么|怎樣|怎样|如何|多少|哪些|哪个|哪里|哪儿|是否|为什么|為什麼|"
    "能不能|可不可以|有没有|告诉我|帮我|一下|吗|呢|吧"
)
"""The same in Chinese; they are taken out before characters are paired."""


def indexed(text: str) -> str:
    """A text as the index keeps it: its words with blanks between."""
    found: list[str] = []
    for run in _RUN.findall(_folded(text)):
        if _CHINESE.match(run):
            found += _pairs(run)
            found += run
        else:
            found.append(run)
    return " ".join(found)


def asked(question: str) -> list[str]:
    """The words that a question asks for, each once."""
    folded = _folded(question)
    words = _words(_ASKING.sub(" ", folded)) or _words(folded)
    telling = [word for word in words if word not in _IDLE] or words
    return list(dict.fromkeys(telling))[:_MOST_ASKED]


def _words(text: str) -> list[str]:
    found: list[str] = []
    for run in _RUN.findall(text):
        found += (_pairs(run) or [run]) if _CHINESE.match(run) else [run]
    return found


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
