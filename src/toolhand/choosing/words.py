"""The words of a text by which a tool is found: English ones by their stems, Chinese ones by characters and pairs of them.

Pairs and single characters find as much as a dictionary does (59 of 60 questions, as with jieba's search mode and characters; its
words alone 46) and need no dictionary of 20 MB: `python -m bench.choice`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

LONGEST: Final = 4_000
"""Characters of a text that are looked at: half from its beginning, half from its end."""

_PIECE: Final = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|[A-Za-z]+|\d+|[^\W\d_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_")

_IDLE: Final = frozenset([
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been",
    "before", "being", "below", "between", "both", "but", "by", "can", "could", "d", "did", "do", "does", "doing",
    "don", "down", "during", "each", "few", "for", "from", "further", "get", "give", "had", "has", "have", "having",
    "he", "help", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "know", "let",
    "like", "ll", "m", "may", "me", "might", "mine", "more", "most", "must", "my", "need", "no", "nor", "not", "of",
    "off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "please", "re", "s", "same", "shall",
    "she", "should", "so", "some", "such", "t", "tell", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "through", "to", "too", "under", "up", "us", "use", "used", "using", "ve", "very",
    "want", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your",
])  # fmt: skip
"""Words that say nothing of a tool: people and descriptions use them everywhere."""

_ENDINGS: Final = (
    ("ational", "ate"),
    ("ization", "ize"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("ments", ""),
    ("ment", ""),
    ("ities", "ity"),
    ("ings", ""),
    ("ing", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("sses", "ss"),
    ("edly", ""),
    ("ers", "er"),
    ("ions", "ion"),
)
"""Endings and what stands for them, longest first: coarse on purpose, as only likeness counts."""


def words(text: str) -> list[str]:
    """The words of a text, in order, as they are looked for.

    Args:
        text: a name in any spelling (`getWeather`, `get_weather`), a description, or a question.
    """
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"
    found: list[str] = []
    for piece in _PIECE.findall(_HUMP.sub(" ", text)):
        if "\u3400" <= piece[0] <= "\u9fff" or "\uf900" <= piece[0] <= "\ufaff":
            found += piece
            found += [piece[place : place + 2] for place in range(len(piece) - 1)]
        elif (word := piece.lower()) not in _IDLE:
            found.append(stem(word))
    return found


def spaced(name: str) -> str:
    """A name with blanks where its words part: `getWeather.now` becomes "get Weather now"."""
    return _HUMP.sub(" ", name).replace(".", " ")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without its ending, so that `movies`, `movie` and `calculating`, `calculation` meet.

    Args:
        word: in small letters; one that is not English stays as it is.
    """
    if len(word) <= 3 or not word.isascii() or word.isdigit():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + instead
            break
    else:
        if word.endswith("s") and not word.endswith(("ss", "us", "is")):
            word = word[:-1]
        if word.endswith("ed") and len(word) > 4:
            word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    if word.endswith("ion") and len(word) > 5:
        word = word[:-3]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word
