"""What the command line shows of stores, masked as logs and the page are: a terminal has other readers, and so has its history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

import typer

from toolhand.cli.words import say
from toolhand.core.jsonable import jsonable
from toolhand.core.messages import Message, Note, Part, Text, ToolCall, ToolResult, Value
from toolhand.observability.excerpts import PLAIN
from toolhand.policies.redaction import redacted, redacted_text
from toolhand.sessions.archive import Archive
from toolhand.sessions.entries import Hit, Summary
from toolhand.sessions.searching import Looking, words_of

UNMASKED: Final[Any] = typer.Option(
    False, "--unmasked", help=say("Secrets as they were written.", "按原样显示密钥等内容。")
)

_SAID: Final = ("asked", "outcome", "error")
"""What of a submitted run is others' words; the rest are names, moments and numbers."""


def masked_message(message: Message) -> Message:
    """A message as it may be shown."""
    return replace(message, parts=tuple(map(_masked_part, message.parts)))


def _masked_part(part: Part) -> Part:
    match part:
        case Text() | Note():
            return replace(part, text=redacted_text(part.text))
        case ToolCall():
            return replace(part, arguments=cast("Mapping[str, Any]", redacted(jsonable(part.arguments))))
        case ToolResult(outcome=Value(data=data)):
            return replace(part, outcome=Value(redacted(jsonable(data))))
        case ToolResult(error=error) if error is not None:
            return replace(part, outcome=replace(error, message=redacted_text(error.message)))
        case _:
            return part


def masked_summary(summary: Summary) -> Summary:
    """What is told of a session, as it may be shown."""
    return replace(summary, title=PLAIN.beginning(summary.title))


async def masked_hit(hit: Hit, archive: Archive, text: str) -> Hit:
    """A found message as it may be shown. The whole of it is masked: in an excerpt half a secret looks like any word.

    Args:
        hit: what was found.
        archive: where.
        text: what was looked for.
    """
    entries = await archive.store.read(hit.session_id, before=hit.seq + 1, limit=1)
    said = redacted_text(words_of(entries[-1])[1]) if entries else ""
    return replace(hit, text=Looking(text).excerpt(said))


def masked_run(told: Mapping[str, Any]) -> dict[str, Any]:
    """A submitted run, as `tending.as_json` tells it, as it may be shown."""
    return {name: redacted(jsonable(value)) if name in _SAID else value for name, value in told.items()}
