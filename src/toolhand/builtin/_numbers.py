"""The calculator's arithmetic: exact fractions while possible, decimals of 50 digits after that, at most 1,000 digits.

Every operation that could blow up is estimated before it is computed. `+ - * /` and whole powers of exact numbers stay exact;
roots that come out even stay exact too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_UP,
    Context,
    Decimal,
    DecimalException,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    Underflow,
)
from fractions import Fraction
from typing import Final, TypeAlias

from toolhand.core.errors import ErrorCode, ToolFailure

Number: TypeAlias = Fraction | Decimal
"""Exact as a `Fraction`, rounded to 50 digits as a `Decimal`."""

MAX_DIGITS: Final = 1_000
MAX_BITS: Final = int(MAX_DIGITS * math.log2(10))
MAX_ANGLE: Final = 10**15
_ROUNDED: Final = Context(
    prec=50, Emax=9_999, Emin=-9_999, traps=[Overflow, Underflow, InvalidOperation, DivisionByZero]
)
_FINE: Final = Context(prec=75, Emax=99_999, Emin=-99_999, traps=[Overflow, InvalidOperation, DivisionByZero])
PI: Final = Decimal(
    "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067982"
)
E: Final = _ROUNDED.exp(Decimal(1))
_NEARLY: Final = Decimal("1e-30")
"""How near a rounded number must be to a whole one to be that one: far above 50-digit rounding, far below what is shown."""


def refused(message: str, hint: str = "") -> ToolFailure:
    """What the model is told of an expression that cannot be computed."""
    return ToolFailure(message, code=ErrorCode.INVALID_ARGUMENT, retryable=True, hint=hint)


def too_large() -> ToolFailure:
    """The refusal of numbers above 1,000 digits."""
    return refused(
        f"The result, or a step to it, has more than {MAX_DIGITS:,} digits.", "Use smaller numbers."
    )


def bounded(number: Number) -> Number:
    """The number itself, if it is not too long."""
    if (
        isinstance(number, Fraction)
        and max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS
    ):
        raise too_large()
    return number


def as_decimal(number: Number, context: Context = _ROUNDED) -> Decimal:
    """The number rounded to the context's digits."""
    if isinstance(number, Decimal):
        return number
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _rounded(compute: Callable[..., Decimal], *numbers: Number) -> Decimal:
    try:
        return compute(*(as_decimal(number) for number in numbers))
    except Overflow:
        raise too_large() from None
    except Underflow:
        raise refused("The result, or a step to it, is too close to zero.") from None
    except DivisionByZero:
        raise division_by_zero() from None
    except DecimalException:
        raise refused("The result is not a real number.") from None


def division_by_zero() -> ToolFailure:
    """The refusal of a division by zero."""
    return refused("Division by zero.", "The divisor must not be 0. 除数不能为零。")


def add(a: Number, b: Number) -> Number:
    """The sum a + b."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return bounded(a + b)
    return _rounded(_ROUNDED.add, a, b)


def subtract(a: Number, b: Number) -> Number:
    """The difference a - b."""
    return add(a, negate(b))


def negate(a: Number) -> Number:
    """-a, without touching its digits."""
    return -a if isinstance(a, Fraction) else a.copy_negate()


def magnitude(a: Number) -> Number:
    """The number |a|, without touching its digits."""
    return abs(a) if isinstance(a, Fraction) else a.copy_abs()


def multiply(a: Number, b: Number) -> Number:
    """The product a × b."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return bounded(a * b)
    return _rounded(_ROUNDED.multiply, a, b)


def divide(a: Number, b: Number) -> Number:
    """The quotient a ÷ b."""
    if b == 0:
        raise division_by_zero()
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return bounded(a / b)
    return _rounded(_ROUNDED.divide, a, b)


def floor_divide(a: Number, b: Number) -> Number:
    """The whole part of a ÷ b, rounded down as in Python."""
    return whole(divide(a, b), ROUND_FLOOR)


def modulo(a: Number, b: Number) -> Number:
    """What a ÷ b leaves, with the sign of b as in Python."""
    return subtract(a, multiply(b, floor_divide(a, b)))


