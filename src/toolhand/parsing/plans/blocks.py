"""Lines into blocks: by their indentation, or by `end`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from toolhand.core.errors import ToolError
from toolhand.core.language import Language
from toolhand.parsing.costs import fix
from toolhand.parsing.plans.lines import Line
from toolhand.parsing.plans.mistakes import problem
from toolhand.parsing.plans.nodes import (
    Block,
    Expression,
    For,
    If,
    Parallel,
    Plan,
    Statement,
    Step,
)

MOST_LEVELS: Final = 12

Kind = Literal["statements", "if", "elif", "else", "for", "parallel", "end"]


@dataclass(frozen=True, slots=True)
class Head:
    """What one line says.

    Args:
        kind: what it is.
        test: the condition of an `if`, or what a `for` goes over.
        name: the variable of a `for`.
        before: steps that its own values need first.
        body: the statements on the line itself; None where they follow.
        other: those behind an `else` on the same line.
    """

    kind: Kind
    test: Expression | None = None
    name: str = ""
    before: Block = ()
    body: Block | None = None
    other: Block | None = None


@dataclass(slots=True)
class _Open:
    """A block whose lines are still coming.

    Args:
        line: its first line.
        head: what that says.
        style: how its lines belong to it: "" until the first has come, "inline" where they stood on its own line.
        branches: the finished branches of an `if`.
        test: the condition of the branch that is open.
        body: the statements of that branch.
    """

    line: Line
    head: Head
    style: Literal["", "indented", "flat", "inline"] = ""
    branches: list[tuple[Expression | None, Block]] = field(default_factory=list)
    test: Expression | None = None
    body: list[Statement] = field(default_factory=list)
    has_else: bool = False


class Blocks:
    """Takes the lines of a plan one after the other.

    Args:
        language: of the problems' words.
    """

    def __init__(self, language: Language) -> None:
        self.problems: list[ToolError] = []
        self._language = language
        self._top: list[Statement] = []
        self._open: list[_Open] = []

    def plan(self) -> Plan:
        """The whole, once every line has come."""
        while self._open:
            self._close(is_ended=False)
        return Plan(body=tuple(self._top), problems=tuple(self.problems))

    def fail(self, found: ToolError) -> None:
        """Notes a line that cannot be read; in its block it stands for a statement."""
        self.problems.append(found)
        if self._open and not self._open[-1].body:
            self._open[-1].body.append(Step())
            self._open[-1].style = self._open[-1].style or "indented"

    def add(self, line: Line, head: Head) -> None:
        """Takes a line."""
        self._dedent(line, head)
        if head.kind == "end":
            if self._open:
                self._close(is_ended=True)
        elif head.kind in {"elif", "else"}:
            self._branch(line, head)
        else:
            if self._open and not self._open[-1].style:
                self._begin(line, self._open[-1])
            self._here.extend(head.before)
            if head.kind == "statements":
                self._here.extend(head.body or ())
            elif len(self._open) >= MOST_LEVELS:
                self._wrong("deep", line)
            else:
                self._open.append(_Open(line, head, test=head.test))
                self._take_inline(head)

    @property
    def _here(self) -> list[Statement]:
        return self._open[-1].body if self._open else self._top

    def _wrong(self, key: str, line: Line) -> None:
        self.problems.append(problem(key, line, self._language))

    def _take_inline(self, head: Head) -> None:
        block = self._open[-1]
        if head.body is None:
            return
        block.body.extend(head.body)
        block.style = "inline"
        if head.other is not None:
            block.branches.append((block.test, tuple(block.body)))
            block.test, block.body, block.has_else = None, list(head.other), True

    def _begin(self, line: Line, block: _Open) -> None:
        """The first line under a head says how the others will stand."""
        is_in = line.indent > block.line.indent
        block.style = "indented" if is_in else "flat"
        if not is_in:
            line.fixes.append(fix("missing_indent"))

    def _dedent(self, line: Line, head: Head) -> None:
        """Closes the blocks that this line no longer belongs to."""
        while self._open:
            block = self._open[-1]
            goes_on = head.kind in {"elif", "else"} and block.head.kind == "if"
            is_left = line.indent <= block.line.indent
            if block.style == "indented" and is_left:
                if line.indent == block.line.indent and (goes_on or head.kind == "end"):
                    return
            elif block.style == "inline":
                if goes_on and line.indent == block.line.indent and not block.has_else:
                    return
                if head.kind == "end" and line.indent == block.line.indent and len(self._open) == 1:
                    return
            elif block.style != "flat" or line.indent >= block.line.indent:
                return
            self._close(is_ended=False)

    def _branch(self, line: Line, head: Head) -> None:
        block = self._open[-1] if self._open else None
        if block is None or block.head.kind != "if" or block.has_else:
            self._wrong("else", line)
            return
        if not block.body and not block.style:
            self._wrong("empty", block.line)
        block.branches.append((block.test, tuple(block.body)))
        block.test, block.body, block.style = head.test, [], ""
        block.has_else = head.kind == "else"
        self._take_inline(head)

    def _close(self, *, is_ended: bool) -> None:
        block = self._open.pop()
        if not block.style:
            self._wrong("empty", block.line)
        if block.style == "flat" and not is_ended and len(block.body) > 1:
            self._wrong("unclosed", block.line)
        body, number = tuple(block.body), block.line.number
        match block.head.kind:
            case "for":
                if block.head.test is not None:
                    self._here.append(
                        For(name=block.head.name, items=block.head.test, body=body, line=number)
                    )
            case "parallel":
                steps = tuple(statement for statement in body if isinstance(statement, Step))
                if len(steps) < len(body):
                    self._wrong("only_steps", block.line)
                self._here.append(Parallel(steps=steps, line=number))
            case _:
                self._here.append(If(branches=(*block.branches, (block.test, body)), line=number))
