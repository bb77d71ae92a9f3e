"""Everything that can be known to be wrong before the first call, reported together."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.language import Language
from toolhand.core.messages import BoundCall, ToolCall
from toolhand.core.tools import Tool
from toolhand.parsing.plans import nodes
from toolhand.parsing.plans.arguments import folded, named_arguments, written_value
from toolhand.parsing.plans.nodes import (
    Block,
    Expression,
    For,
    If,
    ListOf,
    Literal,
    Parallel,
    Plan,
    Return,
    Step,
)
from toolhand.parsing.plans.values import value_of
from toolhand.parsing.plans.words import said
from toolhand.plan.order import needed, required_tools
from toolhand.tools.collection import ToolCollection

_NAMED: Final = re.compile(r"[^\W\d]\w*(?:\[[^\]]*\]|\.\w+)*")
"""A variable's name, or one with parts behind it."""

_ENDING: Final = re.compile(
    r"[^\[]*\.(?:txt|md|csv|tsv|json|ya?ml|xml|html?|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|mp[34]|wav|zip|gz|log|py|js|ts|sql|db"
    r"|com|org|net|edu|gov|io|ai|dev|app|info|cn|de|uk|fr|jp|eu)",
    re.IGNORECASE,
)
"""A file or a host, which is a text also without quotes."""

