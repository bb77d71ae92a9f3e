"""What is sent to hurt: depth, width, unions that branch at every level. All of it ends soon, in a value or an error."""

from __future__ import annotations

import json
import time

import pytest

from tests.arguments.rows import bound, parameter
from toolhand.arguments.coerce.numerals import read_number
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.tools import Rules, Tool

EXPRESSION = {
    "$defs": {
        "Expression": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"left": {"$ref": "#/$defs/Expression"}, "op": {"const": op}},
                    "required": ["left", "op"],
                }
                for op in ("and", "or", "not")
            ]
            + [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/Expression"}}]
        }
    },
    "type": "object",
    "properties": {"e": {"$ref": "#/$defs/Expression"}},
    "required": ["e"],
}


def nested(depth, leaf, op="or"):
    value = leaf
    for _ in range(depth):
        value = {"left": value, "op": op}
    return value


def nested_list(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [3, 12, 30, 38])
def test_a_recursive_union_takes_no_time_that_doubles(depth):
    tool = Tool(name="errand", parameters=EXPRESSION)
    start = time.process_time()
    assert not isinstance(bound({"e": nested(depth, 1)}, tool), ToolError)
    bound({"e": nested(depth, "3")}, tool)
    bound({"e": nested(depth, "no number")}, tool)
    bound({"e": nested(depth, 1, "xor")}, tool)
    assert time.process_time() - start < 2.5


def test_a_single_value_is_not_wrapped_without_end():
    schema = {
        "$defs": {"L": {"type": "array", "items": {"$ref": "#/$defs/L"}}},
        "type": "object",
        "properties": {"v": {"$ref": "#/$defs/L"}},
        "required": ["v"],
    }
    outcome = bound({"v": "x"}, Tool(name="errand", parameters=schema))
    assert isinstance(outcome, ToolError)


@pytest.mark.parametrize("depth", [50, 500, 100_000])
def test_depth_is_an_error_and_no_crash(depth):
    for schema in ({}, {"type": "array"}, {"type": "object"}, {"type": "array", "items": {"type": "array"}}):
        outcome = bound({"v": nested_list(depth)}, parameter("v", schema))
        assert isinstance(outcome, ToolError)
        assert outcome.code is ErrorCode.INVALID_ARGUMENT
        outcome.message.encode()


def test_json_in_json_in_json_ends():
    text = "[]"
    for _ in range(12):
        text = json.dumps([text])
    outcome = bound({"v": text}, parameter("v", {"type": "array", "items": {"type": "array"}}))
    assert not isinstance(outcome, ToolError)
    assert isinstance(outcome.call.arguments["v"][0], list)
    outcome = bound({"v": "[" * 3000 + "]" * 3000}, parameter("v", {"type": "array"}))
    assert isinstance(outcome, ToolError)


@pytest.mark.parametrize("effect", ["reads", "writes"])
def test_very_many_unknown_arguments(effect):
    tool = Tool(
        name="errand",
        parameters={
            "type": "object",
            "properties": {f"parameter_{number}": {"type": "string"} for number in range(40)},
            "required": [f"parameter_{number}" for number in range(20)],
        },
        rules=Rules(effect=effect),
    )
    start = time.process_time()
    outcome = bound({f"paramter_{number:05d}x": "v" for number in range(20_000)}, tool)
    assert isinstance(outcome, ToolError)
    assert outcome.code is ErrorCode.MISSING_ARGUMENT
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "array", "items": {"type": "integer"}}, ["x"] * 200_000),
        ({"type": "array", "items": {"type": "integer"}}, "1," * 200_000),
        ({"type": "array", "items": {"type": "string"}}, "a," * 200_000),
        ({"type": "integer"}, "9" * 1_000_000),
        ({"type": "integer"}, "一" * 1_000_000),
        ({"type": "boolean"}, "t" * 1_000_000),
        ({"type": "string", "format": "date"}, "1" * 1_000_000),
        ({"type": "string", "format": "date-time"}, "明天" * 500_000),
        ({"enum": ["a", "b"]}, "ａ" * 300_000),
        ({"type": "object"}, "{" * 300_000),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "x" * 1_000_000),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_megabyte_in_one_argument(schema, sent):
    start = time.process_time()
    outcome = bound({"v": sent}, parameter("v", schema))
    assert isinstance(outcome, ToolError)
    assert len(outcome.message) < 10_000
    assert time.process_time() - start < 2


def test_many_numbers_in_strings_are_all_read():
    outcome = bound({"v": ["7"] * 60_000}, parameter("v", {"type": "array", "items": {"type": "integer"}}))
    assert not isinstance(outcome, ToolError)
    assert outcome.call.arguments["v"] == [7] * 60_000


@pytest.mark.parametrize(
    "text", ["零" * 80, "万" * 80, "一" * 80, "1 " * 40, "half " * 16, "点" * 80, "1e" + "9" * 70]
)
def test_numerals_that_are_none(text):
    read_number(text)
