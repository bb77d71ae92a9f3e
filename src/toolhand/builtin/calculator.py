"""`calculate`: arithmetic that a model must not do in its head. Exact for fractions and decimals, bounded, without eval."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Annotated, Final, NotRequired, TypedDict

from pydantic import Field

from toolhand.builtin._expression import MAX_LENGTH, evaluate
from toolhand.builtin._numbers import Number, as_decimal
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

SHOWN_DIGITS: Final = 15
_MAX_EXACT_DIGITS: Final = 40
_MAX_FRACTION_LENGTH: Final = 20
_NEARLY: Final = Decimal("1e-40")
"""Relative; a difference below it comes from computing with 50 digits, and tan(pi/4) is 1."""

_SHOWN: Final = Context(prec=SHOWN_DIGITS, Emax=99_999, Emin=-99_999)


class Calculation(TypedDict):
    """A computed expression.

    `result` is a JSON number wherever that holds every digit, else text. `rounded` is there, and true, where the result has
    more digits than are shown; `exact` is the fraction behind it, where that is short.
    """

    expression: str
    result: int | float | str
    rounded: NotRequired[bool]
    exact: NotRequired[str]


def offer(settings: BuiltinSettings) -> list[Tool]:  # noqa: ARG001 - needs no settings; every file's `offer` looks alike
    """`calculate`, always."""
    return [calculate]


@tool(effect="reads", idempotent=True, category="math", timeout=10)
def calculate(
    expression: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_LENGTH,
            examples=["(12.5 + 7) * 4", "1,200 * 15%", "round(sqrt(2), 3)"],
        ),
    ],
) -> Calculation:
    """Computes an arithmetic expression exactly.

    精确计算算式，如加减乘除、百分比、乘方、开方。

    Args:
        expression: numbers and operators only, such as "(12.5 + 7) * 4" or "200 * 15%"; also sqrt, round, min, max, sum, avg,
            log, sin, pi. 算式，不含文字和变量。

    Returns:
        The result, and the expression as it was read.
    """
    number, understood = evaluate(expression)
    return _shown(number, understood)


def _shown(number: Number, understood: str) -> Calculation:
    if isinstance(number, Fraction):
        if number.denominator == 1:
            return Calculation(expression=understood, result=number.numerator)
        exact = _exact_decimal(number)
        if exact is not None:
            return Calculation(expression=understood, result=_json_number(exact))
    all_digits = as_decimal(number)
    few_digits = _SHOWN.plus(all_digits).normalize(_SHOWN)
    shown = Calculation(expression=understood, result=_json_number(few_digits))
    if abs(few_digits - all_digits) > _NEARLY * abs(all_digits):
        shown["rounded"] = True
    if isinstance(number, Fraction) and len(str(number)) <= _MAX_FRACTION_LENGTH:
        shown["exact"] = str(number)
    return shown


def _exact_decimal(number: Fraction) -> Decimal | None:
    """The fraction as a decimal with all its digits, or None where it has no end or too many."""
    twos = fives = 0
    rest = number.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1:
        return None
    digits = number.numerator * 10**places // number.denominator
    if len(str(abs(digits))) > _MAX_EXACT_DIGITS:
        return None
    return Decimal(digits).scaleb(-places)


def _json_number(number: Decimal) -> int | float | str:
    if number == number.to_integral_value() and number.adjusted() <= SHOWN_DIGITS:
        return int(number)
    nearest = float(number)
    return nearest if Decimal(repr(nearest)) == number else str(number)
