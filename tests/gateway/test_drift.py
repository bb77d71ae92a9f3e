"""Every family of the reading cases, written by a scripted model server, comes out as right calls: whole and streamed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.gateway.test_chat import message, streamed
from tests.gateway.upstream import event

READING = Path(__file__).parents[1] / "cases" / "reading"
DELTAS = Path(__file__).parents[1] / "cases" / "reports" / "deltas.jsonl"
SIZES = (1, 2, 5, 17, 64)


def by_family() -> dict[str, list[dict[str, Any]]]:
    named = {
        tool["function"]["name"]: tool for tool in json.loads((READING / "tools.json").read_text("utf-8"))
    }
    found: dict[str, list[dict[str, Any]]] = {}
    for name in ("drift.jsonl", "fresh.jsonl", "strangers.jsonl"):
        for line in (READING / name).read_text("utf-8").splitlines():
            case = json.loads(line)
            case["tools"] = [named[tool] if isinstance(tool, str) else tool for tool in case["tools"]]
            found.setdefault(case["family"], []).append(case)
    return found


FAMILIES = by_family()


def called(made: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        for call in made.get("tool_calls") or ()
    ]


@pytest.mark.parametrize("family", sorted(FAMILIES))
async def test_a_family_comes_out_whole_and_streamed(family, start):
    gate = await start("", rounds=0)
    for number, case in enumerate(FAMILIES[family]):
        gate.upstream.script, gate.upstream.size = [case["output"]], SIZES[number % len(SIZES)]
        body = {"messages": [{"role": "user", "content": "?"}], "tools": case["tools"]}
        whole = message(await gate.post(body))
        pieces = streamed(await gate.post({**body, "stream": True}))
        assert called(whole) == called(pieces), case["id"]
        assert (whole["content"] or "") == pieces["content"], case["id"]
        ids = [call["id"] for call in whole.get("tool_calls") or ()]
        assert len(ids) == len(set(ids))
        if case["kind"] in ("call", "negative"):
            expected = case["expect"].get("calls", [])
            if family in ("plan", "python") and called(whole):
                # A plan's first steps are given out; the others need their results.
                expected = expected[: len(called(whole))]
            assert called(whole) == expected, case["id"]
        if case["kind"] == "call":
            assert pieces["finish"] == "tool_calls", case["id"]


def tool_for(call: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {name: {} for name in call["arguments"]}
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": call["name"], "parameters": parameters}}


async def test_streams_that_went_wrong_for_people_come_out_right(start):
    cases = [json.loads(line) for line in DELTAS.read_text("utf-8").splitlines()]
    assert cases

    async def replayed(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for chunk in case["input"]:
            await response.write(event(chunk))
        await response.write(event("[DONE]"))
        return response

    gate = await start(replayed, rounds=0)
    for case in cases:
        wanted = [{"name": call["name"], "arguments": call["args"]} for call in case["expect"]["calls"]]
        tools = [tool_for(call) for call in {call["name"]: call for call in wanted}.values()]
        body = {"messages": [{"role": "user", "content": "?"}], "tools": tools, "stream": True}
        made = streamed(await gate.post(body))
        assert called(made) == wanted, case["id"]
        assert made["finish"] == "tool_calls"
        assert len({call["id"] for call in made["tool_calls"]}) == len(wanted)
