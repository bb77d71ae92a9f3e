"""Messages and results as JSON and back. Results stand in the ledger; a stored message only names them.

Keys are short because there is one set for every message ever said. What is not known is left out on reading, so that an
older program reads what a newer one of the same schema wrote.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.jsonable import jsonable
from toolhand.core.messages import Fix, Message, Note, Opaque, Part, Text, ToolCall, ToolResult, Value

_WRITER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=jsonable)
_ESCAPING: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=jsonable)


def written(value: Any) -> str:
    """A value as JSON text that every database takes: a lone surrogate is escaped, and comes back as it was."""
    try:
        text = _WRITER.encode(value)
    except (TypeError, ValueError, RecursionError):  # keys that are no texts, a value that contains itself
        text = _WRITER.encode(jsonable(value))
    try:
        text.encode()
    except UnicodeEncodeError:
        return _ESCAPING.encode(json.loads(text))
    return text


def message_json(message: Message, *, names_results: bool = False) -> dict[str, Any]:
    """A message as a JSON object.

    Args:
        message: the message.
        names_results: whether results are only named, as they stand in the ledger already.
    """
    return {"role": message.role, "parts": [_part(part, names_results) for part in message.parts]}


def _part(part: Part, names_results: bool) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"text": text}
        case Note(text=text):
            return {"note": text}
        case ToolCall():
            return {"call": call_json(part)}
        case Opaque(source=source, data=data):
            return {"opaque": {"source": source, "data": dict(data)}}
        case ToolResult():
            return {"of": part.call_id} if names_results else {"result": result_json(part)}


def call_json(call: ToolCall) -> dict[str, Any]:
    """A call as a JSON object."""
    found: dict[str, Any] = {"id": call.id, "name": call.name, "arguments": dict(call.arguments)}
    if call.fixes:
        found["fixes"] = [
            {"kind": f.kind, "path": f.path, "before": f.before, "after": f.after, "cost": f.cost}
            for f in call.fixes
        ]
    if call.problem is not None:
        found["problem"] = error_json(call.problem)
    return found


def result_json(result: ToolResult) -> dict[str, Any]:
    """A result as a JSON object."""
    found: dict[str, Any] = {"id": result.call_id, "name": result.name}
    if isinstance(result.outcome, Value):
        found["data"] = result.outcome.data
    else:
        found["error"] = error_json(result.outcome)
    if result.notes:
        found["notes"] = dict(result.notes)
    if result.remark:
        found["remark"] = result.remark
    if result.untrusted:
        found["untrusted"] = True
    return found


def error_json(error: ToolError) -> dict[str, Any]:
    """An error as a JSON object."""
    found: dict[str, Any] = {"code": str(error.code), "message": error.message}
    if error.retryable:
        found["retryable"] = True
    if error.path != "$":
        found["path"] = error.path
    if error.hint:
        found["hint"] = error.hint
    if error.details:
        found["details"] = dict(error.details)
    return found


def message_from(value: Mapping[str, Any], result_of: Callable[[str], ToolResult]) -> Message:
    """A message from what `message_json` gave.

    Args:
        value: the object.
        result_of: the result of a call that the message only names.
    """
    return Message(role=value["role"], parts=tuple(_parts(value.get("parts", ()), result_of)))


def _parts(values: Iterable[Mapping[str, Any]], result_of: Callable[[str], ToolResult]) -> Iterable[Part]:
    for value in values:
        if "text" in value:
            yield Text(value["text"])
        elif "of" in value:
            yield result_of(value["of"])
        elif "call" in value:
            yield call_from(value["call"])
        elif "note" in value:
            yield Note(value["note"])
        elif "result" in value:
            yield result_from(value["result"])
        elif "opaque" in value:
            yield Opaque(source=value["opaque"]["source"], data=value["opaque"]["data"])


def call_from(value: Mapping[str, Any]) -> ToolCall:
    """A call from what `call_json` gave."""
    problem = value.get("problem")
    return ToolCall(
        id=value["id"],
        name=value["name"],
        arguments=value.get("arguments") or {},
        fixes=tuple(
            Fix(
                kind=fix["kind"],
                path=fix.get("path", "$"),
                before=fix.get("before"),
                after=fix.get("after"),
                cost=fix.get("cost", 1),
            )
            for fix in value.get("fixes", ())
        ),
        problem=None if problem is None else error_from(problem),
    )


def result_from(value: Mapping[str, Any]) -> ToolResult:
    """A result from what `result_json` gave."""
    error = value.get("error")
    return ToolResult(
        call_id=value["id"],
        name=value["name"],
        outcome=Value(value.get("data")) if error is None else error_from(error),
        notes=value.get("notes") or {},
        remark=value.get("remark", ""),
        untrusted=bool(value.get("untrusted")),
    )


def error_from(value: Mapping[str, Any]) -> ToolError:
    """An error from what `error_json` gave; a code of a newer program counts as a failed execution."""
    try:
        code = ErrorCode(value["code"])
    except ValueError:
        code = ErrorCode.EXECUTION
    return ToolError(
        code=code,
        message=value.get("message", ""),
        retryable=bool(value.get("retryable")),
        path=value.get("path", "$"),
        hint=value.get("hint", ""),
        details=value.get("details") or {},
    )
