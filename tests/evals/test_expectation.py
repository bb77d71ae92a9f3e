"""How an answer is judged."""

from __future__ import annotations

import datetime as dt

import pytest

from toolhand import Toolset
from toolhand.evals.expectation import Answer, Made
from toolhand.evals.spots import CaseFileError, Spot
from toolhand.evals.wanted import read_expectation

DAY = dt.date(2025, 3, 3)
TOOLS = Toolset.from_openai(
    [
        {"name": "find", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}},
        {
            "name": "price",
            "parameters": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "unit": {"type": "string", "default": "eur"}},
            },
        },
        {"name": "buy", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}},
    ]
)


def made(name, error="", harmless=True, **arguments):
    defaults = {"unit": "eur"} if name == "price" else {}
    return Made(name=name, arguments=arguments, error=error, defaults=defaults, is_harmless=harmless)


def judged(expected, *calls, text="", stopped="answered"):
    expectation = read_expectation(Spot(expected), TOOLS)
    return expectation.judge(Answer(calls=calls, text=text, stopped=stopped), DAY)


def codes(verdict):
    return [finding.code for finding in verdict.findings]


FIND, PRICE = made("find", q="tea"), made("price", id="a")


def test_the_expected_calls_in_any_order():
    expected = {"calls": ["find", {"price": {"id": "a"}}]}
    assert judged(expected, FIND, PRICE).passes
    assert judged(expected, PRICE, FIND).passes
    assert codes(judged(expected, FIND)) == ["missing_call"]
    assert codes(judged(expected)) == ["missing_call", "missing_call"]


def test_a_wrong_argument_is_named_and_its_call_counts_as_wrong():
    verdict = judged({"calls": [{"price": {"id": "b"}}]}, PRICE)
    assert [(f.code, f.path, f.actual) for f in verdict.findings] == [("value", "price.id", '"a"')]
    assert verdict.wrong_calls == 1


def test_two_calls_of_one_tool_are_told_apart():
    expected = {"calls": [{"find": {"q": {"any": True}}}, {"find": {"q": "tea"}}]}
    assert judged(expected, FIND, made("find", q="cups")).passes
    assert judged(expected, made("find", q="cups"), FIND).passes
    assert not judged(expected, made("find", q="cups"), made("find", q="pots")).passes


@pytest.mark.parametrize(
    ("order", "calls", "passes"),
    [
        ("listed", (FIND, PRICE), True),
        ("listed", (PRICE, FIND), False),
        ([[2, 1]], (PRICE, FIND), True),
        ([[2, 1]], (FIND, PRICE), False),
        ([[1, 2], [2, 1]], (FIND, PRICE), True),
        ([[1, 2], [2, 1]], (PRICE, FIND), True),
    ],
)
def test_orders(order, calls, passes):
    verdict = judged({"calls": ["find", "price"], "order": order}, *calls)
    assert verdict.passes == passes
    if not passes:
        assert codes(verdict) == ["order"]
        assert verdict.wrong_calls == 0


@pytest.mark.parametrize("order", [[[1]], [[1, 1]], [[0, 1]], [[1, 3]], "sorted", [[1, "2"]]], ids=repr)
def test_an_order_that_is_none_is_refused(order):
    with pytest.raises(CaseFileError):
        judged({"calls": ["find", "price"], "order": order})


def test_defaults_may_be_sent_or_left_out():
    expected = {"calls": [{"price": {"id": "a"}}]}
    assert judged(expected, made("price", id="a", unit="eur")).passes
    assert codes(judged(expected, made("price", id="a", unit="usd"))) == ["unexpected_argument"]
    named = {"calls": [{"price": {"id": "a", "unit": "eur"}}]}
    assert judged(named, PRICE).passes
    absent = {"calls": [{"price": {"id": "a", "unit": {"absent": True}}}]}
    assert judged(absent, made("price", id="a", unit="eur")).passes
    assert not judged(absent, made("price", id="a", unit="usd")).passes
    usd = {"calls": [{"price": {"id": "a", "unit": "usd"}}]}
    assert codes(judged(usd, PRICE)) == ["missing_argument"]


