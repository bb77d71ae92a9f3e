"""Reads the rows of tests/cases/arguments and turns one into a bound call."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from toolhand.arguments import BindSettings, bind
from toolhand.core.errors import ToolError
from toolhand.core.messages import BoundCall, ToolCall
from toolhand.core.tools import Rules, Tool
from toolhand.tools.collection import ToolCollection

CASES = Path(__file__).parents[1] / "cases" / "arguments"
NOW = datetime(2026, 3, 4, 10, 20, tzinfo=timezone(timedelta(hours=8)))  # a Wednesday


def clock() -> datetime:
    return NOW


def rows(*names: str) -> list[dict[str, Any]]:
    found = []
    for name in names:
        lines = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        found += [json.loads(line) for line in lines]
    return found


def tool_of(row: dict[str, Any]) -> Tool:
    return Tool(
        name="errand",
        parameters=row["schema"],
        aliases=row.get("aliases", {}),
        rules=Rules(effect=row.get("effect", "reads")),
    )


def bound(
    arguments: Any, tool: Tool, settings: BindSettings | None = None, positional: tuple[Any, ...] = ()
) -> BoundCall | ToolError:
    call = ToolCall(id="1", name=tool.name, arguments=arguments)
    return bind(
        call, ToolCollection([tool]), settings=settings or BindSettings(clock=clock), positional=positional
    )


def parameter(name: str, schema: dict[str, Any]) -> Tool:
    """A tool with one required parameter."""
    return Tool(
        name="errand", parameters={"type": "object", "properties": {name: schema}, "required": [name]}
    )
