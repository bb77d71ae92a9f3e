"""Which part of a result a plan hands on, where a parameter wants a text or a number."""

from __future__ import annotations

import pytest

from toolhand.parsing.plans.picked import picked

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("value", "name", "schema", "meant"),
    [
        ({"order_id": "A1", "total": 3}, "order_id", TEXT, "A1"),
        ({"orderId": "A1", "note": "x"}, "order_id", TEXT, "A1"),
        ({"total": 3}, "amount", {"type": "number"}, 3),
        ([{"port": "Oslo"}], "city", TEXT, "Oslo"),
        ({"code": "LHR", "name": "Heathrow", "km": 20}, "airport_code", TEXT, "LHR"),
        ({"承运人": "顺达", "运单": "Y7"}, "no", {"type": "string", "description": "运单编号"}, "Y7"),
        ({"winner": "Sun Ltd", "price": 40}, "company", TEXT, "Sun Ltd"),
        ({"winner": "Sun Ltd", "price": 40}, "amount", {"type": "integer"}, 40),
        ({"free": [{"pile_id": "P7", "kw": 60}], "total": 12}, "pile_id", TEXT, "P7"),
        ({"house": {"owner": "Li", "rooms": 3}, "floor": 2}, "owner", TEXT, "Li"),
    ],
)
def test_the_meant_part(value, name, schema, meant):
    assert picked(value, name, schema) == meant


@pytest.mark.parametrize(
    ("value", "name", "schema"),
    [
        ({"first": "Ann", "last": "Lee"}, "person", TEXT),
        ([{"id": "A1"}, {"id": "A2"}], "id", TEXT),
        ({"a": 1}, "whole", {"type": "object"}),
        ({}, "id", TEXT),
        ({"on": True, "off": False}, "id", TEXT),
    ],
)
def test_what_is_not_clear_stays(value, name, schema):
    assert picked(value, name, schema) == value


def test_a_tool_that_changes_something_gets_no_guess():
    assert picked({"winner": "Sun Ltd", "price": 40}, "account", TEXT, guesses=False) == {
        "winner": "Sun Ltd",
        "price": 40,
    }
    assert picked({"account": "K1", "price": 40}, "account", TEXT, guesses=False) == "K1"
