"""Makes a result that is too large for a model small enough, and keeps the whole for `read_result`.

What is kept and left out: `toolhand.policies.shrinking`. The history holds the small one; a program gets the whole with
`results_of(context).get(result.notes["handle"])`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from toolhand.core.approvals import PENDING
from toolhand.core.context import RunContext
from toolhand.core.errors import ToolError
from toolhand.core.language import Language
from toolhand.core.largeness import is_large
from toolhand.core.messages import BoundCall, ToolResult, Value
from toolhand.core.tools import Tool
from toolhand.core.untrusted import FRAME_CHARACTERS
from toolhand.policies import Proceed
from toolhand.policies.shrinking.read_result import READS_RESULTS
from toolhand.policies.shrinking.sizes import size, size_alone
from toolhand.policies.shrinking.store import Kept, ResultStore, has_results, results_of
from toolhand.policies.shrinking.texts import shortened
from toolhand.policies.shrinking.values import MOST_CHARACTERS, shrunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrink:
    """Shrinks what is longer than `rules.max_result`, or than the default.

    Args:
        most_characters: the limit for tools that declare none, of the text that a model reads.
        store: where whole results are kept; by default in the memory of the run, which ends with it.
    """

    most_characters: int = MOST_CHARACTERS
    store: ResultStore | None = None

    def hides(self, tool: Tool) -> bool:
        """Only what reads results."""
        return READS_RESULTS in tool.rules.tags

    def offers(self, tool: Tool, context: RunContext) -> bool:
        """Whether the tool may be shown: `read_result` only once there is a result to read."""
        if not self.hides(tool):
            return True
        return has_results(context) if self.store is None else bool(self.store)

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """The call's result in at most so many characters; `notes` then has `handle`, `characters` and `shrunk`."""
        result = await proceed(call, context)
        if READS_RESULTS in call.tool.rules.tags:
            result = self._as_it_was(result, call, context)
        outcome = result.outcome
        if isinstance(outcome, Value) and not isinstance(outcome.data, str | list | dict):
            return result  # a number is never too large
        return await self._fitted(call, result, context)

    async def _fitted(self, call: BoundCall, result: ToolResult, context: RunContext) -> ToolResult:
        """A result that may be too large, small enough."""
        declared = call.tool.rules.max_result
        most = self.most_characters if declared is None else declared
        if result.remark:
            most = max(0, most - len(result.remark) - 4)
        if result.untrusted:
            most = max(0, most - FRAME_CHARACTERS)
        outcome = result.outcome
        if isinstance(outcome, ToolError):
            small = _small_error(outcome, most, context.language, is_pending=PENDING in result.notes)
            return result if small is outcome else replace(result, outcome=small)
        if is_large(outcome.data):
            return await self._shrunk(result, outcome.data, most, context, asyncio.to_thread)
        if size_alone(outcome.data) <= most:
            return result
        return await self._shrunk(result, outcome.data, most, context, _here)

    def _as_it_was(self, result: ToolResult, call: BoundCall, context: RunContext) -> ToolResult:
        """A page of what strangers wrote is theirs too."""
        store = self.store if self.store is not None else results_of(context)
        kept = store.get(str(call.call.arguments.get("handle", "")))
        return replace(result, untrusted=True) if kept is not None and kept.untrusted else result

    async def _shrunk(
        self,
        result: ToolResult,
        data: Any,
        most: int,
        context: RunContext,
        where: Callable[..., Awaitable[Any]],
    ) -> ToolResult:
        store = self.store if self.store is not None else results_of(context)
        handle = store.new_handle(context.trace_id[:4]) if store.takes(await where(size_alone, data)) else ""
        named = handle if results_of(context).is_readable else ""  # no word of a tool that is not there
        small = await where(
            partial(shrunk, data, most_characters=most, handle=named, language=context.language)
        )
        if not small.is_shrunk:
            return replace(result, outcome=Value(small.value))
        notes = {**result.notes, "shrunk": True, "characters": small.characters}
        if handle:
            notes["handle"] = handle
            store.keep(
                Kept(
                    handle=handle,
                    value=data,
                    source=small.source,
                    path=small.path,
                    characters=small.characters,
                    untrusted=result.untrusted,
                )
            )
        return replace(result, outcome=Value(small.value), notes=notes)


shrink = Shrink()


async def _here(function: Callable[..., Any], *values: Any) -> Any:
    return function(*values)


def _small_error(error: ToolError, most: int, language: Language, *, is_pending: bool) -> ToolError:
    """An error whose words and details are no longer than a result may be."""
    half = max(40, most // 2)
    message, hint, details = error.message, error.hint, error.details
    if len(message) > half:
        message, _ = shortened(message, half, language)
    if len(hint) > half // 2:
        hint, _ = shortened(hint, half // 2, language)
    if details and not is_pending and size(dict(details)) > most:
        details = {
            key: shrunk(value, most_characters=half // len(details)).value for key, value in details.items()
        }
    if message is error.message and hint is error.hint and details is error.details:
        return error
    return replace(error, message=message, hint=hint, details=details)
