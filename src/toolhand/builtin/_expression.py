"""Reads and computes the calculator's expressions: a precedence-climbing parser of our own, without eval.

Method: Vaughan Pratt, "Top down operator precedence" (1973). Tokens are read once from left to right; what was understood is
kept as text, so that the answer can say how the expression was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from toolhand.builtin._functions import CONSTANTS, FUNCTIONS
from toolhand.builtin._numbers import (
    MAX_DIGITS,
    Number,
    add,
    bounded,
    divide,
    factorial,
    floor_divide,
    modulo,
    multiply,
    negate,
    power,
    refused,
    square_root,
    subtract,
    too_large,
)

MAX_LENGTH: Final = 1_000
MAX_DEPTH: Final = 50
_IN_PARTS: Final = ("Compute it in parts.", "请分步计算。")

_INFIX: Final[dict[str, tuple[int, Callable[[Number, Number], Number]]]] = {
    "+": (10, add),
    "-": (10, subtract),
    "*": (20, multiply),
    "/": (20, divide),
    "//": (20, floor_divide),
    "%": (20, modulo),
    "**": (30, power),
}
_SIGN_STRENGTH: Final = 25  # between * and **: -2**2 is -(2**2), and -2*3 is (-2)*3

_POSTFIX: Final[dict[str, Callable[[Number], Number]]] = {
    "%": lambda x: divide(x, Fraction(100)),
    "!": factorial,
    "万": lambda x: multiply(x, Fraction(10**4)),
    "亿": lambda x: multiply(x, Fraction(10**8)),
}

# Not NFKC: that would make 52 of 5². Full-width forms are ASCII moved up by 0xFEE0.
_SPELLINGS: Final = {
    **{chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F)},
    "×": "*", "✕": "*", "∗": "*", "·": "*", "⋅": "*", "∙": "*", "的": " of ",
    "÷": "/", "∕": "/", "−": "-", "–": "-", "—": "-", "﹣": "-", "﹢": "+", "‰": "/1000", "％": "%",
    "²": "**2", "³": "**3", "π": "pi", "√": "sqrt ", "、": ",", "【": "[", "】": "]", "\u3000": " ", "\xa0": " ",
}  # fmt: skip
_TRANSLATION: Final = str.maketrans(_SPELLINGS)
_GROUPED: Final = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?!,?\d)(?:\.\d+)?")
_NUMBER: Final = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,9})(?![\w.]))?")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|[万亿]")
_SYMBOL: Final = re.compile(r"\*\*|//|[-+*/%^!(),\[\]]")
_ENDING: Final = re.compile(r"\s*=\s*\??\s*$")
_ASCII_DIGITS: Final = re.compile(r"[0-9]")


@dataclass(frozen=True, slots=True)
class Token:
    """A word of an expression: a number, a name, or a symbol."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _Value:
    number: Number
    is_share: bool = False
    """A percentage, a sum with one, or the number 1: what may stand beside a percentage without doubt."""
    has_percentage: bool = False


_END: Final = Token("end", "")


def evaluate(expression: str) -> tuple[Number, str]:
    """The value of an expression, and the expression as it was understood.

    Raises:
        ToolFailure: when it cannot be read, is too long or too deep, or has no real or no bounded value.
    """
    if len(expression) > MAX_LENGTH:
        raise refused(
            f"The expression is longer than {MAX_LENGTH:,} characters.",
            f"算式超过 {MAX_LENGTH:,} 个字符。",
            _IN_PARTS,
        )
    parser = _Parser(tokens(expression))
    value = parser.expression(0)
    parser.expect_end()
    return value.number, parser.understood