def power(base: Number, exponent: Number) -> Number:
    """Base to the power of exponent: exact where both are and the result is rational."""
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        exact = _exact_power(base, exponent)
        if exact is not None:
            return exact
    if base == 0 and exponent < 0:
        raise division_by_zero()
    if base < 0 and not is_whole(exponent):
        raise refused("A negative number to a broken power is not a real number.")
    if base == 0 or exponent == 0:
        return Fraction(exponent == 0)
    return _rounded(_ROUNDED.power, base, exponent)


def _exact_power(base: Fraction, exponent: Fraction) -> Number | None:
    if exponent.denominator == 1:
        times = exponent.numerator
        if base == 0 and times < 0:
            raise division_by_zero()
        if abs(base) in (0, 1):
            return base ** (times % 2 if base == -1 else min(abs(times), 1))
        # A number of n bits is at least 2**(n-1): what is let through has at most twice the bits allowed.
        bits = max(base.numerator.bit_length(), base.denominator.bit_length()) - 1
        if bits * abs(times) > MAX_BITS:
            raise too_large()
        return bounded(base**times)
    if base < 0 or exponent.denominator > 64:
        return None
    top = integer_root(base.numerator, exponent.denominator)
    bottom = integer_root(base.denominator, exponent.denominator)
    if top is None or bottom is None:
        return None
    return _exact_power(Fraction(top, bottom), Fraction(exponent.numerator))


