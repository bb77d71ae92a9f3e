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
ROUNDED: Final = Context(
    prec=50, Emax=9_999, Emin=-9_999, traps=[Overflow, Underflow, InvalidOperation, DivisionByZero]
)
FINE: Final = Context(prec=75, Emax=99_999, Emin=-99_999, traps=[Overflow, InvalidOperation, DivisionByZero])
PI: Final = Decimal(
    "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067982"
)
E: Final = ROUNDED.exp(Decimal(1))
NEARLY: Final = Decimal("1e-30")
"""How near a rounded number must be to a whole one to be that one: far above 50-digit rounding, far below what is shown."""


def refused(message: str, chinese: str, hints: tuple[str, str] = ("", "")) -> ToolFailure:
    """What the model is told of an expression that cannot be computed.

    Args:
        message: what is wrong.
        chinese: the same in Chinese.
        hints: what to do, in both languages.
    """
    return ToolFailure(
        message,
        code=ErrorCode.INVALID_ARGUMENT,
        retryable=True,
        hint=hints[0],
        chinese=(chinese, hints[1]),
    )


def too_large() -> ToolFailure:
    """The refusal of numbers above 1,000 digits."""
    return refused(
        f"The result, or a step to it, has more than {MAX_DIGITS:,} digits.",
        f"结果或中间步骤超过 {MAX_DIGITS:,} 位。",
        ("Use smaller numbers.", "请使用更小的数。"),
    )


def bounded(number: Number) -> Number:
    """The number itself, if it is not too long."""
    if (
        isinstance(number, Fraction)
        and max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS
    ):
        raise too_large()
    return number


def as_decimal(number: Number, context: Context = ROUNDED) -> Decimal:
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
        raise refused(
            "The result, or a step to it, is too close to zero.", "结果或中间步骤过于接近零。"
        ) from None
    except DivisionByZero:
        raise division_by_zero() from None
    except DecimalException:
        raise refused("The result is not a real number.", "结果不是实数。") from None


def division_by_zero() -> ToolFailure:
    """The refusal of a division by zero."""
    return refused("Division by zero.", "除以零。", ("The divisor must not be 0.", "除数不能为零。"))


def add(a: Number, b: Number) -> Number:
    """The sum a + b."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return bounded(a + b)
    return _rounded(ROUNDED.add, a, b)


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
    return _rounded(ROUNDED.multiply, a, b)


def divide(a: Number, b: Number) -> Number:
    """The quotient a ÷ b."""
    if b == 0:
        raise division_by_zero()
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return bounded(a / b)
    return _rounded(ROUNDED.divide, a, b)


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
        raise refused("A negative number to a broken power is not a real number.", "负数的分数次幂不是实数。")
    if base == 0 or exponent == 0:
        return Fraction(exponent == 0)
    return _rounded(ROUNDED.power, base, exponent)


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
        if FINE.abs(FINE.subtract(number, nearest)) <= NEARLY * max(Decimal(1), number.copy_abs()):
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
    scale = Fraction(10) ** small_integer(places, 100, ("round's second argument", "round 的第二个参数"))
    return whole(multiply(number, scale), ROUND_HALF_UP) / scale


def small_integer(number: Number, limit: int, what: tuple[str, str]) -> int:
    """The number as an integer of at most `limit`, in either direction; `what` it is, in both languages."""
    if not is_whole(number) or magnitude(number) > limit:
        raise refused(
            f"{what[0]} must be a whole number up to {limit:,}.", f"{what[1]}必须是不超过 {limit:,} 的整数。"
        )
    return int(number)


def factorial(number: Number) -> Number:
    """The factorial n! of a small whole n."""
    n = small_integer(number, MAX_DIGITS, ("The number before '!'", "“!”前面的数"))
    if n < 0:
        raise refused("There is no factorial of a negative number.", "负数没有阶乘。")
    if n > 1 and math.lgamma(n + 1) > MAX_DIGITS * math.log(10):
        raise too_large()
    return bounded(Fraction(math.factorial(n)))


def square_root(number: Number) -> Number:
    """√, exact where it comes out even."""
    if number < 0:
        raise refused("There is no real square root of a negative number.", "负数没有实数平方根。")
    return power(number, Fraction(1, 2))


def cube_root(number: Number) -> Number:
    """∛, of negative numbers too."""
    third = Fraction(1, 3)
    return negate(power(negate(number), third)) if number < 0 else power(number, third)


def logarithm(number: Number, base: Number | None = None) -> Number:
    """The natural logarithm, or the one to a base."""
    if number <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise refused(
            "A logarithm needs a number above 0, and a base above 0 that is not 1.",
            "对数的真数必须大于 0，底数必须大于 0 且不等于 1。",
        )
    if number == 1:
        return Fraction(0)
    if base is None:
        return _rounded(ROUNDED.ln, number)
    return divide(_rounded(ROUNDED.ln, number), _rounded(ROUNDED.ln, base))


def logarithm10(number: Number) -> Number:
    """The logarithm to base 10."""
    if number <= 0:
        raise refused("A logarithm needs a number above 0.", "对数的真数必须大于 0。")
    return _rounded(ROUNDED.log10, number)


def exponential(number: Number) -> Number:
    """The power of e to a number."""
    return Fraction(1) if number == 0 else _rounded(ROUNDED.exp, number)