def test_other_arguments_where_they_do_not_matter():
    assert judged({"calls": [{"price": {"id": "a", "...": True}}]}, made("price", id="a", unit="usd")).passes


def test_no_call_at_all():
    assert judged({"calls": "none"}, text="hello").passes
    verdict = judged({"calls": "none"}, PRICE, FIND)
    assert codes(verdict) == ["unexpected_call", "unexpected_call"]
    assert verdict.wrong_calls == 2


def test_what_never_ran_counts_neither_way():
    broken = made("price", error="missing_argument")
    assert judged({"calls": "none"}, broken).passes
    assert codes(judged({"calls": ["price"]}, broken)) == ["missing_call"]
    assert judged({"calls": ["price"]}, broken, PRICE).passes


def test_a_tool_that_fails_was_called_all_the_same():
    assert judged({"calls": ["price"]}, made("price", error="execution", id="a")).passes


def test_repeats_are_excused_where_they_do_no_harm():
    assert judged({"calls": ["price"]}, PRICE, PRICE).passes
    buy = made("buy", harmless=False, id="a")
    verdict = judged({"calls": ["buy"]}, buy, buy)
    assert codes(verdict) == ["unexpected_call"]
    assert verdict.wrong_calls == 1
    assert not judged({"calls": ["price"], "repeats": False}, PRICE, PRICE).passes


def test_allowed_and_extra_calls():
    assert not judged({"calls": ["price"]}, FIND, PRICE).passes
    assert judged({"calls": ["price"], "allowed": ["find"]}, FIND, PRICE).passes
    assert not judged({"calls": ["price"], "allowed": [{"find": {"q": "x"}}]}, FIND, PRICE).passes
    verdict = judged({"calls": ["price"], "extra_calls": True}, FIND, PRICE)
    assert verdict.passes
    assert verdict.wrong_calls == 0


def test_forbidden_calls():
    expected = {"forbidden": [{"buy": {"id": {"not": "a"}}}]}
    assert judged(expected, made("buy", id="a"), FIND).passes
    verdict = judged(expected, made("buy", id="b"))
    assert codes(verdict) == ["forbidden_call"]
    assert verdict.wrong_calls == 1
    both = judged({"calls": ["find"], "extra_calls": True, "forbidden": ["buy"]}, FIND, made("buy", id="b"))
    assert codes(both) == ["forbidden_call"]


def test_texts():
    expected = {"text": ["3.5", {"regex": "EUR|€"}], "no_text": ["sorry"]}
    assert judged(expected, text="It costs 3.5 EUR.").passes
    assert codes(judged(expected, text="It costs 3.5.")) == ["text"]
    assert codes(judged(expected, text="Sorry, 3.5 €")) == ["no_text"]
    assert codes(judged(expected, text=" ", stopped="loop")) == ["no_answer"]


def test_one_of_several_alternatives():
    expected = {"any_of": [{"calls": ["find"]}, {"calls": "none", "text": {"regex": "[?]"}}]}
    assert judged(expected, FIND).passes
    assert judged(expected, text="Which one?").passes
    verdict = judged(expected, text="No.")
    assert not verdict.passes
    assert len(verdict.findings) == 1


@pytest.mark.parametrize(
    ("expected", "kind"),
    [
        ({"calls": ["find"]}, "calls"),
        ({"calls": "none"}, "silence"),
        ({"text": "a"}, "text"),
        ({"any_of": [{"calls": ["find"]}, {"calls": ["buy"]}]}, "calls"),
        ({"any_of": [{"calls": ["find"]}, {"calls": "none"}]}, "text"),
    ],
)
def test_what_a_case_is_about(expected, kind):
    assert read_expectation(Spot(expected), TOOLS).kind == kind
