from __future__ import annotations

from tests.arguments.rows import bound, parameter
from toolhand.arguments import fill_defaults
from toolhand.core.errors import ToolError

SHIP = {
    "$defs": {
        "Place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "zip": {"type": "string", "default": "000000"}},
            "required": ["city"],
        }
    },
    "type": "object",
    "properties": {
        "to": {"$ref": "#/$defs/Place"},
        "via": {"type": "array", "items": {"$ref": "#/$defs/Place"}, "default": []},
        "back": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None},
        "n": {"type": "integer", "default": 1},
        "note": {"type": "string"},
    },
    "required": ["to"],
}


def test_defaults_are_filled_at_every_level():
    filled = fill_defaults({"to": {"city": "青岛"}, "via": [{"city": "a"}], "back": {"city": "b"}}, SHIP)
    assert filled == {
        "to": {"city": "青岛", "zip": "000000"},
        "via": [{"city": "a", "zip": "000000"}],
        "back": {"city": "b", "zip": "000000"},
        "n": 1,
    }


def test_what_was_sent_wins_and_is_not_changed():
    sent = {"to": {"city": "a", "zip": "1"}, "n": 0}
    assert fill_defaults(sent, SHIP) == {"to": {"city": "a", "zip": "1"}, "via": [], "back": None, "n": 0}
    assert sent == {"to": {"city": "a", "zip": "1"}, "n": 0}


def test_a_default_is_not_shared_between_calls():
    fill_defaults({"to": {"city": "a"}}, SHIP)["via"].append("x")
    assert fill_defaults({"to": {"city": "a"}}, SHIP)["via"] == []


def test_null_for_a_default_becomes_the_default():
    tool = parameter("to", SHIP["$defs"]["Place"])
    outcome = bound({"to": {"city": "a", "zip": None}}, tool)
    assert not isinstance(outcome, ToolError)
    assert fill_defaults(outcome.call.arguments, tool.parameters) == {"to": {"city": "a", "zip": "000000"}}
