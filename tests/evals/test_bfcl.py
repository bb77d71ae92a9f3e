"""The public benchmark: its form is read, its rules are kept. Rows here are our own, in the leaderboard's form."""

from __future__ import annotations

import datetime as dt
import json
import os
import zipfile

import pytest

from toolhand.core.errors import SettingsError
from toolhand.evals.bfcl import CATEGORIES, VARIABLE, read_bfcl, written_case
from toolhand.evals.expectation import Answer, Made
from toolhand.evals.reading import read_case

DAY = dt.date(2025, 1, 1)

FUNCTION = {
    "name": "shop.order",
    "description": "Orders.",
    "parameters": {
        "type": "dict",
        "properties": {
            "item": {"type": "string"},
            "count": {"type": "integer"},
            "price": {"type": "float"},
            "type": {"type": "any"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "sizes": {"type": "tuple", "items": {"type": "float"}},
            "to": {"type": "dict", "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}},
            "lines": {"type": "array", "items": {"type": "dict"}},
            "gift": {"type": "boolean", "default": False},
        },
        "required": ["item", "count"],
    },
}


def row(truth, functions=(FUNCTION,), question="q"):
    case = {"id": "x_1", "question": [[{"role": "user", "content": question}]], "function": list(functions)}
    return read_case(written_case(case, "parallel", truth))


def passes(accepted, sent, *more):
    case = row([{"shop.order": accepted}] * (1 + len(more)))
    calls = tuple(Made(name="shop_order", arguments=arguments) for arguments in (sent, *more))
    return case.questions[0].expectation.judge(Answer(calls=calls), DAY).passes


BASE = {"item": ["Green tea"], "count": [2]}
SENT = {"item": "Green tea", "count": 2}


@pytest.mark.parametrize(
    ("accepted", "sent", "is_right"),
    [
        ({}, {}, True),
        ({}, {"item": "green-tea."}, True),
        ({}, {"item": "green teas"}, False),
        ({}, {"count": 2.0}, False),
        ({}, {"count": "2"}, False),
        ({}, {"count": True}, False),
        ({}, {"gift": False}, False),
        ({"gift": ["", True]}, {}, True),
        ({"gift": ["", True]}, {"gift": True}, True),
        ({"gift": ["", True]}, {"gift": False}, False),
        ({"gift": [True]}, {}, False),
        ({"price": [3.0]}, {"price": 3}, True),
        ({"price": [3.5]}, {"price": 3.5}, True),
        ({"price": [3.5]}, {"price": "3.5"}, False),
        ({"type": ["loose"]}, {"type": "LOOSE"}, True),
        ({"tags": [["a", "b"], ["c"]]}, {"tags": ["A", "b"]}, True),
        ({"tags": [["a", "b"]]}, {"tags": ["b", "a"]}, False),
        ({"tags": [["a"]]}, {"tags": [1]}, False),
        ({"tags": [[], ["a"]]}, {"tags": []}, True),
        ({"sizes": [[1.0, 2.0]]}, {"sizes": [1.0, 2.0]}, True),
        ({"to": [{"city": ["Rome", "Roma"], "zip": ["", 100]}]}, {"to": {"city": "roma"}}, True),
        ({"to": [{"city": ["Rome"], "zip": [100]}]}, {"to": {"city": "Rome"}}, False),
        ({"to": [{"city": ["Rome"]}]}, {"to": {"city": "Rome", "zip": 1}}, False),
        ({"lines": [[{"a": [1]}, {"a": [2]}]]}, {"lines": [{"a": 1}, {"a": 2}]}, True),
        ({"lines": [[{"a": [1]}, {"a": [2]}]]}, {"lines": [{"a": 2}, {"a": 1}]}, False),
        ({"lines": [[{"a": [1]}]]}, {"lines": [{"a": 1}, {"a": 1}]}, False),
        ({"count": ["the_count"]}, {"count": "the_count"}, True),
        ({"count": ["the_count"]}, {"count": "other"}, False),
    ],
)
def test_the_rules(accepted, sent, is_right):
    assert passes({**BASE, **accepted}, {**SENT, **sent}) == is_right


def test_required_ones_and_strangers():
    assert not passes(BASE, {"item": "Green tea"})
    assert not passes(BASE, {**SENT, "colour": "red"})


def test_several_calls_in_any_order_and_exactly_so_many():
    truth = [{"shop.order": BASE}, {"shop.order": {**BASE, "count": [5]}}]
    expectation = row(truth).questions[0].expectation
    two, five = (Made(name="shop_order", arguments={**SENT, "count": n}) for n in (2, 5))
    assert expectation.judge(Answer(calls=(five, two)), DAY).passes
    assert not expectation.judge(Answer(calls=(two, two)), DAY).passes
    assert not expectation.judge(Answer(calls=(two, five, five)), DAY).passes
    assert not expectation.judge(Answer(calls=(two,)), DAY).passes


def test_schemas_become_json_schema_and_parameters_keep_their_names():
    case = row([{"shop.order": BASE}])
    properties = case.tools["shop_order"].properties
    assert properties["price"] == {"type": "number"}
    assert properties["type"] == {"type": "string"}
    assert properties["to"]["type"] == "object"
    assert properties["sizes"] == {"type": "array", "items": {"type": "number"}}
    assert case.turns == 1
    assert read_case(case.written).questions == case.questions


def test_relevance_asks_only_whether_something_is_called():
    entry = {"id": "r", "question": [[{"role": "user", "content": "q"}]], "function": [FUNCTION]}
    called = Answer(calls=(Made(name="shop_order", arguments={}),))
    relevant = read_case(written_case(entry, "live_relevance", None)).questions[0].expectation
    assert relevant.judge(called, DAY).passes
    assert not relevant.judge(Answer(), DAY).passes
    irrelevant = read_case(written_case(entry, "irrelevance", None)).questions[0].expectation
    assert not irrelevant.judge(called, DAY).passes
    assert irrelevant.judge(Answer(text="No."), DAY).passes


def test_earlier_messages_are_the_history():
    entry = {
        "id": "h",
        "question": [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "q"}]],
        "function": [FUNCTION],
    }
    case = read_case(written_case(entry, "live_simple", [{"shop.order": BASE}]))
    assert [message.role for message in case.history] == ["system"]
    assert case.questions[0].text == "q"


