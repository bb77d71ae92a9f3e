"""A found failure as a case: from a stored attempt, from a drift log, or from a session's messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.core.errors import SettingsError
from toolhand.core.jsonable import jsonable
from toolhand.core.language import say
from toolhand.core.messages import Message
from toolhand.core.tools import Tool
from toolhand.evals.results import Evaluation
from toolhand.observability.drift import DriftRecord
from toolhand.tools.export import visible_parameters


def from_evaluation(evaluation: Evaluation, case: str) -> dict[str, Any]:
    """A case of an evaluation, as it was judged, with a note of what went wrong.

    Raises:
        SettingsError: when the evaluation has no such case.
    """
    written = evaluation.written.get(case)
    if written is None:
        raise SettingsError(
            say(
                f"the evaluation {evaluation.id} has no case '{case}'",
                f"评测 {evaluation.id} 中没有用例“{case}”",
            )
        )
    failed = [a for a in evaluation.attempts if a.case == case and a.outcome == "failed"]
    wrong = "; ".join(dict.fromkeys(finding.sentence("en") for a in failed for finding in a.findings))
    note = f"{evaluation.id}: {wrong}" if wrong else evaluation.id
    return {**written, "note": str(written.get("note") or note)}


def from_drift(record: DriftRecord) -> dict[str, Any]:
    """A reply that was hard to read, as a case that needs no model: what was understood is what is expected.

    A person looks whether that is right, and corrects it where not.
    """
    plain = record.case()
    tools = [{**schema["function"]} for schema in record.tools]
    names = {tool["name"] for tool in tools}
    calls = [{call["name"]: dict(call["arguments"])} for call in plain["understood"] if call["name"] in names]
    return {
        "id": plain["id"],
        "output": record.raw,
        "tags": ["drift", record.family],
        "tools": tools,
        "calls": calls or "none",
        "turns": 1,
        "note": say("check `calls`: it is what was understood. ", "请核对 calls：这是当时的理解。")
        + plain["note"],
    }


def from_messages(name: str, messages: Sequence[Message], tools: Sequence[Tool]) -> dict[str, Any]:
    """A session's last question as a case: what came before is its history, and its calls are what is expected.

    Args:
        name: the case's id.
        messages: the session's messages, its last question and all that came of it at the end.
        tools: the tools that were offered; their results in the session become fixtures.

    Raises:
        SettingsError: when there is no question in it.
    """
    start = next(
        (n for n in range(len(messages) - 1, -1, -1) if messages[n].role == "user" and messages[n].text), None
    )
    if start is None:
        raise SettingsError(say("the session holds no question", "会话中没有问题"))
    results = {result.call_id: result for message in messages for result in message.results}
    history: list[dict[str, Any]] = []
    for message in messages[:start]:
        if message.text and message.role in ("user", "assistant", "system"):
            history.append({message.role: message.text})
        history += [
            {"call": {call.name: jsonable(call.arguments)}, "result": jsonable(results[call.id].data)}
            for call in message.calls
            if call.id in results and results[call.id].ok
        ]
    calls: list[dict[str, Any]] = []
    fixtures: dict[str, list[dict[str, Any]]] = {}
    for message in messages[start:]:
        for call in message.calls:
            result = results.get(call.id)
            if result is not None and result.ok:
                arguments = jsonable(call.arguments)
                calls.append({call.name: arguments})
                literal = {key: {"equal": value} for key, value in arguments.items()}
                fixtures.setdefault(call.name, []).append({"when": literal, "result": jsonable(result.data)})
    case: dict[str, Any] = {
        "id": name,
        "question": messages[start].text,
        "tools": [inline(tool) for tool in tools],
    }
    if history:
        case["history"] = history
    if fixtures:
        case["fixtures"] = fixtures
    return {**case, "calls": calls or "none"}


def inline(tool: Tool) -> Mapping[str, Any]:
    """A tool as a schema in a case file."""
    return {"name": tool.name, "description": tool.description, "parameters": visible_parameters(tool)}
