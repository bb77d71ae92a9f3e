"""Which place a name means: Open-Meteo's geocoding, in Chinese and English, and choices where it may mean several.

Source: https://open-meteo.com/en/docs/geocoding-api. The service looks a name up in one language's names alone.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import Language

Lookup = Callable[[str, Language], Awaitable[Any]]
"""Asks the service for a name in a language: its answer as JSON."""

_CHINESE: Final = re.compile(r"[\u3400-\u9fff]")
_COMMA: Final = re.compile(r"\s*[,，;；/]\s*")
_COORDINATES: Final = re.compile(r"\s*(-?\d{1,2}(?:\.\d{1,10})?)\s*[,，]\s*(-?\d{1,3}(?:\.\d{1,10})?)\s*")
_KINDS: Final = (
    "特别行政区", "维吾尔自治区", "壮族自治区", "回族自治区", "自治区", "自治州", "地区", "新区", "省", "市", "县", "区",
    "州", "盟",
)  # fmt: skip
"""What stands behind names in addresses and not in the service's names."""

_DOMINANT: Final = 8
"""How many times as many people as the next one a place has that is meant without more words."""

_WORDS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "none": "There is no place named '{place}'.",
        "none_hint": "Check the spelling, or name a larger city near it.",
        "several": "'{place}' is the name of several places.",
        "several_hint": "Call again with one of: {choices}. If the user has not said which, ask.",
        "with": "; ",
    },
    "zh": {
        "none": "没有找到名为“{place}”的地方。",
        "none_hint": "请检查写法，或改用附近较大的城市。",
        "several": "“{place}”是几个地方的名字。",
        "several_hint": "请用其中之一再次调用：{choices}。用户没有说明是哪一个时，请询问。",
        "with": "；",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place.

    Args:
        name: its name in the language that was asked in.
        region: the part of the country, or "".
        country: the country, or "".
        code: the country's code, such as "US", or "".
        latitude: degrees, north is positive.
        longitude: degrees, east is positive.
        population: people, 0 where it is not known.
        rank: how it ranks among the seats of government: 0 a country's capital, 1 a region's, up to 9 for none.
    """

    name: str
    region: str = ""
    country: str = ""
    code: str = ""
    latitude: float
    longitude: float
    population: int = 0
    rank: int = 9

    @property
    def full_name(self) -> str:
        """Its name with region and country, as it can be asked for."""
        parts = (self.name, self.region, self.country)
        return ", ".join(part for n, part in enumerate(parts) if part and part not in parts[:n])


async def find(place: str, lookup: Lookup, language: Language) -> Place:
    """The place that a name means.

    Args:
        place: as a model wrote it: "Paris", "Springfield, Illinois", "北京市朝阳区", or "39.9,116.4".
        lookup: asks the service.
        language: of what the model is told.

    Raises:
        ToolFailure: when there is none, or several between which nothing decides; then with the choices.
    """
    spot = _COORDINATES.fullmatch(place)
    if spot and abs(float(spot[1])) <= 90 and abs(float(spot[2])) <= 180:
        return Place(name=place.strip(), latitude=float(spot[1]), longitude=float(spot[2]))
    spelt: Language = "zh" if _CHINESE.search(place) else "en"
    words = _WORDS[language]
    for name, within in _readings(place.strip()):
        found = [one for one in _places(await lookup(name, spelt)) if _lies_within(one, within)]
        if found:
            likely = _likely(found)
            if len(likely) == 1:
                return likely[0]
            choices = words["with"].join(dict.fromkeys(one.full_name for one in likely[:6]))
            raise ToolFailure(
                words["several"].format(place=place.strip()[:80]),
                code=ErrorCode.INVALID_ARGUMENT,
                retryable=True,
                hint=words["several_hint"].format(choices=choices),
                details={"choices": [one.full_name for one in likely[:6]]},
            )
    raise ToolFailure(
        words["none"].format(place=place.strip()[:80]),
        code=ErrorCode.INVALID_ARGUMENT,
        retryable=True,
        hint=words["none_hint"],
    )


def _readings(place: str) -> list[tuple[str, tuple[str, ...]]]:
    """The name to look up and what it lies in, the plainest reading first."""
    name, *within = filter(None, _COMMA.split(place)) if _COMMA.search(place) else (place,)
    readings = [(name, tuple(within))]
    if _CHINESE.search(name):
        bare = _without_kind(name)
        readings.append((bare, tuple(within)))
        # "北京市朝阳区", "辽宁省朝阳": the last part is the place, those before it are around it.
        parts = [part for part in re.split(r"(?<=[省市州盟])|(?<=自治区)|(?<=^中国)", name) if part]
        if len(parts) > 1:
            readings.append((_without_kind(parts[-1]), (*map(_without_kind, parts[:-1]), *within)))
            readings.append((_without_kind(parts[-2]), (*map(_without_kind, parts[:-2]), *within)))
    return [one for one in dict.fromkeys(readings) if len(one[0]) > 1]


def _without_kind(name: str) -> str:
    for kind in _KINDS:
        if name.endswith(kind) and len(name) - len(kind) >= 2:
            return name.removesuffix(kind)
    return name


def _places(answer: Any) -> list[Place]:
    """The service's places; what is not one is left out."""
    results = answer.get("results") if isinstance(answer, Mapping) else None
    found = []
    for entry in results if isinstance(results, list) else ():
        try:
            found.append(
                Place(
                    name=_text(entry["name"]),
                    region=_text(entry.get("admin1")),
                    country=_text(entry.get("country")) or _text(entry.get("country_code")),
                    code=_text(entry.get("country_code")),
                    latitude=float(entry["latitude"]),
                    longitude=float(entry["longitude"]),
                    population=int(entry.get("population") or 0),
                    rank=_rank(str(entry.get("feature_code", ""))),
                )
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return found


def _text(value: Any) -> str:
    return " ".join(value.split())[:60] if isinstance(value, str) else ""


def _rank(feature: str) -> int:
    if feature == "PPLC":
        return 0
    return int(feature[4:] or 1) if re.fullmatch(r"PPLA[2-5]?", feature) else 9


def _lies_within(place: Place, within: Sequence[str]) -> bool:
    around = {_folded(part) for part in (place.region, place.country, place.code) if part}
    return all(_is_among(_folded(part), around) for part in within)


def _is_among(part: str, around: Collection[str]) -> bool:
    if part in around:
        return True
    return len(part) > 1 + part.isascii() and any(
        part in one or one in part for one in around if len(one) > 2
    )


def _folded(text: str) -> str:
    text = _without_kind(text.casefold().strip().removesuffix("."))
    return _SHORT.get(text, text)


_SHORT: Final = {
    "usa": "united states", "uk": "united kingdom", "england": "united kingdom", "中华人民共和国": "中国", "prc": "china",
    "uae": "united arab emirates", "al": "alabama", "ak": "alaska", "az": "arizona", "ar": "arkansas",
    "co": "colorado", "ct": "connecticut", "fl": "florida", "ga": "georgia", "hi": "hawaii", "ia": "iowa",
    "id": "idaho", "il": "illinois", "in": "indiana", "ks": "kansas", "ky": "kentucky", "la": "louisiana",
    "ma": "massachusetts", "md": "maryland", "me": "maine", "mi": "michigan", "mn": "minnesota", "mo": "missouri",
    "ms": "mississippi", "mt": "montana", "nc": "north carolina", "nd": "north dakota", "ne": "nebraska",
    "nh": "new hampshire", "nj": "new jersey", "nm": "new mexico", "nv": "nevada", "ny": "new york", "oh": "ohio",
    "ok": "oklahoma", "or": "oregon", "pa": "pennsylvania", "ri": "rhode island", "sc": "south carolina",
    "sd": "south dakota", "tn": "tennessee", "tx": "texas", "ut": "utah", "va": "virginia", "vt": "vermont",
    "wa": "washington", "wi": "wisconsin", "wv": "west virginia", "wy": "wyoming",
}  # fmt: skip
"""What people write for parts of the world. "CA" and "DE" are left to be countries' codes."""


def _likely(found: Sequence[Place]) -> list[Place]:
    """Those of the best one's name between which nothing decides, the best first."""
    first = found[0]
    same = [one for one in found if one.name.casefold() == first.name.casefold()]
    same.sort(key=lambda one: (-one.population, one.rank))
    best = same[0]
    if best.rank == 0:  # a capital is meant, whatever else has its name
        return [best]
    rivals = [
        one
        for one in same[1:]
        if (one.population * _DOMINANT > best.population or (not best.population and one.rank <= best.rank))
        and _apart(one, best)
    ]
    return [best, *rivals]


def _apart(one: Place, other: Place) -> bool:
    """Whether two are not the same town under two entries."""
    return abs(one.latitude - other.latitude) + abs(one.longitude - other.longitude) > 0.5
