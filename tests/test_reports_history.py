"""What went wrong with histories for people elsewhere: each case is a line in tests/cases/reports/history.jsonl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.histories import check_invariants
from toolhand import Agent, History, Toolset, tool
from toolhand.core.jsonable import result_text
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.histories import HistoryError, heal, to_anthropic, to_openai
from toolhand.sessions.trimming import trim
from toolhand.testing import ScriptedModel

FILE = Path(__file__).parent / "cases" / "reports" / "history.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def cases(op: str):
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=case["id"]) for case in CASES if case["op"] == op]
    )


def tools_of(case: dict[str, Any], ran: list[str]) -> Toolset:
    def made(name: str, does: str):
        def function(x: int = 0, t: str = "", path: str = "", content: str = "") -> str:
            ran.append(name)
            if does == "raises":
                raise RuntimeError
            return t if does == "returns t" else "done"

        return tool(function, name=name, effect="writes")

    return Toolset([made(name, does) for name, does in case["tools"].items()])


@cases("run_turn")
async def test_what_a_run_leaves_behind_is_valid(case):
    ran: list[str] = []
    outputs = [
        ModelOutput(
            calls=tuple(RawCall(id=c["id"] or "", **c["function"]) for c in turn),
            finish_reason=case.get("finish_reason", "tool_calls"),
        )
        for turn in case["turns"]
    ]
    model = ScriptedModel([*outputs, "the end"])
    run = await Agent(model, tools=tools_of(case, ran)).run("go")
    assert run.output == "the end"
    assert ran == case["ran"]
    for request in model.requests[1:]:
        check_invariants(to_openai(request.messages))
    check_invariants(to_openai(run.messages))
    results = {result.call_id: result for result in run.results}
    for call_id, wanted in case.get("results", {}).items():
        assert results[call_id].ok == (wanted == "ok")
        assert result_text(results[call_id]).strip()
    if "results_in_order" in case:
        assert [result.data for result in run.results] == case["results_in_order"]


@cases("trim")
def test_whatever_is_cut_is_valid(case):
    messages = heal(case["messages"], keeps_pending=True).messages
    newest = next(entry["content"] for entry in reversed(case["messages"]) if entry["role"] == "user")
    opening = max(i for i, entry in enumerate(case["messages"]) if entry["role"] == "user")
    least = len(case["messages"]) - opening  # the newest exchange may be all that is left
    for limit in case["limits"]:
        shown = to_openai(trim(messages, History(messages=limit, keep=1)))
        check_invariants(shown)
        assert shown[0] == case["messages"][0]
        assert any(entry["content"] == newest for entry in shown if entry["role"] == "user")
        assert len(shown) - 1 <= max(limit, least)


@cases("heal")
def test_results_are_paired_only_where_there_is_one_way(case):
    if "error" in case:
        with pytest.raises(HistoryError) as caught:
            heal(case["messages"])
        assert caught.value.code == case["error"]
        return
    healed = heal(case["messages"])
    assert {r.call_id: r.data for m in healed.messages for r in m.results} == case["paired"]
    check_invariants(to_openai(healed.messages))


@cases("export")
def test_the_export_has_the_order_that_is_asked_for(case):
    turns = to_anthropic(case["messages"])["messages"]
    assert [turn["role"] for turn in turns] == case["roles"]
    assert [[block["type"] for block in turn["content"]] for turn in turns] == case["blocks"]
