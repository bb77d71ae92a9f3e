"""A found failure as a case: from a stored attempt, from a drift log, or from a session's messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.core.messages import Message, ToolCall, ToolResult
from toolhand.core.tools import Tool
from toolhand.evals.results import Evaluation
from toolhand.observability.drift import DriftRecord
from toolhand.observability.excerpts import Excerpts
from toolhand.sessions.store import SessionStore
from toolhand.sessions.stored import StoredSession
from toolhand.tools.export import visible_parameters

_MOST: Final = 20_000
"""How many characters of a text or a result a case keeps."""


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
        tools: the tools that were offered; their results in the session become fixtures. All is masked as a log is.

    Raises:
        SettingsError: when there is no question in it.
    """
    start = next(
        (n for n in range(len(messages) - 1, -1, -1) if messages[n].role == "user" and messages[n].text), None
    )
    if start is None:
        raise SettingsError(say("the session holds no question", "会话中没有问题"))
    masked = Excerpts.of_all(tools)
    results = {result.call_id: result for message in messages for result in message.results}
    case: dict[str, Any] = {
        "id": name,
        "question": masked.text(messages[start].text, _MOST),
        "tools": [inline(tool) for tool in tools],
    }
    if history := _history(messages[:start], results, masked):
        case["history"] = history
    calls: list[dict[str, Any]] = []
    fixtures: dict[str, list[dict[str, Any]]] = {}
    for call, result in _answered(messages[start:], results):
        arguments = masked.value(dict(call.arguments), _MOST)
        calls.append({call.name: arguments})
        literal = {key: {"equal": value} for key, value in arguments.items()}
        fixture = {"when": literal, "result": masked.value(result.data, _MOST)}
        fixtures.setdefault(call.name, []).append(fixture)
    if fixtures:
        case["fixtures"] = fixtures
    return {**case, "calls": calls or "none"}


def _history(
    messages: Sequence[Message], results: Mapping[str, ToolResult], masked: Excerpts
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for message in messages:
        if message.text and message.role in ("user", "assistant", "system"):
            found.append({message.role: masked.text(message.text, _MOST)})
        found += [
            {
                "call": {call.name: masked.value(dict(call.arguments), _MOST)},
                "result": masked.value(result.data, _MOST),
            }
            for call, result in _answered([message], results)
        ]
    return found


def _answered(
    messages: Sequence[Message], results: Mapping[str, ToolResult]
) -> Iterator[tuple[ToolCall, ToolResult]]:
    """The calls that ended well, with their results."""
    for message in messages:
        for call in message.calls:
            result = results.get(call.id)
            if result is not None and result.ok:
                yield call, result


async def from_session(
    name: str, store: SessionStore, session_id: str, tools: Sequence[Tool]
) -> dict[str, Any]:
    """The last question of a stored session as a case; see `from_messages`.

    Args:
        name: the case's id.
        store: where the session is kept.
        session_id: which one.
        tools: the tools that were offered.

    Raises:
        SettingsError: when there is no such session, or no question in it.
    """
    summary = await store.find(session_id)
    if summary is None:
        raise SettingsError(
            say(
                f"there is no session '{session_id}' in {store.name}",
                f"{store.name} 中没有会话“{session_id}”",
            )
        )
    session = StoredSession(session_id, store, user=summary.owner)
    await session.load()
    while await session.load_older():
        pass
    return from_messages(name, tuple(session.messages), tools)


def inline(tool: Tool) -> Mapping[str, Any]:
    """A tool as a schema in a case file."""
    return {"name": tool.name, "description": tool.description, "parameters": visible_parameters(tool)}