def integer_root(number: int, degree: int) -> int | None:
    """The whole number whose power of that degree is `number`, or None if there is none."""
    if number in (0, 1):
        return number
    low, high = 1, 1 << (number.bit_length() // degree + 1)
    while low < high:  # at most 1,700 halvings of bounded numbers
        middle = (low + high + 1) // 2
        if middle**degree <= number:
            low = middle
        else:
            high = middle - 1
    return low if low**degree == number else None


def is_whole(number: Number) -> bool:
    """Whether it is an integer."""
    return number.denominator == 1 if isinstance(number, Fraction) else number == number.to_integral_value()


def whole(number: Number, rounding: str) -> Fraction:
    """The integer beside it, in the direction that `rounding` (a constant of `decimal`) says."""
    if isinstance(number, Decimal):
        if number.adjusted() > MAX_DIGITS:
            raise too_large()
        nearest = number.to_integral_value(ROUND_HALF_UP)
        if _FINE.abs(_FINE.subtract(number, nearest)) <= _NEARLY * max(Decimal(1), number.copy_abs()):
            return Fraction(nearest)
        return Fraction(number.to_integral_value(rounding))
    if rounding == ROUND_FLOOR:
        return Fraction(math.floor(number))
    if rounding == ROUND_CEILING:
        return Fraction(math.ceil(number))
    if rounding == ROUND_DOWN:
        return Fraction(math.trunc(number))
    half_up = math.floor(abs(number) + Fraction(1, 2))
    return Fraction(half_up if number >= 0 else -half_up)


def round_to(number: Number, places: Number = Fraction(0)) -> Fraction:
    """Rounded half away from zero (as in accounting, 四舍五入) to decimal places."""
    scale = Fraction(10) ** small_integer(places, 100, "round's second argument")
    return whole(multiply(number, scale), ROUND_HALF_UP) / scale


def small_integer(number: Number, limit: int, what: str) -> int:
    """The number as an integer of at most `limit`, in either direction."""
    if not is_whole(number) or magnitude(number) > limit:
        raise refused(f"{what} must be a whole number up to {limit:,}.")
    return int(number)


def factorial(number: Number) -> Number:
    """The factorial n! of a small whole n."""
    n = small_integer(number, MAX_DIGITS, "The number before '!'")
    if n < 0:
        raise refused("There is no factorial of a negative number.")
    if n > 1 and math.lgamma(n + 1) > MAX_DIGITS * math.log(10):
        raise too_large()
    return bounded(Fraction(math.factorial(n)))


def square_root(number: Number) -> Number:
    """√, exact where it comes out even."""
    if number < 0:
        raise refused("There is no real square root of a negative number.")
    return power(number, Fraction(1, 2))


def cube_root(number: Number) -> Number:
    """∛, of negative numbers too."""
    third = Fraction(1, 3)
    return negate(power(negate(number), third)) if number < 0 else power(number, third)


def logarithm(number: Number, base: Number | None = None) -> Number:
    """The natural logarithm, or the one to a base."""
    if number <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise refused("A logarithm needs a number above 0, and a base above 0 that is not 1.")
    if number == 1:
        return Fraction(0)
    if base is None:
        return _rounded(_ROUNDED.ln, number)
    return divide(_rounded(_ROUNDED.ln, number), _rounded(_ROUNDED.ln, base))


def logarithm10(number: Number) -> Number:
    """The logarithm to base 10."""
    if number <= 0:
        raise refused("A logarithm needs a number above 0.")
    return _rounded(_ROUNDED.log10, number)


def exponential(number: Number) -> Number:
    """The power of e to a number."""
    return Fraction(1) if number == 0 else _rounded(_ROUNDED.exp, number)


def sine(angle: Number) -> Number:
    """The sine of an angle in radians."""
    if angle == 0:
        return Fraction(0)
    return _sine(_angle(angle), is_small=magnitude(angle) < 1)


def cosine(angle: Number) -> Number:
    """The cosine of an angle in radians."""
    if angle == 0:
        return Fraction(1)
    return _sine(_FINE.add(_angle(angle), _FINE.divide(PI, Decimal(2))), is_small=False)


def tangent(angle: Number) -> Number:
    """The tangent of an angle in radians."""
    below = cosine(angle)
    if below == 0:
        raise refused("The tangent is not defined at this angle.")
    return divide(sine(angle), below)


def _angle(angle: Number) -> Decimal:
    if magnitude(angle) > MAX_ANGLE:
        raise refused(
            f"An angle must not be above {MAX_ANGLE:.0e}.",
            "Angles are in radians; write radians(90) for 90 degrees.",
        )
    return as_decimal(angle, _FINE)


def _sine(angle: Decimal, *, is_small: bool) -> Decimal:
    turn = _FINE.multiply(PI, Decimal(2))
    angle = _FINE.subtract(
        angle, _FINE.multiply(turn, _FINE.divide(angle, turn).to_integral_value(ROUND_HALF_UP))
    )
    total = term = angle
    square = _FINE.multiply(angle, angle)
    for n in range(2, 120, 2):  # |angle| ≤ π: the 60th term is below 1e-120
        term = _FINE.divide(_FINE.multiply(term, square), Decimal(-n * (n + 1)))
        total = _FINE.add(total, term)
    # The sine of 50-digit π is 1e-50 and not 0: what lies below the angle's own rounding is cut off.
    return _ROUNDED.plus(total) if is_small else _ROUNDED.plus(total.quantize(_NEARLY, context=_FINE))


def arc_tangent(number: Number) -> Number:
    """The angle in radians with this tangent."""
    if number == 0:
        return Fraction(0)
    x = as_decimal(number, _FINE)
    for _ in range(4):  # atan x = 2 atan(x / (1 + √(1 + x²))): four times brings it below 0.1
        x = _FINE.divide(x, _FINE.add(Decimal(1), _FINE.sqrt(_FINE.add(Decimal(1), _FINE.multiply(x, x)))))
    total = term = x
    square = _FINE.multiply(x, x)
    for n in range(3, 81, 2):
        term = _FINE.minus(_FINE.multiply(term, square))
        total = _FINE.add(total, _FINE.divide(term, Decimal(n)))
    return _ROUNDED.multiply(total, Decimal(16))


def arc_sine(number: Number) -> Number:
    """The angle in radians with this sine."""
    if magnitude(number) > 1:
        raise refused("asin and acos need a number from -1 to 1.")
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
        raise refused("gcd and lcm need whole numbers.")
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
    "pi": _ROUNDED.plus(PI),
    "e": E,
    "tau": _ROUNDED.multiply(PI, Decimal(2)),
}