def tokens(expression: str) -> list[Token]:
    """Cuts an expression into words. Commas between digits group thousands, except between the arguments of a function."""
    text = _ENDING.sub("", expression.translate(_TRANSLATION))
    found: list[Token] = []
    brackets: list[bool] = []  # for each open one, whether commas in it separate
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        number = (None if any(brackets) else _GROUPED.match(text, at)) or _NUMBER.match(text, at)
        if number and _ASCII_DIGITS.search(number[0]):
            token = Token("number", number[0].replace(",", ""))
            at = number.end()
        else:
            match = _NAME.match(text, at) or _SYMBOL.match(text, at)
            if match is None:
                raise refused(
                    f"'{text[at]}' cannot stand in an expression.",
                    f"算式中不能出现“{text[at]}”。",
                    (
                        "Use numbers, + - * / // % ** and parentheses.",
                        "请使用数字、+ - * / // % ** 和括号。",
                    ),
                )
            token = _word(match[0])
            at = match.end()
        if token.text in ("(", "["):
            brackets.append(token.text == "[" or (bool(found) and found[-1].kind == "name"))
        elif token.text in (")", "]") and brackets:
            brackets.pop()
        elif token.text == "," and not any(brackets):
            raise refused(
                "A comma stands where it neither groups thousands (1,234,567) nor separates a function's arguments.",
                "这个逗号既不是千位分隔（1,234,567），也不分隔函数的参数。",
                ("Write decimals with a point: 0.5.", "小数请用点：0.5。"),
            )
        found.append(token)
    return found


def _word(text: str) -> Token:
    if text == "^":
        return Token("symbol", "**")
    if text.casefold() == "of":
        return Token("symbol", "*")
    if text in _POSTFIX:
        return Token("symbol", text)
    return Token("name" if text[0].isalpha() or text[0] == "_" else "symbol", text)


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self._tokens = [*found, _END]
        self._at = 0
        self._depth = 0
        self._understood: list[str] = []

    @property
    def understood(self) -> str:
        """What was read so far, in one spelling."""
        return "".join(self._understood)

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self, spelling: str | None = None) -> Token:
        token = self._next
        self._understood.append(token.text if spelling is None else spelling)
        self._at += 1
        return token

    def expect_end(self) -> None:
        """Raises where words are left over."""
        token = self._next
        if token.kind == "end":
            return
        if token.kind in ("number", "name") or token.text in "([":
            raise refused(
                f"Before '{token.text}' an operator is missing.",
                f"“{token.text}”前面缺少运算符。",
                ("Write * between factors: 2 * (3 + 4).", "乘号要写出来：2 * (3 + 4)。"),
            )
        raise refused(f"'{token.text}' has no beginning.", f"“{token.text}”没有对应的开头。")

    def expression(self, strength: int) -> _Value:
        """Reads what binds more tightly than `strength`."""
        self._deepen()
        left = self._operand()
        while True:
            symbol = self._next.text if self._next.kind == "symbol" else ""
            if symbol in _POSTFIX and not (symbol == "%" and self._operand_follows()):
                self._take()
                left = _Value(
                    _POSTFIX[symbol](left.number), is_share=symbol == "%", has_percentage=symbol == "%"
                )
                continue
            if symbol not in _INFIX or _INFIX[symbol][0] <= strength:
                break
            self._take(f" {symbol} ")
            # ** groups from the right: 2**3**2 is 2**(3**2).
            right = self.expression(_INFIX[symbol][0] - (symbol == "**"))
            left = _combined(left, symbol, right)
        self._depth -= 1
        return left

    def _operand_follows(self) -> bool:
        """Whether "%" stands between two operands, so that it asks for the remainder; else it is per cent."""
        after = self._tokens[self._at + 1]
        return after.kind in ("number", "name") or after.text in ("(", "[")

    def _operand(self) -> _Value:
        token = self._take()
        if token.kind == "number":
            return _Value(_literal(token.text), is_share=token.text == "1")
        if token.kind == "name":
            return _Value(self._named(token.text))
        if token.text in ("+", "-"):
            value = self.expression(_SIGN_STRENGTH)
            return replace(value, number=negate(value.number)) if token.text == "-" else value
        if token.text == "(":
            value = self.expression(0)
            self._close(")")
            return value
        if token.kind == "end":
            raise refused("The expression ends where a number should follow.", "算式在应有数字的地方结束了。")
        raise refused(
            f"'{token.text}' stands where a number should be.", f"“{token.text}”出现在应有数字的地方。"
        )

    def _named(self, name: str) -> Number:
        key = name.casefold()
        if key in CONSTANTS and self._next.text != "(":
            return CONSTANTS[key]
        if key not in FUNCTIONS:
            raise refused(
                f"'{name}' is not known here.",
                f"这里没有“{name}”。",
                (
                    f"There are no variables: write the numbers. Functions: {', '.join(FUNCTIONS)}. Constants: pi, e.",
                    f"不支持变量，请直接写数字。函数：{', '.join(FUNCTIONS)}。常数：pi、e。",
                ),
            )
        if self._next.text != "(":
            if key == "sqrt" and self._next.kind == "number":  # √2
                return square_root(_literal(self._take(f"({self._next.text})").text))
            raise refused(
                f"After '{name}' its argument in parentheses is missing.",
                f"“{name}”后面缺少括号里的参数。",
                (f"Write {key}(2).", f"请写成 {key}(2)。"),
            )
        self._take()
        numbers = self._arguments(")")
        fewest, most, function = FUNCTIONS[key]
        if not fewest <= len(numbers) <= most:
            expected = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise refused(
                f"'{name}' takes {expected} numbers and got {len(numbers)}.",
                f"“{name}”需要 {expected.replace(' to ', ' 到 ')} 个数，得到了 {len(numbers)} 个。",
            )
        return function(*numbers)

    def _arguments(self, closing: str) -> list[Number]:
        numbers: list[Number] = []
        self._deepen()
        while self._next.text != closing:
            if self._next.text == "[":  # sum([1, 2, 3]), as Python writes it
                self._take()
                numbers += self._arguments("]")
            else:
                numbers.append(self.expression(0).number)
            if self._next.text != ",":
                break
            self._take(", ")
        self._close(closing)
        self._depth -= 1
        return numbers

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise refused(
                f"The expression is nested more than {MAX_DEPTH} deep.",
                f"算式嵌套超过 {MAX_DEPTH} 层。",
                _IN_PARTS,
            )

    def _close(self, bracket: str) -> None:
        if self._next.text != bracket:
            if self._next.kind == "end":
                raise refused(f"A '{bracket}' is missing at the end.", f"结尾缺少“{bracket}”。")
            raise refused(
                f"A '{bracket}' is missing before '{self._next.text}'.",
                f"“{self._next.text}”前面缺少“{bracket}”。",
            )
        self._take()


