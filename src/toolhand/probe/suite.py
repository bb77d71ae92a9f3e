"""The tasks of the probe, and whether calls are what a task wants. The data is `suite.json`."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from toolhand.core.language import Language
from toolhand.core.messages import ToolCall
from toolhand.core.tools import Tool
from toolhand.tools.openai import from_openai
from toolhand.toolset import Toolset

Kind = Literal["one", "several", "none", "missing", "unknown", "long", "nested", "two_step"]

_BLANK: Final = re.compile(r"[\s\"'“”‘’.,，。!！?？:：《》\-_/]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCall:
    """A call that a task wants.

    Args:
        tool: its name.
        arguments: parameter → value; `{"any": [...]}` lists several that are as good, with null for leaving it out.
    """

    tool: str
    arguments: Mapping[str, Any]

    def is_met_by(self, call: ToolCall, tool: Tool) -> bool:
        """Whether a call is the wanted one. What it sends beside may only be a default."""
        if call.name != self.tool:
            return False
        sent = dict(call.arguments)
        for name, wanted in self.arguments.items():
            if not _is_accepted(sent.pop(name, None), wanted):
                return False
        return all(
            value in (None, "", tool.properties.get(name, {}).get("default")) for name, value in sent.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One short task.

    Args:
        id: its name.
        kind: what it tries.
        language: of its text.
        text: what the user says.
        tools: what may be called.
        calls: the calls wanted in the first turn, in any order; none where nothing may be called.
        result: for a task of two steps, what the first call gives.
        calls_then: for a task of two steps, the calls wanted in the second turn.
    """

    id: str
    kind: Kind
    language: Language
    text: str
    tools: Toolset
    calls: tuple[WantedCall, ...]
    result: Any = None
    calls_then: tuple[WantedCall, ...] = ()

    def wrong(self, calls: Sequence[ToolCall], wanted: Sequence[WantedCall]) -> int:
        """How many calls are not among the wanted ones."""
        left = list(wanted)
        for call in calls:
            met = next((want for want in left if want.is_met_by(call, self.tools[call.name])), None)
            if met is not None:
                left.remove(met)
        return len(calls) - (len(wanted) - len(left))

    def is_right(self, calls: Sequence[ToolCall], wanted: Sequence[WantedCall]) -> bool:
        """Whether calls are the wanted ones and no others."""
        return len(calls) == len(wanted) and not self.wrong(calls, wanted)


def _is_accepted(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and set(wanted) == {"any"}:
        return any(_is_accepted(value, option) for option in wanted["any"])
    if isinstance(wanted, Mapping):
        return (
            isinstance(value, Mapping)
            and set(value) <= set(wanted)
            and all(_is_accepted(value.get(key), option) for key, option in wanted.items())
        )
    if isinstance(wanted, list):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(_is_accepted, value, wanted))
    if isinstance(wanted, str):
        return isinstance(value, str) and _plain(value) == _plain(wanted)
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _plain(text: str) -> str:
    return _BLANK.sub("", unicodedata.normalize("NFKC", text).casefold())


@cache
def suite() -> tuple[Task, ...]:
    """All tasks. Any beginning of them keeps the mix of kinds and languages."""
    rows = json.loads(files("toolhand.probe").joinpath("suite.json").read_text("utf-8"))
    schemas = [{"function": {"name": name, **tool}} for name, tool in rows["tools"].items()]
    tools = {tool.name: tool for tool in from_openai(schemas)}
    return tuple(_task(row, tools) for row in rows["tasks"])


def _task(row: Mapping[str, Any], tools: Mapping[str, Tool]) -> Task:
    then = row.get("then") or {}
    return Task(
        id=row["id"],
        kind=row["kind"],
        language=row["language"],
        text=row["text"],
        tools=Toolset([tools[name] for name in row["tools"]]),
        calls=_wanted(row["calls"]),
        result=then.get("result"),
        calls_then=_wanted(then.get("calls", ())),
    )


def _wanted(rows: Sequence[Mapping[str, Any]]) -> tuple[WantedCall, ...]:
    return tuple(WantedCall(tool=row["tool"], arguments=row["arguments"]) for row in rows)
