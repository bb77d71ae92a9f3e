"""The Chinese tools and questions, and a hundred English tools made up from parts, for the tests of choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolhand import Tool
from toolhand.core.tools import Rules

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "cases" / "choice" / "chinese.json").read_text("utf-8")
)


def chinese_tools() -> list[Tool]:
    return [
        Tool(
            name=row["name"],
            description=row["description"],
            parameters=row["parameters"],
            rules=Rules(category=row["category"]),
        )
        for row in CASES["tools"]
    ]


def many(count: int = 60) -> list[Tool]:
    """Tools that read one made-up register each."""
    words = [f"{first}{last}" for first in "bcdfghklmnprst" for last in ("arn", "oll", "ent", "ist", "umb")]
    return [_register(word) for word in words[:count]]


def _register(word: str) -> Tool:
    def read(number: str) -> str:
        return f"{word} {number}"

    return Tool(
        name=f"read_{word}_register",
        description=f"Reads the register of {word}s.",
        parameters={
            "type": "object",
            "properties": {"number": {"type": "string"}},
            "required": ["number"],
        },
        function=read,
    )
