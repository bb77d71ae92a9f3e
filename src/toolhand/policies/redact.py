"""Masks what nobody may see in a result, on its way to the model, the caller, the history and whoever listens.

What is masked and how: `toolhand.policies.redaction`. A tool whose purpose is to tell a phone number says so with
`Rules.reveals`; a program turns a kind off for all tools with `Redact(reveals=…)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from toolhand.core.approvals import PENDING
from toolhand.core.context import RunContext
from toolhand.core.errors import ToolError
from toolhand.core.largeness import is_large
from toolhand.core.messages import BoundCall, ToolResult, Value
from toolhand.core.tools import Rules, Tool
from toolhand.policies import Proceed
from toolhand.policies.redaction.echoes import close_names, echoes_of, sensitive_names, stray_names
from toolhand.policies.redaction.patterns import DEFAULT, Pattern, but
from toolhand.policies.redaction.walk import redacted, redacted_text

_SMALLEST_NUMBER = 1_000_000_000
_TOO_LITTLE = (type(None), bool, float)
"""What can hold neither a secret nor a personal number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redact:
    r"""Masks secrets and personal numbers in what a tool gave back, whether a value or an error.

    Args:
        patterns: what is looked for in texts; your own are added as `(*DEFAULT, Pattern.matching("employee", r"E-\d{6}"))`.
        reveals: kinds that every tool may show, such as "email"; with all of `KINDS` only declared names are masked.
    """

    patterns: tuple[Pattern, ...] = DEFAULT
    reveals: frozenset[str] = frozenset()

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """The call's result with `rules.sensitive` names, secrets and personal numbers masked."""
        result = await proceed(call, context)
        outcome = result.outcome
        if isinstance(outcome, Value) and not result.remark:
            data = outcome.data
            if isinstance(data, _TOO_LITTLE) or (isinstance(data, int) and abs(data) < _SMALLEST_NUMBER):
                return result
        return await self._masked(call, result)

    async def _masked(self, call: BoundCall, result: ToolResult) -> ToolResult:
        """A result that may hold something, without it."""
        outcome, rules = result.outcome, call.tool.rules
        patterns = self._patterns(rules)
        echoes = _echoes(call, result) if rules.sensitive else ()
        if isinstance(outcome, ToolError):
            # A pending call is run with its own arguments, so they stay.
            keeps = PENDING in result.notes
            seen: Value | ToolError = _error(outcome, rules.sensitive, patterns, echoes, keeps_details=keeps)
        else:
            mask = partial(
                redacted, outcome.data, sensitive=rules.sensitive, patterns=patterns, echoes=echoes
            )
            data = await asyncio.to_thread(mask) if is_large(outcome.data) else mask()
            seen = outcome if data is outcome.data else Value(data)
        remark = result.remark and redacted(result.remark, patterns=patterns, echoes=echoes)
        if seen is outcome and remark == result.remark:
            return result
        return replace(result, outcome=seen, remark=remark)

    def arguments(self, arguments: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
        """A call's arguments as a log, a trace or an audit may keep them.

        Args:
            arguments: what was sent.
            rules: the tool's.
        """
        kept: dict[str, Any] = redacted(
            dict(arguments), sensitive=rules.sensitive, patterns=self._patterns(rules)
        )
        return kept

    def text(self, text: str, rules: Rules | None = None) -> str:
        """Any text (an exception's, a line of a log) as it may be kept.

        Args:
            text: the text.
            rules: those of the tool that it is about, where it is about one.
        """
        if rules is None:
            return redacted_text(text, patterns=but(self.patterns, self.reveals))
        return redacted_text(text, sensitive=rules.sensitive, patterns=self._patterns(rules))

    def _patterns(self, rules: Rules) -> tuple[Pattern, ...]:
        revealed = self.reveals | rules.reveals if rules.reveals else self.reveals
        return but(self.patterns, revealed) if revealed else self.patterns


redact = Redact()


def _error(
    error: ToolError,
    sensitive: frozenset[str],
    patterns: tuple[Pattern, ...],
    echoes: tuple[str, ...],
    *,
    keeps_details: bool = False,
) -> ToolError:
    before: dict[str, Any] = {"message": error.message, "hint": error.hint}
    if error.details and not keeps_details:
        before["details"] = error.details
    after = redacted(before, sensitive=sensitive - before.keys(), patterns=patterns, echoes=echoes)
    return error if after is before else replace(error, **after)


def _echoes(call: BoundCall, result: ToolResult) -> tuple[str, ...]:
    """What was sent under sensitive names, by the model and by a person who changed the arguments."""
    names = sensitive_names(call.tool)
    return echoes_of([call.call.arguments, result.notes.get("edited")], names)


def refusal(error: ToolError, arguments: Any, tool: Tool) -> ToolError:
    """A refusal of arguments as anybody may see it: without the values that were sent under sensitive names.

    Args:
        error: why the arguments could not be bound.
        arguments: what was sent, right or wrong.
        tool: the tool that was meant.
    """
    names = sensitive_names(tool) | close_names(stray_names(arguments, tool), sensitive_names(tool))
    return _error(error, names, (), echoes_of(arguments, names))
