"""Rules on a tool's parameters, also those inside others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolhand.core.tools import Tool
from toolhand.lint.finding import Finding

MOST_PARAMETERS: Final = 8
MOST_LEVELS: Final = 3
MOST_ACTIONS: Final = 3
_DEEPEST: Final = 8
_LONGEST: Final = 2_000
"""Characters of a description that are looked through."""

_VAGUE: Final = frozenset(
    (
        "data", "info", "value", "input", "arg", "args", "param", "params", "obj", "object",
        "payload", "x", "y", "z", "item", "thing", "options", "config", "stuff", "content1", "val",
        "tmp",
    )
)  # fmt: skip
_ACTIONS: Final = frozenset(("action", "operation", "op", "command", "cmd", "操作", "动作"))
_NEGATED: Final = re.compile(r"(?:no|not|non|dont|disable|disallow|without|skip|exclude|ignore)_\w+")
_DATE_NAME: Final = re.compile(
    r"(?:^|_)(?:date|day|time|datetime|timestamp|since|until|when|deadline|birthday|start|end|from|to|check_in|check_out)(?:$|_)|日期|时间",
    re.IGNORECASE,
)
_DATE_TOLD: Final = re.compile(r"\b(?:date|day|time|when)\b|日期|时间|几号|哪天", re.IGNORECASE)
_DATE_FORMAT: Final = re.compile(
    r"y{2,4}[-/.年]?m|iso|rfc|%[YymdHM]|\d{4}[-/年]\d|hh:mm|\d{1,2}:\d{2}|unix|epoch|seconds|格式|utc|today|tomorrow|friday|明天|今天",
    re.IGNORECASE,
)
_NOT_DATE: Final = re.compile(
    r"(?:^|_)(?:format|station|city|address|place|currency|unit|language|zone|account|email|user|format)",
    re.IGNORECASE,
)
_QUANTITY: Final = re.compile(
    r"(?:^|_)(?:weight|height|length|width|depth|distance|duration|timeout|interval|speed|temperature|radius|size|volume|area|"
    r"mass|pressure|power|energy|amount|price|cost|fee|salary|budget)(?:$|_)|重量|长度|距离|时长|温度|半径|面积|金额|价格|体积|速度",
    re.IGNORECASE,
)
_UNIT_IN_NAME: Final = re.compile(r"(?:_|\d)(?:g|m|s|h|c|f|k|l|in|mi)(?:$|_)")
_UNIT: Final = re.compile(
    r"(?:^|_|\b|\d)(?:kg|mg|lbs?|oz|tons?|tonnes?|km|cm|mm|miles?|ft|feet|foot|inch(?:es)?|yards?|secs?|seconds?|ms|milliseconds?|"
    r"mins?|minutes?|hrs?|hours?|days?|weeks?|months?|years?|celsius|fahrenheit|kelvin|degrees?|percent|usd|eur|cny|rmb|yuan|"
    r"dollars?|euros?|cents?|pounds?|ml|lit(?:re|er)s?|gallons?|bytes?|kb|mb|gb|px|pixels?|h?pa|bar|watts?|kwh?|joules?|mph|kmh|"
    r"knots?|met(?:re|er)s?|kilomet(?:re|er)s?|grams?|kilograms?|items?|pieces?|units?|currency|rows?|characters?|tokens?)(?:$|_|\b)|"
    r"单位|[元千克米公里秒分钟小时天度升斤两吨美%℃]",
    re.IGNORECASE,
)
_OPTIONS: Final = re.compile(
    r"\b(?:one of|either|must be|can be|choose from|(?:options?|allowed|valid|possible)(?: values)?(?: are)?)\b"
    r"\s*:?\s*(?:[\"'`“]?[\w-]+[\"'`”]?\s*(?:,|/|\||\bor\b)\s*)+[\"'`“]?[\w-]+|"
    r"[\"'`][\w-]+[\"'`]\s*(?:,\s*[\"'`][\w-]+[\"'`]\s*)*,?\s*or\s+[\"'`][\w-]+[\"'`]|"
    r"(?:可选值|取值|可选|选项|可以是|只能是|必须是)(?:为|是|有|包括)?\s*[:：]?\s*[^\s,，。、/|或；;]+(?:\s*[,，、/|或]\s*[^\s,，。、/|或；;]+)+",
    re.IGNORECASE,
)


def each(tool: Tool) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every parameter, also inside others: its path, name and schema."""
    yield from _each(tool.parameters, "$", 0)


def _each(schema: Mapping[str, Any], path: str, depth: int) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(inner, Mapping):
            continue
        yield f"{path}.{name}", name, inner
        if depth < _DEEPEST:
            for part, below in _below(inner):
                yield from _each(below, f"{path}.{name}{part}", depth + 1)


