"""How each server is told what a reply must look like."""

from __future__ import annotations

import json

import pytest

from toolhand import Toolset, tool
from toolhand.core.messages import ModelRequest, user
from toolhand.core.tools import ToolChoice
from toolhand.models.deltas import StreamedOutput
from toolhand.models.grammars import _FORMS, grammar_fields, strict_schema
from toolhand.models.wire import Dialect, Encoder, output
from toolhand.protocols.reply_schema import reply_schema


@tool
def book(room: str, nights: int = 1) -> str:
    """Books a room."""
    return f"{room} {nights}"


@tool
def note(about: dict[str, str]) -> str:
    """Keeps a note."""
    return str(about)


SCHEMA = reply_schema(Toolset([book]), ToolChoice())
FREE = reply_schema(Toolset([book, note]), ToolChoice())


@pytest.mark.parametrize(
    ("form", "where"),
    [
        ("json_schema", ("response_format", "json_schema", "schema")),
        ("guided_json", ("guided_json",)),
        ("structured_outputs", ("structured_outputs", "json")),
        ("format", ("format",)),
    ],
)
def test_the_schema_stands_where_the_server_looks(form, where):
    fields = grammar_fields(SCHEMA, form)
    for key in where:
        fields = fields[key]
    assert fields == SCHEMA


def test_every_form_gives_fields_that_are_json_and_none_without_a_schema():
    for form in _FORMS:
        json.dumps(grammar_fields(SCHEMA, form))
        assert grammar_fields(None, form) == {}
    assert grammar_fields(SCHEMA, "none") == {}


def test_a_grammar_for_llguidance_holds_the_schema_and_allows_no_line_breaks():
    text = grammar_fields(SCHEMA, "llguidance")["grammar"]
    head, _, schema = text.partition("%json ")
    assert head == "%llguidance {}\nstart: "
    assert json.loads(schema)["anyOf"] == SCHEMA["anyOf"]
    assert json.loads(schema)["x-guidance"]["whitespace_flexible"] is False


def test_strict_wants_an_object_at_the_root_and_null_where_a_value_may_be_absent():
    form = grammar_fields(SCHEMA, "strict")["response_format"]["json_schema"]
    assert form["strict"] is True
    root = form["schema"]
    assert root["type"] == "object"
    call = root["properties"]["reply"]["anyOf"][0]["properties"]["calls"]["items"]["properties"]["args"]
    assert call["required"] == ["room", "nights"]
    assert call["properties"]["nights"]["anyOf"][1] == {"type": "null"}


def test_what_strict_cannot_say_is_sent_without_it():
    assert strict_schema(FREE) is None
    form = grammar_fields(FREE, "strict")["response_format"]["json_schema"]
    assert form["strict"] is False
    assert form["schema"]["type"] == "object"


def test_odds_are_asked_for_and_read_whole_and_in_pieces():
    request = ModelRequest(messages=(user("hi"),), odds=5)
    assert json.loads(Encoder("m").body(request, streams=False))["top_logprobs"] == 5
    silent = json.loads(Encoder("m", Dialect(tells_odds=False)).body(request, streams=False))
    assert "logprobs" not in silent
    logprobs = {
        "content": [
            {
                "token": " true",
                "logprob": -0.1,
                "top_logprobs": [
                    {"token": " true", "logprob": -0.5},
                    {"token": " false", "logprob": -1.0},
                    {"token": " true", "logprob": -3.0},
                    {"token": "?", "logprob": None},
                ],
            }
        ]
    }
    whole = output({"choices": [{"message": {"content": " true"}, "logprobs": logprobs}]})
    streamed = StreamedOutput()
    streamed.feed({"choices": [{"delta": {"content": " true"}, "logprobs": logprobs}]})
    assert whole.odds == streamed.finish().odds
    (odds,) = whole.odds
    assert odds.text == " true"
    assert odds.likely[" true"] == pytest.approx(0.6065 + 0.0498, abs=1e-3)


@pytest.mark.parametrize(
    "logprobs", [None, {}, {"content": None}, {"content": [3, {"token": None}]}, {"content": "x"}]
)
def test_odd_odds_do_no_harm(logprobs):
    found = output({"choices": [{"message": {"content": "hi"}, "logprobs": logprobs}]})
    assert found.text == "hi"
    assert all(not odds.likely for odds in found.odds)