def test_a_wheel_a_folder_and_neither(tmp_path, monkeypatch):
    entry = {"id": "multiple_0", "question": [[{"role": "user", "content": "q"}]], "function": [FUNCTION]}
    answer = {"id": "multiple_0", "ground_truth": [{"shop.order": BASE}]}
    wheel = tmp_path / "bfcl.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("bfcl_eval/data/BFCL_v4_multiple.json", json.dumps(entry) + "\n")
        file.writestr("bfcl_eval/data/possible_answer/BFCL_v4_multiple.json", json.dumps(answer) + "\n")
    suite = read_bfcl(["multiple"], wheel)
    assert [(case.id, case.tags) for case in suite.cases] == [("multiple_0", ("multiple",))]
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path)
    for folder in (tmp_path, tmp_path / "bfcl_eval", tmp_path / "bfcl_eval" / "data"):
        assert len(read_bfcl(["multiple"], folder).cases) == 1
    monkeypatch.setenv(VARIABLE, str(wheel))
    assert len(read_bfcl(["multiple"]).cases) == 1
    with pytest.raises(SettingsError, match="parallel"):
        read_bfcl(["parallel"])
    with pytest.raises(SettingsError, match="simple_python"):
        read_bfcl(["simple"])
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nothing.whl"))
    with pytest.raises(SettingsError, match="pip download"):
        read_bfcl(["multiple"])
    wheel.write_bytes(b"not a wheel")
    with pytest.raises(SettingsError, match="wheel"):
        read_bfcl(["multiple"], wheel)


@pytest.mark.skipif(
    not os.environ.get(VARIABLE), reason=f"the real data is read only where {VARIABLE} names it"
)
def test_the_real_data_is_read_whole():
    suite = read_bfcl()
    counts = {name: sum(name in case.tags for case in suite.cases) for name in CATEGORIES}
    assert sum(counts.values()) == len(suite.cases) > 3000
    assert all(counts.values())
