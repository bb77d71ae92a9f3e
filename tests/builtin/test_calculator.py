from __future__ import annotations

import contextlib
import json
import math
import operator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builtin.conftest import asking, refused
from tests.timing import cpu_seconds
from toolhand.builtin._expression import MAX_DEPTH, evaluate
from toolhand.builtin.calculator import calculate
from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import language_of

CASES = json.loads((Path(__file__).parents[1] / "cases" / "calculator.json").read_text())
ask = asking(calculate)


@pytest.mark.parametrize(("expression", "expected"), CASES["values"])
def test_values(expression, expected):
    result = ask(expression=expression)["result"]
    assert result == expected
    assert type(result) is type(expected), "integers stay integers"


@pytest.mark.parametrize(("expression", "mentions"), CASES["refusals"])
def test_refusals_say_what_is_wrong(expression, mentions):
    with pytest.raises(ToolFailure) as caught:
        calculate(expression=expression)
    assert caught.value.error.code == ErrorCode.INVALID_ARGUMENT
    assert caught.value.error.retryable
    assert mentions in caught.value.error.sentence
    in_chinese = caught.value.told("zh")
    assert language_of(in_chinese.message) == "zh"
    assert not in_chinese.hint or language_of(in_chinese.hint) == "zh"


def test_what_is_rounded_says_so():
    assert ask(expression="1/3") == {
        "expression": "1 / 3",
        "result": 0.333333333333333,
        "rounded": True,
        "exact": "1/3",
    }
    assert "rounded" not in ask(expression="1/8")


def test_it_says_how_it_read_the_expression():
    assert ask(expression="１,234×2 ％ of 3")["expression"] == "1234 * 2% * 3"


def test_an_expression_of_another_kind_is_refused():
    assert refused(ask(expression="答案是多少")).hint


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 400 + "1" + ")" * 400,
        "-" * 900 + "1",
        "2**" * 300 + "2",
        "sum(" + "[" * 900,
        "sqrt(" * 150 + "2" + ")" * 150,
        "9**9**9**9",
        "170!**170!",
        "(9**1000)**(9**1000)",
        "*".join(["(10**900)"] * 50),
        "+".join(["1/7"] * 200) + "**99999999",
        "lcm(" + ",".join(str(10**15 + n) for n in range(50)) + ")",
        "1" * 1000 + "**" + "1",
        "exp(exp(exp(10)))",
        "!" * 999,
        "3" + "!" * 900,
        "e**" * 200 + "e",
        "0." + "1" * 900 + "**3",
        "1e999*1e999",
        "sum(" + ",".join(f"1/{n}" for n in range(1, 180)) + ")",
    ],
)
def test_nothing_takes_long(expression):
    def work() -> None:
        with contextlib.suppress(ToolFailure):
            calculate(expression=expression)

    assert cpu_seconds(work, times=1) < 2


def test_long_expressions_never_reach_the_parser():
    with pytest.raises(ToolFailure, match="longer than"):
        calculate(expression="1+" * 10_000 + "1")


def test_depth_is_counted_up_to_the_limit():
    deep = MAX_DEPTH - 2
    assert ask(expression="(" * deep + "7" + ")" * deep)["result"] == 7


numbers = st.one_of(
    st.integers(0, 10**12).map(str),
    st.decimals(0, 10**6, places=4).map(str),
)
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
}


@st.composite
def expressions(draw, depth=3):
    """An expression and its value by Python's fractions."""
    if depth == 0 or draw(st.booleans()):
        text = draw(numbers)
        return text, Fraction(text)
    left, left_value = draw(expressions(depth=depth - 1))
    right, right_value = draw(expressions(depth=depth - 1))
    symbol = draw(st.sampled_from(sorted(OPERATORS)))
    if symbol in ("/", "//") and right_value == 0:
        symbol = "*"
    return f"({left}) {symbol} ({right})", Fraction(OPERATORS[symbol](left_value, right_value))


@given(expressions())
@settings(max_examples=200, deadline=None)
def test_arithmetic_is_exactly_that_of_fractions(pair):
    text, value = pair
    assert evaluate(text)[0] == value


@given(
    st.lists(st.tuples(st.sampled_from(["+", "-", "*", "**"]), st.integers(1, 4)), max_size=6),
    st.integers(1, 9),
)
@settings(max_examples=200, deadline=None)
def test_precedence_is_that_of_python(rest, first):
    text = str(first) + "".join(f" {symbol} {number}" for symbol, number in rest)
    try:
        value = evaluate(text)[0]
    except ToolFailure:  # too large; then Python must not be asked either
        assert "**" in text
    else:
        assert value == eval(text)


@given(st.floats(-50, 50, allow_nan=False), st.sampled_from(["sin", "cos", "atan", "exp"]))
@settings(max_examples=200, deadline=None)
def test_functions_agree_with_the_math_library(x, name):
    result = float(evaluate(f"{name}({x!r})" if x >= 0 else f"{name}(-{-x!r})")[0])
    assert result == pytest.approx(getattr(math, name)(x), rel=1e-12, abs=1e-15)


@given(st.text(alphabet="0123456789.,+-*/%^()[]!eE ×÷（）％√²aspin万的=", max_size=40))
@settings(max_examples=500, deadline=None)
def test_any_text_is_computed_or_refused(text):
    try:
        result = calculate(expression=text)["result"]
    except ToolFailure:
        return
    assert isinstance(result, int | float | str)
    json.dumps(result, allow_nan=False)
