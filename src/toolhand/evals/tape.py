"""Recording what models and tools gave, and replaying it: a change of a parser or a prompt is then judged without a model.

A model's output is kept under a hash of the request as the protocol rendered it, so a changed prompt finds no record and
says so. A tool's result is kept under its case, name and arguments, masked as the model saw it. A model's outputs are kept as
they came: a masked text would not be read the same way. The file is for its owner alone.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from toolhand.core.canonical import canonical, digest
from toolhand.core.errors import SettingsError, ToolError, ToolhandError
from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.language import Language, say
from toolhand.core.messages import ModelOutput, ModelRequest, ToolCall, ToolResult, Value
from toolhand.core.tools import Tool
from toolhand.models import Model
from toolhand.observability.jsonl import JsonLines
from toolhand.tools.export import schema

KEPT_FACTS: Final = ("protocol", "context_tokens")
"""What of a model is kept beside its name, since the agent asks for it. Nothing that could be a secret."""

_MOST_BYTES: Final = 1 << 40


class NoRecordError(ToolhandError):
    """A replay needs an output or a result that was not recorded."""


@cache
def _outputs() -> TypeAdapter[ModelOutput]:
    return TypeAdapter(ModelOutput)


@cache
def _errors() -> TypeAdapter[ToolError]:
    return TypeAdapter(ToolError)


def request_digest(request: ModelRequest) -> str:
    """A short name for what a model is asked: equal for equal prompts, whatever it takes to make them."""
    return digest(
        json.dumps(_plain(request, request.language), ensure_ascii=False, sort_keys=True, default=str)
    )


def _plain(value: Any, language: Language) -> Any:
    """What a model gets to see of a value, in JSON's types. A field at its default counts as not there."""
    if isinstance(value, Tool):
        return schema(value)
    if isinstance(value, ToolResult):
        return {"result": result_text(value, language), "id": value.call_id, "name": value.name}
    if isinstance(value, ToolCall):
        return {"call": value.name, "id": value.id, "arguments": canonical(jsonable(value.arguments))}
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            f.name: _plain(getattr(value, f.name), language)
            for f in dataclasses.fields(value)
            if getattr(value, f.name) != _default(f)
        }
        return {"": type(value).__name__, **fields}
    if isinstance(value, Mapping):
        return {str(key): _plain(item, language) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, language) for item in value]
    return value


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    return (
        field.default_factory() if field.default_factory is not dataclasses.MISSING else dataclasses.MISSING
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A recorded output.

    Args:
        output: what the model gave.
        seconds: how long it took.
    """

    output: ModelOutput
    seconds: float


class Tape:
    """A file of recorded outputs and results.

    Args:
        path: a file of JSON lines. What is recorded again replaces what was there.
        plays: whether what is there is replayed.
        records: whether what is new is added.

    Raises:
        SettingsError: when it is to be replayed and cannot be read.
    """

    def __init__(self, path: str | Path, *, plays: bool, records: bool) -> None:
        self.plays, self.records = plays, records
        self.path = Path(path).expanduser()
        self._lines = JsonLines(self.path, most_bytes=_MOST_BYTES)
        self._entries: dict[str, Mapping[str, Any]] = {}
        self._prompts: dict[str, Mapping[str, Any]] = {}
        self._known: dict[str, Mapping[str, Any]] = {}
        if plays:
            self._read()

    def _read(self) -> None:
        if not self.records and not self.path.is_file():
            raise SettingsError(
                say(
                    f"there are no records at '{self.path}': make them with --record {self.path}",
                    f"“{self.path}”处没有录制文件：请先用 --record {self.path} 录制",
                )
            )
        for line in self._lines.lines():
            if "model" in line and "about" in line:
                self._known[line["model"]] = line
            elif "key" in line:
                self._put(line)
        if not self._entries and not self.records:
            raise SettingsError(say(f"'{self.path}' holds no records", f"“{self.path}”里没有任何录制内容"))

    def about(self, spec: str, model: Model | None) -> Mapping[str, Any]:
        """What was recorded about a model: its own name and facts, and the moment when "now" was.

        Args:
            spec: the model's name as it was asked for.
            model: the model itself, where there is one.

        Raises:
            SettingsError: when it was not recorded.
        """
        known = self._known.get(spec)
        if known is None and model is not None:
            facts = {name: getattr(model, name, None) for name in KEPT_FACTS}
            path = getattr(getattr(model, "settings", None), "path", None)
            facts["file"] = path.name if isinstance(path, Path) else None  # its profile is found by it
            now = dt.datetime.now().astimezone().isoformat(timespec="seconds")
            known = {
                "model": spec,
                "about": {"name": model.name, **{k: v for k, v in facts.items() if v is not None}},
                "time": now,
            }
            self._known[spec] = known
            if self.records:
                self._lines.append(known)
        if known is None:
            there = ", ".join(self._known) or say("none", "无")
            raise SettingsError(
                say(
                    f"'{self.path}' holds no records of the model '{spec}'; it has: {there}",
                    f"“{self.path}”里没有模型“{spec}”的录制；现有：{there}",
                )
            )
        return known

    def output(self, prompt: str, case: str) -> Played | None:
        """The output recorded for a prompt, or None: that of the same case, or else of any.

        Args:
            prompt: what stands for the request, the model and the try.
            case: the case's id. Two cases may ask the same, and need not get the same.

        Raises:
            SettingsError: when the record is damaged.
        """
        key = digest(prompt, case)
        entry = (self._entries.get(key) or self._prompts.get(prompt)) if self.plays else None
        if entry is None:
            return None
        try:
            return Played(output=_outputs().validate_python(entry["output"]), seconds=float(entry["seconds"]))
        except (ValidationError, KeyError, TypeError, ValueError):
            raise self._damaged(key) from None

    def keep_output(
        self, prompt: str, case: str, output: ModelOutput, *, seconds: float, **about: Any
    ) -> None:
        """Records an output."""
        if self.records:
            body = _outputs().dump_python(output, mode="json", exclude_defaults=True)
            key = digest(prompt, case)
            entry = {"key": key, "prompt": prompt, "output": body, "seconds": seconds, "case": case}
            self._keep({**entry, **about})

    def outcome(self, key: str) -> Value | ToolError | None:
        """The tool's result recorded under a key, or None.

        Raises:
            SettingsError: when the record is damaged.
        """
        entry = self._entries.get(key) if self.plays else None
        if entry is None:
            return None
        try:
            if "error" in entry:
                return _errors().validate_python(entry["error"])
            return Value(entry["result"])
        except (ValidationError, KeyError):
            raise self._damaged(key) from None

    def keep_outcome(self, key: str, outcome: Value | ToolError, **about: Any) -> None:
        """Records a tool's result."""
        if not self.records:
            return
        if isinstance(outcome, Value):
            self._keep({"key": key, "result": jsonable(outcome.data), **about})
        else:
            body = _errors().dump_python(outcome, mode="json", exclude_defaults=True)
            self._keep({"key": key, "error": body, **about})

    def _keep(self, entry: Mapping[str, Any]) -> None:
        self._lines.append(entry)
        self._put(entry)

    def _put(self, entry: Mapping[str, Any]) -> None:
        self._entries[entry["key"]] = entry
        if "prompt" in entry:
            self._prompts[entry["prompt"]] = entry

    def _damaged(self, key: str) -> SettingsError:
        return SettingsError(
            say(
                f"the record {key[:8]} in '{self.path}' is damaged: record it again",
                f"“{self.path}”中的录制 {key[:8]} 已损坏：请重新录制",
            )
        )

    def close(self) -> None:
        """Closes the file."""
        self._lines.close()
