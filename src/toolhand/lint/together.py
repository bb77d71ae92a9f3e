"""Rules on tools beside one another: names and descriptions that read alike, and errands cut too fine."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from toolhand.arguments.suggest import is_near
from toolhand.choosing.words import words
from toolhand.core.tools import Tool
from toolhand.lint.finding import Finding
from toolhand.tools.collection import folded

MOST_TOOLS: Final = 30
ALIKE: Final = 0.8
"""The cosine of two descriptions from which on they read alike."""

_FEWEST_FINE: Final = 4
_MOST_PAIRS: Final = 50
_COMMON: Final = 60
"""A word that more tools have than this brings no two of them together."""

_SUFFIX: Final = re.compile(r"_(?:name|id|no|num|number|code|str|string|value)$")
_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[\u3400-\u9fff]+")


def names(tools: Sequence[Tool]) -> Iterator[Finding]:
    """Names that are one slip of the pen apart, or the same words in another order or number."""
    by_words: dict[tuple[str, ...], list[Tool]] = defaultdict(list)
    by_letters: dict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        by_words[tuple(sorted(words(tool.name)))].append(tool)
        short = folded(tool.name)
        for key in {short[:3], short[-3:]}:  # a slip leaves one end of a name as it was
            by_letters[key].append(tool)
    seen: set[frozenset[str]] = set()
    alike = [group for key, group in by_words.items() if key]
    for group in (*alike, *(group for group in by_letters.values() if len(group) <= _COMMON)):
        for one, other in _pairs(group):
            pair = frozenset((one.name, other.name))
            is_alike = words(one.name) and sorted(words(one.name)) == sorted(words(other.name))
            if pair not in seen and (is_alike or is_near(folded(one.name), folded(other.name))):
                seen.add(pair)
                yield Finding(rule="names-confusable", tool=one.name, facts={"other": other.name})


def descriptions(tools: Sequence[Tool]) -> Iterator[Finding]:
    """Descriptions that are the same, or nearly."""
    same: dict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        text = " ".join(tool.description.casefold().split())
        if text:
            same[text].append(tool)
    for group in same.values():
        for other in group[1:]:
            yield Finding(rule="descriptions-equal", tool=group[0].name, facts={"other": other.name})
    kept = [group[0] for group in same.values()]
    found = sorted(_alike(kept), key=lambda pair: -pair[2])[:_MOST_PAIRS]
    for one, other, share in found:
        yield Finding(rule="descriptions-alike", tool=one.name, facts={"other": other.name, "share": share})


def _alike(tools: Sequence[Tool]) -> Iterator[tuple[Tool, Tool, float]]:
    counts = [Counter(words(f"{tool.name} {tool.description}")) for tool in tools]
    having: dict[str, list[int]] = defaultdict(list)
    for place, count in enumerate(counts):
        for word in count:
            having[word].append(place)
    rarity = {word: math.log(1 + len(tools) / len(places)) for word, places in having.items()}
    lengths = [math.sqrt(sum((n * rarity[word]) ** 2 for word, n in count.items())) for count in counts]
    shared: dict[tuple[int, int], float] = defaultdict(float)
    for word, places in having.items():
        if len(places) > _COMMON:
            continue
        for at, one in enumerate(places):
            for other in places[at + 1 :]:
                shared[one, other] += counts[one][word] * counts[other][word] * rarity[word] ** 2
    for (one, other), product in shared.items():
        share = product / (lengths[one] * lengths[other])
        if share >= ALIKE:
            yield tools[one], tools[other], share


def sizes(tools: Sequence[Tool]) -> Iterator[Finding]:
    """Too many tools, and errands cut too fine."""
    if len(tools) > MOST_TOOLS:
        yield Finding(rule="tools-many", tool="", facts={"count": len(tools), "most": MOST_TOOLS})
    fine: dict[tuple[object, ...], list[Tool]] = defaultdict(list)
    for tool in tools:
        parts = _PARTS.findall(tool.name)
        if tool.rules.effect == "reads" and tool.properties and len(parts) > 2:
            for place in range(1, len(parts)):
                shape = (
                    *(part.lower() for part in parts[:place]),
                    "…",
                    *(p.lower() for p in parts[place + 1 :]),
                )
                fine[(shape, tuple(sorted(tool.properties)))].append(tool)
    told: set[str] = set()
    for group in sorted(fine.values(), key=len, reverse=True):
        fresh = [tool.name for tool in group if tool.name not in told]
        if len(fresh) >= _FEWEST_FINE:
            told.update(fresh)
            yield Finding(
                rule="tools-too-fine",
                tool=fresh[0],
                facts={"names": ", ".join(f"'{name}'" for name in fresh)},
            )


def parameters(tools: Sequence[Tool]) -> Iterator[Finding]:
    """One thing under several names: `city` here, `city_name` there."""
    spelled: dict[str, dict[str, Tool]] = defaultdict(dict)
    for tool in tools:
        for name in tool.properties:
            bare = _SUFFIX.sub("", name)
            if len(bare) > 2:
                spelled[bare].setdefault(name, tool)
    for found in spelled.values():
        apart = {name for name in found if len(_described(found, name)) > 0}
        if len(apart) > 1:
            first = found[min(apart)]
            listed = ", ".join(f"'{name}'" for name in sorted(apart))
            yield Finding(rule="parameters-named-apart", tool=first.name, facts={"names": listed})


def _described(found: dict[str, Tool], name: str) -> list[str]:
    """Of the other names of a thing those whose description is of the same words."""
    own = set(words(_told(found[name], name)))
    return [
        other
        for other, tool in found.items()
        if other != name and own and own == set(words(_told(tool, other)))
    ]


def _told(tool: Tool, name: str) -> str:
    schema = tool.properties[name]
    return str(schema.get("description") or "") if hasattr(schema, "get") else ""


def _pairs(group: Sequence[Tool]) -> Iterator[tuple[Tool, Tool]]:
    for at, one in enumerate(group):
        for other in group[at + 1 :]:
            yield one, other


CHECKS: Final = (names, descriptions, sizes, parameters)
