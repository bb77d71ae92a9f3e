"""What a plan is made of: frozen values, written out again in one spelling by `str`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from toolhand.core.errors import ToolError
from toolhand.core.messages import Fix

_ESCAPED = r"\\\g<0>"
_SINGLE = "'"
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[^\W\dA-Za-z_]\w*")
_LIKE_A_REFERENCE = re.compile(r"\$(?=[{\w]|\Z)|\{(?=[${\w\s]|\Z)")


def quoted(text: str) -> str:
    """A text in quotes, in which nothing passes for a reference."""
    inner = json.dumps(text, ensure_ascii=False)[1:-1]
    return f'"{_LIKE_A_REFERENCE.sub(_ESCAPED, inner)}"'


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it stands. `is_bare`: a word without quotes."""

    value: Any
    is_bare: bool = False

    def __str__(self) -> str:
        if self.is_bare:
            return str(self.value)
        return (
            quoted(self.value) if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """`$name.key[0]`: a step's result or a part of it. `shape`: how a number stands in a text, as Python's formats say."""

    name: str
    path: tuple[str | int, ...] = ()
    shape: str = ""

    def __str__(self) -> str:
        return self.written('"')

    def written(self, mark: str) -> str:
        """It as it stands in a plan, with these marks around keys that are no words."""
        keys = (f".{key}" if _WORD.fullmatch(str(key)) else f"[{mark}{key}{mark}]" for key in self.path)
        plain = (
            f"[{key}]" if isinstance(key, int) else word for key, word in zip(self.path, keys, strict=True)
        )
        return f"${self.name}{''.join(plain)}"


@dataclass(frozen=True, slots=True)
class Template:
    """A text with references in it."""

    parts: tuple[str | Reference, ...]

    def __str__(self) -> str:
        texts = (
            quoted(part)[1:-1]
            if isinstance(part, str)
            else f"{{{part.written(_SINGLE)}{part.shape and ':' + part.shape}}}"
            for part in self.parts
        )
        return f'"{"".join(texts)}"'


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[…]`."""

    items: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


@dataclass(frozen=True, slots=True)
class ObjectOf:
    """`{…}`."""

    fields: tuple[tuple[str, Expression], ...]

    def __str__(self) -> str:
        return f"{{{', '.join(f'{json.dumps(key, ensure_ascii=False)}: {value}' for key, value in self.fields)}}}"


@dataclass(frozen=True, slots=True)
class Test:
    """A comparison (`==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `contains`) or `and`, `or`, `not` over others."""

    operator: str
    operands: tuple[Expression, ...]

    def __str__(self) -> str:
        written = [
            f"({part})" if isinstance(part, Test) and part.operator in {"and", "or"} else str(part)
            for part in self.operands
        ]
        return f"not {written[0]}" if self.operator == "not" else f" {self.operator} ".join(written)


Expression: TypeAlias = Literal | Reference | Template | ListOf | ObjectOf | Test


def references(value: Expression) -> Iterator[Reference]:
    """Every reference in an expression."""
    if isinstance(value, Reference):
        yield value
    parts: Any = ()
    match value:
        case Template(parts=found) | ListOf(items=found) | Test(operands=found):
            parts = found
        case ObjectOf(fields=found):
            parts = [part for _, part in found]
    for part in parts:
        if not isinstance(part, str):
            yield from references(part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call, or a value that is given a name.

    Args:
        tool: the tool's name as written; "" for a value alone.
        arguments: by parameter; values without a name are under their position.
        value: the value, where there is no tool.
        save_as: the variable that keeps the result, or "".
        line: where it stands, from 1.
        fixes: every liberty taken in reading its line.
    """

    tool: str = ""
    arguments: Mapping[str | int, Expression] = field(default_factory=dict)
    value: Expression | None = None
    save_as: str = ""
    line: int = 0
    fixes: tuple[Fix, ...] = ()

    @property
    def values(self) -> tuple[Expression, ...]:
        """Every expression in it."""
        return (*self.arguments.values(), *(() if self.value is None else (self.value,)))

    def __str__(self) -> str:
        named = (
            f"{key}={value}" if isinstance(key, str) else str(value) for key, value in self.arguments.items()
        )
        written = f"{self.tool}({', '.join(named)})" if self.tool else str(self.value)
        return f"{written} -> {self.save_as}" if self.save_as else written


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """Steps that need not wait for one another."""

    steps: tuple[Step, ...]
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class If:
    """The first branch whose test holds; a branch without a test always does."""

    branches: tuple[tuple[Expression | None, Block], ...]
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class For:
    """The body once for each item."""

    name: str
    items: Expression
    body: Block
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """The end, with an answer."""

    value: Expression
    line: int = 0


Statement: TypeAlias = Step | Parallel | If | For | Return
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan that was read.

    Args:
        body: its statements.
        fixes: every liberty taken in reading it.
        problems: what could not be read. A plan with problems does not run.
    """

    body: Block = ()
    fixes: tuple[Fix, ...] = ()
    problems: tuple[ToolError, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every step, in the order of its lines."""
        return tuple(_steps(self.body))

    def __str__(self) -> str:
        return "\n".join(written(self.body))


def _steps(body: Block) -> Iterator[Step]:
    for statement in body:
        match statement:
            case Step():
                yield statement
            case Parallel(steps=steps):
                yield from steps
            case For(body=inner):
                yield from _steps(inner)
            case If(branches=branches):
                for _, inner in branches:
                    yield from _steps(inner)


def written(body: Block, indent: str = "") -> Iterator[str]:
    """The lines of a block, each in the one spelling of the language."""
    if not body and indent:
        yield f"{indent}pass"
    for statement in body:
        match statement:
            case Parallel(steps=steps):
                yield f"{indent}parallel:"
                yield from written(steps, indent + "    ")
            case For(name=name, items=items, body=inner):
                yield f"{indent}for {name} in {items}:"
                yield from written(inner, indent + "    ")
            case If(branches=branches):
                for number, (test, inner) in enumerate(branches):
                    yield (
                        f"{indent}else:" if test is None else f"{indent}{'elif' if number else 'if'} {test}:"
                    )
                    yield from written(inner, indent + "    ")
            case Return(value=value):
                yield f"{indent}return {value}"
            case _:
                yield f"{indent}{statement}"
