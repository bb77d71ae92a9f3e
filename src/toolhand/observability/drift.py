"""The drift log: every reply that was read only with liberties, or not at all, with what a case for the reader's tests needs.

It is off unless a program adds a `DriftLog` or `TOOLHAND_DRIFT_LOG` names a file, since it keeps what models wrote (masked).
"""

from __future__ import annotations

import datetime as dt
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from toolhand.core.canonical import digest
from toolhand.core.context import RunContext
from toolhand.core.events import Event, ReadingMended
from toolhand.core.language import language_of
from toolhand.core.lazily import lazy_pattern
from toolhand.core.tools import Tool
from toolhand.observability.excerpts import Excerpts
from toolhand.observability.jsonl import JsonLines
from toolhand.tools.collection import folded
from toolhand.tools.export import schema

_MOST_RAW: Final = 32_000
_MOST_TEXT: Final = 1_000
_MOST_TOOLS: Final = 8

_FAMILIES: Final = (
    ("harmony", lazy_pattern(r"<\|(?:channel|message|call)\|>")),
    ("deepseek", lazy_pattern(r"<[｜|]tool▁")),
    ("mistral", lazy_pattern(r"\[TOOL_CALLS?\]")),
    ("python_tag", lazy_pattern(r"<\|python_tag\|>")),
    ("function_element", lazy_pattern(r"<function[=_\s>]", re.IGNORECASE)),
    ("invoke_element", lazy_pattern(r"<(?:\w+:)?(?:invoke|function_calls|tool_use)\b", re.IGNORECASE)),
    ("tool_call_element", lazy_pattern(r"<[|/]?\s*(?:tool|action)\w*\s*[|>]", re.IGNORECASE)),
    (
        "labels",
        lazy_pattern(
            r"^[^\w\n]{0,20}(?:action|tool|行动|动作|工具|function✿)[\w ]{0,12}[*_`]{0,3}\s?[:：]",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
    ("fenced", lazy_pattern(r"^[ \t]{0,20}(?:```|~~~)", re.MULTILINE)),
    ("json", lazy_pattern(r"[{\[]\s{0,20}[\"'“]")),
    ("program", lazy_pattern(r"^[ \t\[]{0,20}(?:\w{1,40} ?= ?)?[A-Za-z_][\w.]{0,80}\(", re.MULTILINE)),
    ("yaml", lazy_pattern(r"^[ \-]{0,20}(?:name|tool|action|工具) ?:", re.IGNORECASE | re.MULTILINE)),
)


def guessed_family(raw: str, *, is_structured: bool = False) -> str:
    """A word for how a reply was written, to group by; nothing is decided by it.

    Args:
        raw: the text.
        is_structured: whether calls came beside it, structured by the server.
    """
    if is_structured:
        return "structured"
    head = raw[:_MOST_RAW]
    return next((name for name, looks in _FAMILIES if looks.search(head)), "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRecord:
    """One reply that was not as it should be.

    Args:
        time: when, ISO 8601 in UTC.
        model: the model's name, where it is known.
        protocol: how it was asked to write calls down.
        family: how it wrote, by guess.
        raw: what it wrote, masked.
        sent: the structured calls that came beside the text.
        calls: what was understood: name, arguments and kinds of fixes.
        fixes: the kinds of liberties that were taken, sorted.
        problems: the codes of what could not be read, sorted.
        messages: the sentences of these problems.
        tools: schemas of the tools that the reply seems to be about.
    """

    time: str
    model: str = ""
    protocol: str = ""
    family: str = "text"
    raw: str = ""
    sent: tuple[Mapping[str, Any], ...] = ()
    calls: tuple[Mapping[str, Any], ...] = ()
    fixes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()

    @property
    def pattern(self) -> str:
        """The kind of drift: family, and what was mended or missing."""
        return f"{self.family}: {', '.join((*self.problems, *self.fixes)) or '-'}"

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> DriftRecord:
        """From a line; keys that are not known are left out."""
        known: dict[str, Any] = {f.name: value[f.name] for f in fields(cls) if f.name in value}
        lists = {name: tuple(item) for name, item in known.items() if isinstance(item, list)}
        return cls(**{"time": "", **known, **lists})

    def case(self) -> dict[str, Any]:
        """A line for the reader's cases. `expect` is left open: a person says what is right; `understood` is what we took."""
        case: dict[str, Any] = {
            "id": f"drift-{digest(self.raw, str(self.sent))[:8]}",
            "family": self.family,
            "kind": "error" if self.problems else "call",
            "lang": language_of(self.raw),
            "tools": list(self.tools),
            "output": self.raw,
        }
        if self.sent:
            case["sent"] = list(self.sent)
        understood = [{"name": call["name"], "arguments": call["arguments"]} for call in self.calls]
        return {
            **case,
            "expect": None,
            "understood": understood,
            "note": f"{self.model} {self.pattern}".strip(),
        }


class DriftLog:
    """The sink that keeps every `ReadingMended`.

    Args:
        path: a file of JSON lines; only its owner may read it.
        keep_days: how long lines are kept, or None for ever.
        most_bytes: how large the file grows before it is set aside.
        now: gives seconds since 1970.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        keep_days: float | None = 90,
        most_bytes: int = 16 * 1024 * 1024,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._lines = JsonLines(path, keep_days=keep_days, most_bytes=most_bytes, now=now)
        self._now = now

    def __call__(self, event: Event, context: RunContext) -> None:  # noqa: ARG002 - the sink's
        """Takes one event. Nothing in a line says who asked."""
        if isinstance(event, ReadingMended):
            self._lines.append(asdict(_record(event, self._now())))

    def records(self) -> Iterator[DriftRecord]:
        """Every record, oldest first."""
        return map(DriftRecord.from_json, self._lines.lines())

    def close(self) -> None:
        """Closes the file; the next line opens it again."""
        self._lines.close()


def counted(records: Iterable[DriftRecord]) -> list[tuple[str, str, int]]:
    """How often each pattern came from each model: (pattern, model, count), the most frequent first."""
    found = Counter((record.pattern, record.model) for record in records)
    return [(pattern, model, count) for (pattern, model), count in found.most_common()]


def _record(event: ReadingMended, now: float) -> DriftRecord:
    excerpts = Excerpts.of_reading(event)
    sent = [{"name": raw.name, "arguments": raw.arguments} for raw in event.raw_calls]
    calls = [
        {
            "name": call.name,
            "arguments": call.arguments,
            "fixes": [fix.kind for fix in call.fixes],
        }
        for call in event.calls
    ]
    return DriftRecord(
        time=dt.datetime.fromtimestamp(now, dt.UTC).isoformat(timespec="seconds"),
        model=event.model,
        protocol=event.protocol,
        family=guessed_family(event.raw, is_structured=bool(event.raw_calls)),
        raw=excerpts.text(event.raw, _MOST_RAW),
        sent=tuple(excerpts.value(sent, _MOST_RAW)),
        calls=tuple(excerpts.value(calls, _MOST_RAW)),
        fixes=tuple(sorted({fix.kind for call in event.calls for fix in call.fixes})),
        problems=tuple(sorted({str(problem.code) for problem in event.problems})),
        messages=tuple(excerpts.text(problem.message, _MOST_TEXT) for problem in event.problems),
        tools=tuple(schema(tool) for tool in _meant(event)),
    )


def _meant(event: ReadingMended) -> list[Tool]:
    """The tools that a reply names; where it names none, the first few."""
    called = {call.name for call in event.calls}
    written = "\n".join((folded(event.raw), *(folded(raw.name) for raw in event.raw_calls)))
    named: list[Tool] = []
    for tool in sorted(event.tools, key=lambda tool: -len(tool.name)):
        name = folded(tool.name)
        if tool.name in called or (name and name in written):
            named.append(tool)
            written = written.replace(name, "\n")  # "get_price" is not named by "get_price_history"
    return (named or list(event.tools))[:_MOST_TOOLS]
