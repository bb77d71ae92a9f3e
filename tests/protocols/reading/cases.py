import json
from functools import cache
from pathlib import Path
from typing import Any

from toolhand.core.messages import Reply
from toolhand.tools.collect import collect
from toolhand.tools.collection import ToolCollection

FOLDER = Path(__file__).parents[2] / "cases" / "reading"


@cache
def all_tools() -> ToolCollection:
    return collect(json.loads((FOLDER / "tools.json").read_text("utf-8")))


def load() -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in sorted(FOLDER.glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
        if line.strip()
    ]


def tools_of(case: dict[str, Any]) -> ToolCollection:
    if all(isinstance(name, str) for name in case["tools"]):
        return all_tools().only(*case["tools"])
    return collect(case["tools"])


def squeezed(text: str | None) -> str:
    return "".join((text or "").split())


def view(reply: Reply) -> tuple[Any, ...]:
    """All of a reply but its ids."""
    return (
        [(call.name, dict(call.arguments), call.fixes) for call in reply.calls],
        [(call.name, call.problem) for call in reply.broken],
        reply.problems,
        reply.text,
        reply.thinking,
    )