def _below(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "", schema
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield "[]", items
    for word in ("anyOf", "oneOf", "allOf"):
        for branch in schema.get(word) or ():
            if isinstance(branch, Mapping):
                yield "", branch


def meaning(tool: Tool) -> Iterator[Finding]:
    """Names, descriptions and types."""
    for path, name, schema in each(tool):
        facts = {"name": path[2:]}
        told = str(schema.get("description") or schema.get("title") or "")
        if not told.strip():
            yield Finding(rule="parameter-undescribed", tool=tool.name, path=path, facts=facts)
        if name.casefold() in _VAGUE and len(told.split()) < 4 and not _has_chinese(told):
            yield Finding(rule="parameter-vague", tool=tool.name, path=path, facts=facts)
        if not _typed(schema):
            yield Finding(rule="parameter-untyped", tool=tool.name, path=path, facts=facts)
        if schema.get("type") == "boolean" and _NEGATED.fullmatch(name.casefold()):
            yield Finding(rule="parameter-negated", tool=tool.name, path=path, facts=facts)
        options = schema.get("enum")
        if name.casefold() in _ACTIONS and isinstance(options, list | tuple) and len(options) > MOST_ACTIONS:
            yield Finding(
                rule="action-parameter", tool=tool.name, path=path, facts={**facts, "count": len(options)}
            )


def values(tool: Tool) -> Iterator[Finding]:
    """Options, dates and quantities that are told only in words, or not at all."""
    for path, name, schema in each(tool):
        facts, told = {"name": path[2:]}, str(schema.get("description") or "")[:_LONGEST]
        kinds = _kinds(schema)
        if "string" in kinds and not _has_options(schema):
            if match := _OPTIONS.search(told):
                yield Finding(
                    rule="options-in-words", tool=tool.name, path=path, facts={**facts, "text": match[0][:80]}
                )
            elif _is_date(name, told) and not (_formatted(schema) or _DATE_FORMAT.search(told)):
                yield Finding(rule="date-format-unsaid", tool=tool.name, path=path, facts=facts)
        if kinds & {"number", "integer"} and _QUANTITY.search(name):
            beside = {
                other
                for other in tool.properties
                if "unit" in other or "currency" in other or "单位" in other
            }
            said = f"{_QUANTITY.sub('_', name)} {told}"
            if not (beside or _UNIT.search(said) or _UNIT_IN_NAME.search(name.casefold())):
                yield Finding(rule="unit-unsaid", tool=tool.name, path=path, facts=facts)


def shape(tool: Tool) -> Iterator[Finding]:
    """How many there are, how deep, and whether all are named."""
    if (count := len(tool.properties)) > MOST_PARAMETERS:
        yield Finding(rule="parameters-many", tool=tool.name, facts={"count": count, "most": MOST_PARAMETERS})
    depth = max((path.count(".") for path, _, _ in each(tool)), default=0)
    if depth > MOST_LEVELS:
        yield Finding(rule="nesting-deep", tool=tool.name, facts={"depth": depth, "most": MOST_LEVELS})
    more = tool.parameters.get("additionalProperties")
    if more is True or isinstance(more, Mapping):
        yield Finding(rule="arguments-open", tool=tool.name)
    for path, _, schema in each(tool):
        is_open = schema.get("type") == "object" and not schema.get("properties")
        if is_open and not isinstance(schema.get("additionalProperties"), Mapping):
            yield Finding(rule="object-open", tool=tool.name, path=path, facts={"name": path[2:]})


def _has_chinese(text: str) -> bool:
    return any("\u3400" <= letter <= "\u9fff" for letter in text)


def _typed(schema: Mapping[str, Any]) -> bool:
    return any(word in schema for word in ("type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"))


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    kind = schema.get("type")
    found = {kind} if isinstance(kind, str) else set(kind) if isinstance(kind, list | tuple) else set()
    for _, branch in _below(schema):
        inner = branch.get("type")
        if branch is not schema and isinstance(inner, str) and inner != "null":
            found.add(inner)
    return {str(one) for one in found}


def _has_options(schema: Mapping[str, Any]) -> bool:
    return any("enum" in branch or "const" in branch for _, branch in _below(schema))


def _formatted(schema: Mapping[str, Any]) -> bool:
    return any(
        "format" in branch or "pattern" in branch or branch.get("examples") for _, branch in _below(schema)
    )


def _is_date(name: str, told: str) -> bool:
    if _NOT_DATE.search(name):
        return False
    match = _DATE_NAME.search(name)
    if match is None:
        return False
    sure = re.search(r"date|day|time|日期|时间", match[0], re.IGNORECASE)
    return bool(sure) or bool(_DATE_TOLD.search(told))


CHECKS: Final = (meaning, values, shape)
