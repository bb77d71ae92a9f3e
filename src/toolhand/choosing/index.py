"""An index over tools: which of them a question is about. BM25 over weighted fields (BM25F), in plain Python.

Source: S. Robertson, H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009. Weights and bounds were fitted
on one half of the questions in the Berkeley data and judged on the other: `python -m bench.choice`.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolhand.choosing.words import words
from toolhand.core.tools import Tool

SATURATION: Final = 1.0
"""How soon a further occurrence in a tool says nothing new (k1)."""

SATURATION_OF_QUESTION: Final = 0.5
"""The same for the question's own words."""

DEEPEST: Final = 4
"""How deep parameters inside parameters are looked at."""

COMMON: Final = 0.1
"""A word that this share of the tools has only ranks those that rarer words have found, once these are enough."""

ENOUGH: Final = 50
"""Tools that rarer words must have found for that."""


@dataclass(frozen=True, slots=True)
class _Field:
    """How much a field of a tool counts.

    Args:
        weight: against the description's 1.
        length: how much a long one counts less, from 0 to 1 (b).
    """

    weight: float
    length: float


_FIELDS: Final = (
    _Field(1.5, 0.3),  # name, category, tags
    _Field(1.0, 0.75),  # description
    _Field(1.0, 0.6),  # names of parameters
    _Field(0.5, 0.75),  # their descriptions
    _Field(0.8, 0.5),  # their options
)


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that was found.

    Args:
        name: its name.
        score: how well it fits; only to be compared within one search.
    """

    name: str
    score: float


class ToolIndex:
    """What tools say of themselves, by word.

    Args:
        tools: the tools, each name once.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        tools = tuple(tools)
        self.names = tuple(tool.name for tool in tools)
        self._places: dict[str, array[int]] = {}
        self._gains: dict[str, array[float]] = {}
        self._build([[words(text) for text in fields_of(tool)] for tool in tools])

    def __len__(self) -> int:
        return len(self.names)

    def _build(self, documents: Sequence[Sequence[Sequence[str]]]) -> None:
        means = [
            max(1e-9, sum(len(document[place]) for document in documents) / max(1, len(documents)))
            for place in range(len(_FIELDS))
        ]
        weighed: dict[str, list[tuple[int, float]]] = {}
        for number, document in enumerate(documents):
            counts: dict[str, float] = {}
            for field, mean, found in zip(_FIELDS, means, document, strict=True):
                gain = field.weight / (1 - field.length + field.length * len(found) / mean)
                for word in found:
                    counts[word] = counts.get(word, 0.0) + gain
            for word, count in counts.items():
                weighed.setdefault(word, []).append((number, count))
        for word, entries in weighed.items():
            rarity = math.log(1 + (len(documents) - len(entries) + 0.5) / (len(entries) + 0.5))
            self._places[word] = array("l", (number for number, _ in entries))
            self._gains[word] = array(
                "d",
                (rarity * count * (SATURATION + 1) / (SATURATION + count) for _, count in entries),
            )

    def search(self, question: str, k: int = 10, *, without: Collection[str] = ()) -> list[Hit]:
        """The tools that a question is about, best first; fewer than `k` where no more share a word with it.

        Args:
            question: in any words, English or Chinese.
            k: how many at most.
            without: names that are left out.
        """
        scores = self.scores(question)
        if without:
            scores = {place: score for place, score in scores.items() if self.names[place] not in without}
        best = heapq.nsmallest(k, scores, key=lambda place: (-scores[place], place))
        return [Hit(self.names[place], scores[place]) for place in best]

    def scores(self, question: str) -> dict[int, float]:
        """The scores of all tools that share a word with a question, by place in `names`."""
        asked = Counter(word for word in words(question) if word in self._places)
        rare_first = sorted(asked, key=lambda word: len(self._places[word]))
        scores: dict[int, float] = {}
        most = COMMON * len(self.names)
        for word in rare_first:
            count = asked[word]
            factor = count * (SATURATION_OF_QUESTION + 1) / (SATURATION_OF_QUESTION + count)
            places, gains = self._places[word], self._gains[word]
            if len(places) > most and len(scores) >= ENOUGH:
                for place, gain in zip(places, gains, strict=True):
                    if place in scores:
                        scores[place] += factor * gain
            else:
                for place, gain in zip(places, gains, strict=True):
                    scores[place] = scores.get(place, 0.0) + factor * gain
        return scores


def fields_of(tool: Tool) -> tuple[str, str, str, str, str]:
    """What an index knows of a tool: its name and category, description, parameters' names, descriptions and options."""
    names: list[str] = []
    told: list[str] = []
    options: list[str] = []
    for name, schema in _parameters(tool.parameters):
        names.append(name)
        told.append(str(schema.get("description") or ""))
        enum = schema.get("enum")
        if isinstance(enum, list | tuple):
            options += map(str, enum[:50])
    title = " ".join((tool.name, tool.rules.category, *sorted(tool.rules.tags)))
    return title, tool.description, " ".join(names), " ".join(told), " ".join(options)


def _parameters(schema: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, Mapping[str, Any]]]:
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(inner, Mapping):
            continue
        yield name, inner
        if depth < DEEPEST:
            yield from _parameters(inner, depth + 1)
            items = inner.get("items")
            if isinstance(items, Mapping):
                yield from _parameters(items, depth + 1)
