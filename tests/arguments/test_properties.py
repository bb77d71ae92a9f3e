"""What holds for every schema and every value: no exception, a result that fits, and a second binding that changes nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.arguments.rows import bound, rows, tool_of
from toolhand.arguments import BindSettings, feedback, fill_defaults
from toolhand.arguments.coerce.numerals import read_number
from toolhand.core.errors import ToolError
from toolhand.core.tools import Rules, Tool

NAMES = st.sampled_from(["city", "days", "timeout_s", "城市", "a b", "kind", "tags", "is_on"])
WORDS = st.sampled_from([
    "3", "三", "1.5万", "true", "否", "null", "unknown", "", "a, b", "1,2", "[1, 2]", '{"kind": "x"}', "半小时", "20%", "明天",
    "2026-03-05", "HIGH", "low", "0x1", "NaN", "\ud83d", "１２", "{", "[", "003", "1e5", "x" * 70,
])  # fmt: skip
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=True, allow_infinity=True)
SCALARS = st.none() | st.booleans() | NUMBERS | WORDS | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
OPTIONS = st.lists(st.sampled_from(["low", "high", "高", 1, 2, True, None, ""]), min_size=1, max_size=4)
SIMPLE: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(lambda low: {"type": "integer", "minimum": low}, st.integers(-5, 5)),
    st.builds(lambda high: {"type": "number", "exclusiveMaximum": high}, st.integers(-5, 500)),
    st.builds(lambda most: {"type": "string", "maxLength": most}, st.integers(0, 9)),
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "number", "multipleOf": 0.5},
            {"type": "boolean"},
            {"type": "null"},
            {},
            {"type": "object"},
            {"type": "string", "format": "date"},
            {"type": "string", "format": "date-time"},
            {"type": "string", "pattern": "^[a-z]*$"},
            {"type": ["integer", "null"]},
            {"type": ["string", "boolean"]},
            {"$ref": "#/$defs/Node"},
        ]
    ),
    st.builds(lambda options: {"enum": options}, OPTIONS),
)


def _object(members: dict[str, Any], required: list[str], extra: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": members,
        "required": [name for name in required if name in members],
    }
    return schema if extra is None else {**schema, "additionalProperties": extra}


def _compound(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.builds(lambda items: {"type": "array", "items": items, "maxItems": 3}, inner),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda part, default: {**part, "default": default}, inner, st.sampled_from(["", "low", None, 3])
        ),
        st.builds(
            _object,
            st.dictionaries(NAMES, inner, max_size=3),
            st.lists(NAMES, max_size=3),
            st.sampled_from([None, True, False]),
        ),
        st.builds(lambda first, second: {"allOf": [first, second]}, inner, inner),
    )


SCHEMAS = st.recursive(SIMPLE, _compound, max_leaves=6)
NODE = {
    "type": "object",
    "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}},
    "required": ["v"],
}
PARAMETERS = st.builds(
    lambda members, required: {**_object(members, required, None), "$defs": {"Node": NODE}},
    st.dictionaries(NAMES, SCHEMAS, max_size=4),
    st.lists(NAMES, max_size=4),
)
EFFECTS = st.sampled_from(["reads", "writes"])


@settings(max_examples=400, deadline=None)
@given(PARAMETERS, VALUES, EFFECTS, st.sampled_from(["drop", "refuse", "keep"]))
def test_anything_can_be_sent_to_any_tool(parameters, sent, effect, extra):
    tool = Tool(name="errand", parameters=parameters, rules=Rules(effect=effect), aliases={"stadt": "city"})
    outcome = bound(sent, tool, BindSettings(extra=extra))
    if isinstance(outcome, ToolError):
        assert outcome.details["fields"]
        for language in ("en", "zh"):
            feedback(outcome, tool, language).encode()
        return
    arguments = dict(outcome.call.arguments)
    json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    if extra != "keep":
        Draft202012Validator(parameters).validate(arguments)
        assert arguments.keys() <= parameters["properties"].keys()
    assert set(parameters["required"]) <= arguments.keys()
    again = bound(arguments, tool, BindSettings(extra=extra))
    assert not isinstance(again, ToolError)
    assert (dict(again.call.arguments), again.call.fixes) == (arguments, ())
    filled = fill_defaults(arguments, parameters)
    assert {name: filled[name] for name in arguments}.keys() == arguments.keys()


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(rows("types", "enums", "containers", "schemas", "keys")), VALUES)
def test_anything_can_be_sent_to_the_tools_of_the_cases(row, sent):
    outcome = bound(sent, tool_of(row))
    if not isinstance(outcome, ToolError):
        again = bound(outcome.call.arguments, tool_of(row))
        assert not isinstance(again, ToolError)
        assert again.call.fixes == ()


@given(st.integers(0, 10**12 - 1))
def test_chinese_numerals_are_read_as_they_are_written(number):
    assert read_number(_in_chinese(number)) == number


@given(st.text(alphabet="零一二三五十百千万亿两点半负分之0123456789.,-eE k", max_size=14))
def test_no_text_of_numeral_letters_breaks_the_reader(text):
    read_number(text)


def _in_chinese(number: int) -> str:
    """A second writer of numerals, by the school rule: groups of four, one 零 for any run of noughts inside."""
    if number == 0:
        return "零"
    text = ""
    for power, unit in ((8, "亿"), (4, "万"), (0, "")):
        group = number // 10**power % 10**4
        if not group:
            continue
        digits = f"{group:04d}" if text else str(group)
        text += _group(digits) + unit
    return text


def _group(digits: str) -> str:
    text, zero = "", False
    for place, digit in zip(range(len(digits) - 1, -1, -1), digits, strict=True):
        if digit == "0":
            zero = True
            continue
        text += ("零" if zero else "") + "零一二三四五六七八九"[int(digit)] + ["", "十", "百", "千"][place]
        zero = False
    return text.removeprefix("零") if digits[0] != "0" else text
