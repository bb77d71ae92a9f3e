"""Units: which one a schema names, and which one a text has behind its number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from toolhand.arguments.shape import Shape
from toolhand.core.lazily import lazy_pattern


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measure.

    Args:
        dimension: what it measures; units of one dimension convert into each other.
        factor: how many of the dimension's own unit it is.
    """

    dimension: str
    factor: Fraction


def _units(dimension: str, table: Mapping[str, str]) -> dict[str, Unit]:
    """From "factor" → "words", the words' units."""
    return {
        word: Unit(dimension, Fraction(factor)) for factor, words in table.items() for word in words.split()
    }


# Months and years have no fixed length, and a "MB" is 10^6 or 2^20 bytes: such units are taken off, never converted.
_WORDS: Final[dict[str, Unit]] = {
    **_units(
        "time",
        {
            "1/1000": "ms msec millisecond milliseconds 毫秒",
            "1": "s sec secs second seconds 秒 秒钟",
            "60": "min mins minute minutes 分 分钟",
            "900": "刻钟",
            "3600": "h hr hrs hour hours 小时 钟头 个小时 个钟头",
            "86400": "d day days 天 日",
            "604800": "week weeks 周 星期 礼拜 个星期 个礼拜",
        },
    ),
    **_units("months", {"1": "month months 月 个月", "12": "year years yr yrs 年"}),
    **_units(
        "length",
        {
            "1/1000": "mm millimeter millimeters millimetre millimetres 毫米",
            "1/100": "cm centimeter centimeters centimetre centimetres 厘米 公分",
            "1": "m meter meters metre metres 米 公尺",
            "500": "里 华里",
            "1000": "km kilometer kilometers kilometre kilometres 公里 千米",
            "0.0254": "inch inches 英寸",
            "0.3048": "ft foot feet 英尺",
            "1609.344": "mile miles mi 英里",
        },
    ),
    **_units(
        "mass",
        {
            "1/1000000": "mg milligram milligrams 毫克",
            "1/1000": "g gram grams 克",
            "1/20": "两",
            "1/2": "斤 市斤",
            "1": "kg kgs kilogram kilograms kilo kilos 公斤 千克",
            "1000": "t ton tons tonne tonnes 吨",
            "0.45359237": "lb lbs pound pounds 磅",
        },
    ),
    **_units(
        "volume",
        {
            "1/1000": "ml milliliter milliliters millilitre millilitres 毫升",
            "1": "l liter liters litre litres 升 公升",
        },
    ),
    **_units("area", {"1": "㎡ m² m2 sqm 平方米 平米 平", "1000000": "平方公里"}),
    **_units("celsius", {"1": "°c ℃ celsius 摄氏度 c"}),
    **_units("fahrenheit", {"1": "°f ℉ fahrenheit 华氏度 f"}),
    **_units("degrees", {"1": "° 度 degree degrees"}),
    **_units("speed", {"1": "km/h kmh kph 公里每小时 公里/小时"}),
    **_units("bytes", {"1": "byte bytes 字节"}),
    **_units("kilobytes", {"1": "kb kilobyte kilobytes"}),
    **_units("megabytes", {"1": "mb megabyte megabytes 兆"}),
    **_units("gigabytes", {"1": "gb gigabyte gigabytes"}),
    **_units("tokens", {"1": "token tokens"}),
    **_units("percent", {"1": "% percent percentage pct 百分比 百分数 百分点"}),
    **_units("money CNY", {"1": "元 块 块钱 圆 rmb cny 人民币 元人民币 yuan ¥"}),
    **_units("money USD", {"1": "usd dollar dollars 美元 美金 $"}),
    **_units("money EUR", {"1": "eur euro euros 欧元 €"}),
    **_units("money GBP", {"1": "gbp 英镑 £"}),
    **_units("money JPY", {"1": "jpy yen 日元 日圆"}),
    **_units("money HKD", {"1": "hkd 港币 港元"}),
    **_units(
        "pieces",
        {"1": "个 位 名 人 件 张 台 本 条 只 份 间 套 辆 次 盒 瓶 杯 支 把 箱 遍 页 行 piece pieces times"},
    ),
}

PLACELESS: Final = "pieces"
"""The dimension of counting words, which can be left out whatever is counted."""

# In names, letters that are more often something else (`min_price`, `size_m`, `x`, `t`) do not name a unit.
_NOT_IN_NAMES: Final = frozenset([
    "min", "m", "t", "l", "d", "g", "f", "mi", "c", "s", "h", "in", "两", "分", "里", "平", "把", "条", "行", "本",
    "次", "页", "人", "位", "名", "times", "pieces", "piece", "token", "day", "month", "year", "degree",
    "degrees", "年", "月", "日", "周", "星期", "second", "dollar", "block", "foot", "week", "minute", "hour", "支",
    "只", "份", "个", "台", "张",
])  # fmt: skip
_LETTERS_AT_END: Final = {"s": "s", "h": "h", "c": "°c", "f": "°f", "g": "g", "l": "l"}
_TOKENS: Final = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+|[%°℃]")

