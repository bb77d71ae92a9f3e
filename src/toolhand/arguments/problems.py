"""Faults become a `ToolError`: facts in its details, words in its message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolhand.arguments.expectation import example, example_arguments, expectation, options_of, written
from toolhand.arguments.faults import ABSENT, Fault, Trouble
from toolhand.arguments.names import MOST_NAMED, close_names, named
from toolhand.arguments.plans import tool_shape
from toolhand.arguments.secrets import keeps_secret, told
from toolhand.arguments.words import joined, note, sentence
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.language import Language
from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection

_MOST_FIELDS: Final = 10
_MOST_DETAILS: Final = 50
_LONGEST_NAME: Final = 80


def unknown_tool(name: str, tools: ToolCollection, language: Language = "en") -> ToolError:
    """The error for a name that means no tool: what exists and what may have been meant."""
    known, near = named(name, tools), close_names(name, tools)
    return ToolError(
        code=ErrorCode.UNKNOWN_TOOL,
        message=unknown_tool_words(_short(name), known, len(tools), language),
        retryable=True,
        hint=sentence("close_tools", language, names=", ".join(near)) if near else "",
        details={"name": _short(name), "available": known, "count": len(tools), "close": near},
    )


def unknown_tool_words(name: str, known: Sequence[str], count: int, language: Language) -> str:
    """That there is no such tool, and which there are."""
    there_is = "no_tools" if not known else "tools" if count <= MOST_NAMED else "more_tools"
    names = ("、" if language == "zh" else ", ").join(known)
    return joined(
        [
            sentence("unknown_tool", language, name=name),
            sentence(there_is, language, names=names, count=count),
        ],
        language,
    )


def invalid_arguments(faults: Sequence[Fault], tool: Tool, language: Language = "en") -> ToolError:
    """One error for all that is wrong with a call's arguments."""
    fields = [_field(fault) for fault in faults[:_MOST_DETAILS]]
    is_missing = any(fault.trouble is Trouble.MISSING for fault in faults)
    return ToolError(
        code=ErrorCode.MISSING_ARGUMENT if is_missing else ErrorCode.INVALID_ARGUMENT,
        message=fields_words(fields, language),
        retryable=True,
        path=faults[0].path if len(faults) == 1 else "$",
        hint=example_words(fields, tool, language),
        details={"tool": tool.name, "fields": fields},
    )


def fields_words(fields: Sequence[Mapping[str, Any]], language: Language) -> str:
    """What is wrong, field by field."""
    return joined([_field_words(field, language) for field in fields[:_MOST_FIELDS]], language)


def example_words(fields: Sequence[Mapping[str, Any]], tool: Tool, language: Language) -> str:
    """One right set of arguments, or nothing where it cannot be made from the schema."""
    names = frozenset(str(field["path"]).removeprefix("$.").split(".")[0].split("[")[0] for field in fields)
    arguments = example_arguments(tool_shape(tool), names)
    return "" if arguments is None else sentence("example", language, example=written(arguments))


def _field(fault: Fault) -> dict[str, Any]:
    found: dict[str, Any] = {
        "path": fault.path,
        "name": _short(fault.name),
        "trouble": str(fault.trouble),
        "expected": expectation(fault.shape),
    }
    options = options_of(fault.shape)
    if options:
        found["allowed"] = options
    if fault.sent is not ABSENT:
        found["sent"] = told(fault.sent, fault.name)
    if fault.closest:
        found["closest"] = fault.closest
    if fault.note:
        found["note"] = fault.note
    if fault.others:
        found["others"] = [_short(other) for other in fault.others]
    right = None if keeps_secret(fault.name) else example(fault.shape)
    if right is not None and fault.trouble is not Trouble.EXTRA:
        found["example"] = right
    return found


def _field_words(field: Mapping[str, Any], language: Language) -> str:
    trouble = str(field["trouble"])
    key = "missing_sent" if trouble == "missing" and "sent" in field else trouble
    if field["path"] == "$":
        key = "whole"
    parts = [
        sentence(
            key,
            language,
            name=field["name"],
            expected=_expected(field, language),
            sent=field.get("sent", ""),
            others=", ".join(f"'{other}'" for other in field.get("others", ())),
        )
    ]
    if field.get("note"):
        parts.append(note(str(field["note"]), language))
    if field.get("closest"):
        parts.append(sentence("closest", language, closest=written(field["closest"])))
    return joined(parts, language)


def _expected(field: Mapping[str, Any], language: Language) -> str:
    """What a field must be; in Chinese its few English words are put into Chinese, the type names are not."""
    expected = str(field["expected"])
    if language == "en":
        return expected
    if expected.startswith("one of "):
        return f"以下值之一：{expected.removeprefix('one of ')}"
    return expected.replace(" or null", " 或 null").replace("any value", "任意值")


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