Bind = Callable[[ToolCall], "BoundCall | ToolError"]
Refuses = Callable[[Tool], "ToolError | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check found.

    Args:
        calls: the calls as far as they are known, in the order of the lines; a reference is written `$name`.
        problems: all that is wrong. A plan with problems does not run.
        unknown: the variables that are used and nowhere made.
    """

    calls: tuple[ToolCall, ...] = ()
    problems: tuple[ToolError, ...] = ()
    unknown: frozenset[str] = frozenset()


def check(
    plan: Plan,
    tools: ToolCollection,
    bind: Bind,
    *,
    known: Collection[str] = (),
    met: Collection[str] = (),
    refuses: Refuses = lambda tool: None,  # noqa: ARG005
    language: Language = "en",
) -> Checked:
    """Checks a plan for unknown tools, missing or ill-typed arguments, variables before they exist, unmet conditions, permission.

    Args:
        plan: what was read.
        tools: the tools there are; nothing else can ever run.
        bind: binds a call to its tool.
        known: variables that exist already.
        met: tools that have succeeded already.
        refuses: the error of a tool that may not be called, or None.
        language: of the problems' words.
    """
    checker = _Checker(tools, bind, refuses, language, met=set(met))
    checker.block(plan.body, set(known))
    problems = sorted([*plan.problems, *checker.problems], key=lambda one: one.details.get("line", 0))
    if not plan.body and not problems:
        problems.append(
            ToolError(code=ErrorCode.UNPARSEABLE, message=said("empty", language), retryable=True)
        )
    return Checked(calls=tuple(checker.calls), problems=tuple(problems), unknown=frozenset(checker.unknown))


@dataclass(slots=True)
class _Checker:
    tools: ToolCollection
    bind: Bind
    refuses: Refuses
    language: Language
    met: set[str]
    calls: list[ToolCall] = field(default_factory=list)
    problems: list[ToolError] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)

    def block(self, body: Block, saved: set[str]) -> None:
        """Checks statements; `saved` are the variables that may exist by then, and grow."""
        for statement in body:
            match statement:
                case Step():
                    self.step(statement, saved)
                case Parallel(steps=steps):
                    together = {step.save_as for step in steps}
                    names = {
                        tool.name for step in steps if (tool := self.tools.lookup(step.tool)) is not None
                    }
                    for step in steps:
                        self.step(step, saved | together - {step.save_as}, also=names)
                    saved |= together
                case If(branches=branches, line=line):
                    makes: list[set[str]] = []
                    for test, inner in branches:
                        self.expression(test, saved, line)
                        makes.append(set(saved))
                        self.block(inner, makes[-1])
                    saved.update(*makes)
                case For(name=name, items=items, body=inner, line=line):
                    self.expression(items, saved, line)
                    saved.add(name)
                    self.block(inner, saved)
                case Return(value=value, line=line):
                    self.expression(value, saved, line)

    def step(self, step: Step, saved: set[str], also: Collection[str] = ()) -> None:
        """Checks one step."""
        tool = self.tools.lookup(step.tool) if step.tool else None
        arguments = named_arguments(step, tool) if step.tool else {}
        for value in (*arguments.values(), step.value):
            self.expression(value, saved, step.line, is_argument=step.value is None)
        if step.save_as:
            saved.add(step.save_as)
        if not step.tool:
            return
        self._bare(arguments, tool, step.line)
        fixed = {
            key: value_of(value, {}) for key, value in arguments.items() if not any(nodes.references(value))
        }
        open_ones = {key: value for key, value in arguments.items() if key not in fixed}
        call = ToolCall(id=f"line_{step.line}", name=step.tool, arguments=fixed, fixes=step.fixes)
        bound = self.bind(call)
        if isinstance(bound, ToolError):
            bound = self._forgiven(bound, call, tool, open_ones)
        if isinstance(bound, ToolError):
            self.problem(step.line, bound)
            return
        refusal = self.refuses(bound.tool)
        if refusal is not None:
            self.problem(step.line, refusal)
        self._needs(bound.tool, also, step.line)
        written = {key: written_value(value) for key, value in open_ones.items()}
        self.calls.append(replace(bound.call, arguments={**bound.call.arguments, **written}))

    def expression(
        self, value: Expression | None, saved: set[str], line: int, *, is_argument: bool = False
    ) -> None:
        """Checks the references in an expression."""
        if value is None:
            return
        for found in nodes.references(value):
            if found.name not in saved:
                self.unknown.add(found.name)
                self._unknown(line, "unknown", name=found.name)
        if isinstance(value, Literal) and value.is_bare and not is_argument:
            self._unknown(line, "bare", word=value.value)

    def _bare(self, arguments: Mapping[str, Expression], tool: Tool | None, line: int) -> None:
        """A word without quotes is taken for a text where the parameter names it, or where no variable is spelt so."""
        for key, value in arguments.items():
            inside = value.items if isinstance(value, ListOf) else (value,)
            for word in inside:
                if not (isinstance(word, Literal) and word.is_bare):
                    continue
                schema = tool.properties.get(key) if tool is not None else None
                options = schema.get("enum", ()) if isinstance(schema, Mapping) else ()
                is_option = str(word.value).casefold() in {str(option).casefold() for option in options}
                said = str(word.value)
                is_name = said.isascii() and _NAMED.fullmatch(said) and not _ENDING.fullmatch(said)
                if is_name and not is_option:
                    self.unknown.add(said)
                    self._unknown(line, "bare", word=word.value)

    def _forgiven(
        self, error: ToolError, call: ToolCall, tool: Tool | None, open_ones: Mapping[str, Expression]
    ) -> BoundCall | ToolError:
        """The binding without the arguments that are not known yet: an example stands for each that would be missing."""
        sent = {folded(tool.aliases.get(key, key)) for key in open_ones} if tool is not None else set()
        missing = [one for one in error.details.get("fields", ()) if folded(str(one["name"])) in sent]
        if tool is None or not missing:
            return error
        stand_ins = {str(one["name"]): one.get("example", "") for one in missing}
        again = self.bind(replace(call, arguments={**call.arguments, **stand_ins}))
        if not isinstance(again, ToolError):
            known = {key: value for key, value in again.call.arguments.items() if key not in stand_ins}
            return BoundCall(call=replace(again.call, arguments=known), tool=tool)
        left = {folded(str(one["name"])) for one in again.details.get("fields", ())} - sent
        return again if left else BoundCall(call=replace(call, name=tool.name), tool=tool)

    def _needs(self, tool: Tool, also: Collection[str], line: int) -> None:
        missing = [name for name in required_tools(tool) if name not in self.met and name not in also]
        self.met.add(tool.name)
        if missing:
            chain = needed(tool, self.tools, self.met) or tuple(missing)
            first = ", ".join(f"{name}(…)" for name in chain)
            words = {"name": tool.name, "first": first}
            self._problem(line, "needs", ErrorCode.PRECONDITION_FAILED, {"first": chain[0]}, **words)

    def _unknown(self, line: int, key: str, **words: Any) -> None:
        self._problem(
            line, key, ErrorCode.INVALID_ARGUMENT, {"variable": next(iter(words.values()))}, **words
        )

    def _problem(self, line: int, key: str, code: ErrorCode, details: dict[str, Any], **words: Any) -> None:
        message = said(key, self.language, **words)
        self.problem(line, ToolError(code=code, message=message, retryable=True, details=details))

    def problem(self, line: int, error: ToolError) -> None:
        """Notes what is wrong with a line, once."""
        found = at_line(error, line, self.language)
        if found not in self.problems:
            self.problems.append(found)


def at_line(error: ToolError, line: int, language: Language) -> ToolError:
    """An error with the line that it belongs to."""
    message = said("line", language, line=line, said=error.message)
    kept = {key: error.details[key] for key in ("variable", "first") if key in error.details}
    return replace(error, message=message, details={**kept, "line": line, "cause": dict(error.details)})
