"""Every row of tests/cases/arguments: what was sent, and what it must become."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.arguments.rows import bound, clock, parameter, rows, tool_of
from toolhand.arguments import BindSettings, bind
from toolhand.arguments.checks import same
from toolhand.arguments.coerce.numerals import read_number
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import ToolCall
from toolhand.core.tools import Rules, Tool
from toolhand.tools.collection import ToolCollection

BINDING = rows("types", "enums", "containers", "schemas", "keys", "wrapping")


@pytest.mark.parametrize("row", BINDING, ids=lambda row: row["id"])
def test_binding(row):
    settings = BindSettings(clock=clock, **row.get("settings", {}))
    outcome = bound(row["sent"], tool_of(row), settings, tuple(row.get("positional", ())))
    if "error" in row:
        assert isinstance(outcome, ToolError), outcome
        assert (str(outcome.code), outcome.path) == (row["error"], row["path"])
        assert outcome.retryable
        for mention in row["mentions"]:
            assert mention in outcome.message
    else:
        assert not isinstance(outcome, ToolError), outcome.sentence
        assert same(dict(outcome.call.arguments), row["arguments"])
        assert sorted(fix.kind for fix in outcome.call.fixes) == sorted(row["fixes"])


@pytest.mark.parametrize("row", rows("numerals"), ids=lambda row: row["text"])
def test_numeral(row):
    expected = None if row["value"] is None else Fraction(row["value"])
    assert read_number(row["text"]) == expected


@pytest.mark.parametrize("row", rows("quantities"), ids=lambda row: f"{row['text']}-{row['name']}")
def test_quantity(row):
    outcome = bound({row["name"]: row["text"]}, parameter(row["name"], row["schema"]))
    _assert_value_or_note(outcome, row, row["name"])


@pytest.mark.parametrize("row", rows("moments"), ids=lambda row: f"{row['form']}-{row['text']}")
def test_moment(row):
    settings = BindSettings(clock=clock if row.get("clock", True) else None)
    tool = parameter("when", {"type": "string", "format": row["form"]})
    _assert_value_or_note(bound({"when": row["text"]}, tool, settings), row, "when")


def _assert_value_or_note(outcome, row, name):
    if row["value"] is None:
        assert isinstance(outcome, ToolError), outcome
        assert outcome.code is ErrorCode.INVALID_ARGUMENT
        assert outcome.path == f"$.{name}"
        assert outcome.details["fields"][0].get("note", "") == row["note"]
    else:
        assert not isinstance(outcome, ToolError), outcome.sentence
        assert same(outcome.call.arguments[name], row["value"])


@pytest.mark.parametrize("row", rows("names"), ids=lambda row: row["id"])
def test_tool_name(row):
    tools = ToolCollection(
        Tool(name=name, rules=Rules(effect=effect or "reads"))
        for name, _, effect in (declared.partition(":") for declared in row["tools"])
    )
    outcome = bind(ToolCall(id="1", name=row["sent"]), tools)
    if row["tool"] is None:
        assert isinstance(outcome, ToolError), outcome
        assert outcome.code is ErrorCode.UNKNOWN_TOOL
        for mention in row["mentions"]:
            assert mention in outcome.sentence
        assert outcome.details["available"] == sorted(
            outcome.details["available"], key=outcome.details["available"].index
        )
    else:
        assert not isinstance(outcome, ToolError), outcome.sentence
        assert outcome.call.name == outcome.tool.name == row["tool"]
        assert [fix.kind for fix in outcome.call.fixes] == row["fixes"]
