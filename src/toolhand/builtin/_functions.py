"""The calculator's functions and constants by name: trigonometry to 50 digits, and what takes several numbers.

Series: https://dlmf.nist.gov/4.19 (sine) and https://dlmf.nist.gov/4.24 (arc tangent).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Final

from toolhand.builtin._numbers import (
    FINE,
    NEARLY,
    PI,
    ROUNDED,
    E,
    Number,
    add,
    as_decimal,
    bounded,
    cube_root,
    divide,
    exponential,
    factorial,
    is_whole,
    logarithm,
    logarithm10,
    magnitude,
    modulo,
    multiply,
    power,
    refused,
    round_to,
    square_root,
    subtract,
    whole,
)

MAX_ANGLE: Final = 10**15


def sine(angle: Number) -> Number:
    """The sine of an angle in radians."""
    if angle == 0:
        return Fraction(0)
    return _sine(_angle(angle), is_small=magnitude(angle) < 1)


def cosine(angle: Number) -> Number:
    """The cosine of an angle in radians."""
    if angle == 0:
        return Fraction(1)
    return _sine(FINE.add(_angle(angle), FINE.divide(PI, Decimal(2))), is_small=False)


def tangent(angle: Number) -> Number:
    """The tangent of an angle in radians."""
    below = cosine(angle)
    if below == 0:
        raise refused("The tangent is not defined at this angle.", "正切在这个角度没有定义。")
    return divide(sine(angle), below)


def _angle(angle: Number) -> Decimal:
    if magnitude(angle) > MAX_ANGLE:
        raise refused(
            f"An angle must not be above {MAX_ANGLE:.0e}.",
            f"角度不能超过 {MAX_ANGLE:.0e}。",
            (
                "Angles are in radians; write radians(90) for 90 degrees.",
                "角度以弧度为单位；90 度请写成 radians(90)。",
            ),
        )
    return as_decimal(angle, FINE)


def _sine(angle: Decimal, *, is_small: bool) -> Decimal:
    turn = FINE.multiply(PI, Decimal(2))
    angle = FINE.subtract(
        angle, FINE.multiply(turn, FINE.divide(angle, turn).to_integral_value(ROUND_HALF_UP))
    )
    total = term = angle
    square = FINE.multiply(angle, angle)
    for n in range(2, 120, 2):  # |angle| ≤ π: the 60th term is below 1e-120
        term = FINE.divide(FINE.multiply(term, square), Decimal(-n * (n + 1)))
        total = FINE.add(total, term)
    # The sine of 50-digit π is 1e-50 and not 0: what lies below the angle's own rounding is cut off.
    return ROUNDED.plus(total) if is_small else ROUNDED.plus(total.quantize(NEARLY, context=FINE))


def arc_tangent(number: Number) -> Number:
    """The angle in radians with this tangent."""
    if number == 0:
        return Fraction(0)
    x = as_decimal(number, FINE)
    for _ in range(4):  # atan x = 2 atan(x / (1 + √(1 + x²))): four times brings it below 0.1
        x = FINE.divide(x, FINE.add(Decimal(1), FINE.sqrt(FINE.add(Decimal(1), FINE.multiply(x, x)))))
    total = term = x
    square = FINE.multiply(x, x)
    for n in range(3, 81, 2):
        term = FINE.minus(FINE.multiply(term, square))
        total = FINE.add(total, FINE.divide(term, Decimal(n)))
    return ROUNDED.multiply(total, Decimal(16))


def arc_sine(number: Number) -> Number:
    """The angle in radians with this sine."""
    if magnitude(number) > 1:
        raise refused("asin and acos need a number from -1 to 1.", "asin 和 acos 的参数必须在 -1 到 1 之间。")
    rest = subtract(Fraction(1), multiply(number, number))
    if rest == 0:
        return multiply(number, divide(PI, Fraction(2)))
    return arc_tangent(divide(number, square_root(rest)))


def arc_cosine(number: Number) -> Number:
    """The angle in radians with this cosine."""
    return subtract(divide(PI, Fraction(2)), arc_sine(number))


def total(*numbers: Number) -> Number:
    """Their sum."""
    found: Number = Fraction(0)
    for number in numbers:
        found = add(found, number)
    return found


def mean(*numbers: Number) -> Number:
    """Their average."""
    return divide(total(*numbers), Fraction(len(numbers)))


def median(*numbers: Number) -> Number:
    """The middle one in order, or the average of the two in the middle."""
    ordered = sorted(numbers, key=_order)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else mean(ordered[middle - 1], ordered[middle])


def smallest(*numbers: Number) -> Number:
    """The smallest one."""
    return min(numbers, key=_order)


def largest(*numbers: Number) -> Number:
    """The largest one."""
    return max(numbers, key=_order)


def _order(number: Number) -> Fraction:
    return number if isinstance(number, Fraction) else Fraction(number)


def greatest_divisor(*numbers: Number) -> Number:
    """The greatest whole number that divides all of them."""
    return Fraction(math.gcd(*(_integer(number) for number in numbers)))


def least_multiple(*numbers: Number) -> Number:
    """The least whole number that all of them divide."""
    found = 1
    for number in numbers:  # one at a time: each step is bounded before the next
        found = int(bounded(Fraction(math.lcm(found, _integer(number)))))
    return Fraction(found)


def _integer(number: Number) -> int:
    if not is_whole(number):
        raise refused("gcd and lcm need whole numbers.", "gcd 和 lcm 的参数必须是整数。")
    return int(whole(number, ROUND_FLOOR))


FUNCTIONS: Final[dict[str, tuple[int, int, Callable[..., Number]]]] = {
    "sqrt": (1, 1, square_root),
    "cbrt": (1, 1, cube_root),
    "abs": (1, 1, magnitude),
    "round": (1, 2, round_to),
    "floor": (1, 1, lambda x: whole(x, ROUND_FLOOR)),
    "ceil": (1, 1, lambda x: whole(x, ROUND_CEILING)),
    "trunc": (1, 1, lambda x: whole(x, ROUND_DOWN)),
    "int": (1, 1, lambda x: whole(x, ROUND_DOWN)),
    "min": (1, 500, smallest),
    "max": (1, 500, largest),
    "sum": (1, 500, total),
    "avg": (1, 500, mean),
    "mean": (1, 500, mean),
    "median": (1, 500, median),
    "log": (1, 2, logarithm),
    "ln": (1, 1, logarithm),
    "log10": (1, 1, logarithm10),
    "lg": (1, 1, logarithm10),
    "log2": (1, 1, lambda x: logarithm(x, Fraction(2))),
    "exp": (1, 1, exponential),
    "sin": (1, 1, sine),
    "cos": (1, 1, cosine),
    "tan": (1, 1, tangent),
    "asin": (1, 1, arc_sine),
    "acos": (1, 1, arc_cosine),
    "atan": (1, 1, arc_tangent),
    "radians": (1, 1, lambda x: divide(multiply(x, PI), Fraction(180))),
    "degrees": (1, 1, lambda x: divide(multiply(x, Fraction(180)), PI)),
    "pow": (2, 2, power),
    "mod": (2, 2, modulo),
    "factorial": (1, 1, factorial),
    "gcd": (1, 500, greatest_divisor),
    "lcm": (1, 500, least_multiple),
}
"""name → fewest arguments, most arguments, what computes it. Angles are in radians; log is the natural one, as in Python."""

CONSTANTS: Final[dict[str, Number]] = {
    "pi": ROUNDED.plus(PI),
    "e": E,
    "tau": ROUNDED.multiply(PI, Decimal(2)),
}