_ALTERNATIVES: Final = "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True))
_SUFFIX: Final = lazy_pattern(rf"(.*?[^a-z])\s*({_ALTERNATIVES})\.?", re.IGNORECASE | re.DOTALL)
_PART: Final = lazy_pattern(rf"\s*(.+?)\s*({_ALTERNATIVES})(?![a-z])(?:\s*,|\s+and\b|零|又)?", re.IGNORECASE)
_PREFIX: Final = lazy_pattern(r"([¥$€£]|rmb|cny|usd|eur|gbp|jpy|hkd|人民币|美元)\s*(.+)", re.IGNORECASE)
_SAID: Final = (
    lazy_pattern(
        rf"\b(?:in|units?(?: is| are|:)?|number of|measured in|expressed in)\s+({_ALTERNATIVES})\b",
        re.IGNORECASE,
    ),
    lazy_pattern(rf"[(（\[]\s*(?:in |单位[:：]?\s*)?({_ALTERNATIVES})\s*[)）\]]", re.IGNORECASE),
    lazy_pattern(
        rf"^({_ALTERNATIVES})\b(?=\s+(?:to|of|from|until|before|after|between)\b|[,.]?$)", re.IGNORECASE
    ),
    lazy_pattern(rf"单位\s*[:：为是]*\s*({_ALTERNATIVES})(?![a-z])", re.IGNORECASE),
    lazy_pattern(rf"以\s*({_ALTERNATIVES})\s*(?:为单位|计)", re.IGNORECASE),
    lazy_pattern(rf"(?:多少|几)个?({_ALTERNATIVES})", re.IGNORECASE),
    lazy_pattern(rf"({_ALTERNATIVES})数"),
    lazy_pattern(rf"[,，]\s*({_ALTERNATIVES})[。.]?$", re.IGNORECASE),
)
_MONEY: Final = lazy_pattern(
    r"price|amount|cost|fee|budget|money|pay|salary|wage|income|total|balance|deposit|refund|fare|rent|"
    r"价|钱|金额|费|预算|款|余额|工资|薪|收入|押金|^(?:n|x|y|v|num|number|value|val|数|数值|数字)$",
    re.IGNORECASE,
)


def declared_unit(shape: Shape) -> Unit | None:
    """The one unit that a schema names: in `x-unit`, in the parameter's name, in its description."""
    named = shape.raw.get("x-unit")
    if isinstance(named, str):
        return _WORDS.get(named.strip().lower())
    description = shape.raw.get("description")
    said = (
        {_unit(match) for form in _SAID for match in form.findall(description)}
        if isinstance(description, str)
        else set()
    )
    said.discard(None)
    by_name = _unit_in_name(shape.name)
    found = said | ({by_name} if by_name else set())
    return found.pop() if len(found) == 1 else None


def _unit(word: str) -> Unit | None:
    unit = _WORDS.get(word.lower())
    return None if unit is not None and unit.dimension == PLACELESS else unit


def _unit_in_name(name: str) -> Unit | None:
    tokens = [token.lower() for token in _TOKENS.findall(name)]
    if not tokens:
        return None
    last = tokens[-1].removesuffix("数")
    if len(tokens) > 1 and last in _LETTERS_AT_END:
        return _WORDS[_LETTERS_AT_END[last]]
    if last in ("day", "hour", "minute", "second", "week", "month", "year"):
        return None  # `start_day` is a day of the calendar
    if tokens[-1].endswith("数") and last in _WORDS:
        return _unit(last)
    if last in _NOT_IN_NAMES:
        before = tokens[-2] if len(tokens) > 1 else ""
        is_unit = (last == "min" and before in _TIMED) or (last == "m" and before in _LONG)
        return _WORDS[last] if is_unit else None
    return _unit(last)


_TIMED: Final = frozenset(
    ("duration", "timeout", "length", "interval", "delay", "wait", "time", "after", "every")
)

_LONG: Final = frozenset(
    ("height", "width", "length", "depth", "distance", "dist", "altitude", "radius", "elevation")
)


def is_about_money(shape: Shape) -> bool:
    """Whether a parameter's name or description speaks of money."""
    description = shape.raw.get("description")
    return any(_MONEY.search(text) for text in (shape.name, description) if isinstance(text, str))


def take_prefix(text: str) -> tuple[str, Unit] | None:
    """A number's text and the currency before it."""
    match = _PREFIX.fullmatch(text)
    return None if match is None else (match[2], _WORDS[match[1].lower()])


def take_suffix(text: str) -> tuple[str, Unit] | None:
    """A number's text and the unit behind it."""
    match = _SUFFIX.fullmatch(text)
    return None if match is None else (match[1].strip(), _WORDS[match[2].lower()])


def take_parts(text: str) -> list[tuple[str, Unit]] | None:
    """The numbers and units of a text such as "1小时30分钟" or "2h 5min"; None where it is not that."""
    found: list[tuple[str, Unit]] = []
    at = 0
    for match in _PART.finditer(text):
        if match.start() != at:
            return None
        found.append((match[1], _WORDS[match[2].lower()]))
        at = match.end()
    return found if at == len(text) and len(found) > 1 else None
