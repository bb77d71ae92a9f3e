"""The words in which an error is told to a model, in English and Chinese. JSON type names stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolhand.core.language import Language

_SENTENCES: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "missing": "The required argument '{name}' ({expected}) is missing.",
        "missing_sent": "The required argument '{name}' ({expected}) is missing: {sent} was sent.",
        "type": "Argument '{name}' must be {expected}, but {sent} was sent.",
        "value": "Argument '{name}' must be {expected}, but {sent} was sent.",
        "extra": "There is no argument '{name}'.",
        "clash": "Argument '{name}' was sent more than once with different values, as {others}.",
        "ambiguous": "Argument '{name}' must be {expected}, and {sent} can be read in more than one way.",
        "closest": "Did you mean {closest}?",
        "unknown_tool": "There is no tool named '{name}'.",
        "no_tools": "There are no tools.",
        "tools": "The tools are: {names}.",
        "more_tools": "Some of the {count} tools are: {names}.",
        "close_tools": "Did you mean {names}?",
        "example": "Send for example: {example}",
        "again": "Mend the call and send it again.",
        "whole": "The arguments must be {expected}, but {sent} was sent.",
    },
    "zh": {
        "missing": "缺少必填参数“{name}”（应为 {expected}）。",
        "missing_sent": "缺少必填参数“{name}”（应为 {expected}）：收到的是 {sent}。",
        "type": "参数“{name}”应为 {expected}，收到的是 {sent}。",
        "value": "参数“{name}”应为 {expected}，收到的是 {sent}。",
        "extra": "没有参数“{name}”。",
        "clash": "参数“{name}”收到了不同的值：{others}。",
        "ambiguous": "参数“{name}”应为 {expected}，{sent} 有不止一种读法。",
        "closest": "是不是想写 {closest}？",
        "unknown_tool": "没有名为“{name}”的工具。",
        "no_tools": "现在没有工具可用。",
        "tools": "可用的工具：{names}。",
        "more_tools": "{count} 个工具中的一部分：{names}。",
        "close_tools": "是不是想调用 {names}？",
        "example": "正确的例子：{example}",
        "again": "请改正后重新调用。",
        "whole": "参数整体应为 {expected}，收到的是 {sent}。",
    },
}

NOTES: Final[Mapping[str, Mapping[Language, str]]] = {
    "fraction": {"en": "It has a fraction and is not rounded.", "zh": "它带小数，不会替你取整。"},
    "not_finite": {"en": "NaN and Infinity are not numbers here.", "zh": "NaN 和 Infinity 不是可用的数。"},
    "broken_json": {"en": "The JSON in the string cannot be read.", "zh": "字符串里的 JSON 读不出来。"},
    "too_deep": {"en": "It is nested too deep.", "zh": "嵌套太深。"},
    "one_or_several": {"en": "Send a JSON list, one item each.", "zh": "请发送 JSON 列表，每项一个元素。"},
    "too_many_values": {"en": "There are more values than parameters.", "zh": "值比参数多。"},
    "uniqueItems": {"en": "The items must all be different.", "zh": "各项不能重复。"},
    "percent": {
        "en": "Send the bare number; the schema does not say whether a percentage or a fraction is meant.",
        "zh": "请只发数字：没有写明要的是百分数还是小数。",
    },
    "unit": {"en": "Send the bare number in the declared unit.", "zh": "请按声明的单位只发数字。"},
    "no_clock": {
        "en": "Today's date is not known here: send YYYY-MM-DD.",
        "zh": "这里不知道今天的日期：请写成 YYYY-MM-DD。",
    },
    "day_or_month": {
        "en": "Which number is the day and which the month cannot be told: send YYYY-MM-DD.",
        "zh": "分不清哪个是日、哪个是月：请写成 YYYY-MM-DD。",
    },
    "which_day": {
        "en": "Which day is meant is not clear: send YYYY-MM-DD.",
        "zh": "不清楚是哪一天：请写成 YYYY-MM-DD。",
    },
    "lunar": {
        "en": "Lunar dates are not converted: send YYYY-MM-DD.",
        "zh": "不换算农历：请写成公历 YYYY-MM-DD。",
    },
    "am_or_pm": {
        "en": "Morning or afternoon is not clear: send 24-hour time.",
        "zh": "不清楚上午还是下午：请用 24 小时制。",
    },
    "needs_time": {"en": "A time of day is needed too.", "zh": "还要写出几点。"},
    "needs_date": {"en": "A date is needed too.", "zh": "还要写出日期。"},
}


def sentence(key: str, language: Language, **parts: Any) -> str:
    """One sentence of the table, filled in."""
    return _SENTENCES[language][key].format(**parts)


def note(key: str, language: Language) -> str:
    """The sentence behind a note's key; "" for a key that is only a schema keyword."""
    return NOTES[key][language] if key in NOTES else ""


def joined(parts: list[str], language: Language) -> str:
    """Sentences one after the other."""
    return ("" if language == "zh" else " ").join(part for part in parts if part)