def _literal(text: str) -> Number:
    mantissa, _, exponent = text.lower().partition("e")
    if abs(int(exponent or 0)) > MAX_DIGITS or len(mantissa) > MAX_DIGITS:
        raise too_large()
    return bounded(Fraction(f"{mantissa.rstrip('.') or '0'}") * Fraction(10) ** int(exponent or 0))


def _combined(left: _Value, symbol: str, right: _Value) -> _Value:
    compute = _INFIX[symbol][1]
    if symbol not in ("+", "-"):
        return _Value(compute(left.number, right.number))
    if right.has_percentage and not left.is_share:
        raise refused(
            f"'… {symbol} …%' can be read in two ways.",
            f"“… {symbol} …%”有两种理解。",
            (
                f"Write 200 * (1 {symbol} 15%) for a change of 200 by 15%, or 200 {symbol} 0.15 for the number.",
                f"表示 200 变动 15% 请写 200 * (1 {symbol} 15%)，表示数值请写 200 {symbol} 0.15。",
            ),
        )
    if left.has_percentage and not right.is_share:
        raise refused(
            f"'…% {symbol} …' can be read in two ways.",
            f"“…% {symbol} …”有两种理解。",
            (
                f"Write 0.15 {symbol} 200 for the numbers, or mod(7, -3) for the remainder of a division.",
                f"表示数值请写 0.15 {symbol} 200，表示余数请写 mod(7, -3)。",
            ),
        )
    has_percentage = left.has_percentage or right.has_percentage
    return _Value(compute(left.number, right.number), is_share=has_percentage, has_percentage=has_percentage)
