"""Tools that run at the gateway, alone and beside the client's own, and sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.test_chat import CALL, WEATHER, message, streamed
from tests.gateway.upstream import answered
from toolhand.core.approvals import Approve
from toolhand.gateway import ClientKey
from toolhand.sessions.store import open_store

HERE = str(Path(__file__).parent / "tools_here.py")
STOCK = '<tool_call>{"name": "get_stock", "arguments": {"item": "wrench"}}</tool_call>'
ORDER = '<tool_call>{"name": "order", "arguments": {"item": "wrench"}}</tool_call>'


def plain(text: str = "How many wrenches are there?", **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **more}


@pytest.mark.parametrize("streams", [False, True])
async def test_a_tool_runs_here_and_the_client_sees_the_answer(start, streams):
    gate = await start(STOCK, "There are 7.", tools=HERE)
    said = await gate.post(plain(stream=streams))
    made = streamed(said) if streams else message(said)
    assert made["content"] == "There are 7."
    assert not made.get("tool_calls")
    told = gate.upstream.bodies[1]["messages"]
    assert [m["role"] for m in told] == ["user", "assistant", "tool"]
    assert told[-1]["content"] == "7"


async def test_a_client_with_tools_of_its_own_names_what_runs_here(start):
    gate = await start("Well.", toolsets={"stock": HERE})
    await gate.post(plain(tools=[WEATHER]))
    assert [t["function"]["name"] for t in gate.upstream.bodies[-1]["tools"]] == ["get_weather"]
    await gate.post(plain(tools=[WEATHER], toolhand={"tools": ["stock"]}))
    assert "get_stock" in [t["function"]["name"] for t in gate.upstream.bodies[-1]["tools"]]
    await gate.post(plain(), headers={"toolhand-tools": "stock"})
    assert "get_stock" in [t["function"]["name"] for t in gate.upstream.bodies[-1]["tools"]]
    refused = await gate.post(plain(toolhand={"tools": ["mcp:rm -rf /"]}))
    assert (refused.status, refused.body["error"]["param"]) == (400, "toolhand.tools")


async def test_what_ran_here_beside_a_clients_call_is_not_forgotten(start):
    gate = await start(f"{STOCK}\n{CALL}", "There are 7, and it is sunny.", toolsets={"stock": HERE})
    body = plain(tools=[WEATHER], toolhand={"tools": ["stock"]})
    first = message(await gate.post(body))
    (call,) = first["tool_calls"]
    assert call["function"]["name"] == "get_weather"
    assert len(gate.upstream.bodies) == 1
    history = [*body["messages"], first, {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}]
    second = message(await gate.post({**body, "messages": history}))
    assert second["content"] == "There are 7, and it is sunny."
    told = gate.upstream.bodies[1]["messages"]
    names = {c["id"]: c["function"]["name"] for c in told[1]["tool_calls"]}
    assert sorted(names.values()) == ["get_stock", "get_weather"]
    assert {names[m["tool_call_id"]]: m["content"] for m in told[2:]} == {
        "get_stock": "7",
        "get_weather": "sunny",
    }


async def test_permissions_are_those_of_the_key(start):
    keys = (
        ClientKey(name="one", key="the-key-of-one-person", permissions=("secrets:read",)),
        ClientKey(name="two", key="the-key-of-another-one", toolsets=()),
    )
    secret = '<tool_call>{"name": "read_secret", "arguments": {}}</tool_call>'
    gate = await start(secret, "Under the mat.", keys=keys, toolsets={"here": HERE})
    one, two = ({"Authorization": f"Bearer {key.key}"} for key in keys)
    assert (
        message(await gate.post(plain(toolhand={"tools": ["here"]}), headers=one))["content"]
        == "Under the mat."
    )
    assert gate.upstream.bodies[1]["messages"][-1]["content"] == "the key is under the mat"
    assert (await gate.post(plain(toolhand={"tools": ["here"]}), headers=two)).status == 400


@pytest.mark.parametrize("streams", [False, True])
async def test_a_session_is_kept_here(start, tmp_path, streams):
    path = str(tmp_path / "sessions.db")
    gate = await start(STOCK, "There are 7.", "As I said: 7.", tools=HERE, store=path)
    in_session = {"headers": {"toolhand-session": "alice-1"}}
    said = await gate.post(plain(stream=streams, stream_options={"include_usage": True}), **in_session)
    made = streamed(said) if streams else message(said)
    assert made["content"] == "There are 7."
    usage = made["usage"] if streams else said.body["usage"]
    assert usage["toolhand"]["session"] == "alice-1"
    made = message(await gate.post(plain("And again?"), **in_session))
    assert made["content"] == "As I said: 7."
    told = gate.upstream.bodies[-1]["messages"]
    assert [m["role"] for m in told if m["role"] != "system"] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    found = await open_store(path).find("alice-1")
    assert found is not None


async def test_sessions_belong_to_their_users(start, tmp_path):
    keys = tuple(ClientKey(name=name, key=f"the-key-of-{name}-person") for name in ("one", "two"))
    gate = await start("Well.", keys=keys, store=str(tmp_path / "sessions.db"))
    one, two = ({"Authorization": f"Bearer {key.key}", "toolhand-session": "mine"} for key in keys)
    assert (await gate.post(plain(), headers=one)).status == 200
    refused = await gate.post(plain(), headers=two)
    assert (refused.status, refused.body["error"]["code"]) == (403, "session_refused")


async def test_a_call_that_waits_for_a_person_is_told_of_and_can_be_gone_on_with(start, tmp_path):
    gate = await start(ORDER, "It is ordered.", tools=HERE, store=str(tmp_path / "sessions.db"))
    said = await gate.post(plain("Order a wrench."), headers={"toolhand-session": "s"})
    assert "order" in message(said)["content"]
    (pending,) = said.body["usage"]["toolhand"]["pending"]
    assert pending["name"] == "order"
    run = await gate.app.state.gateway.sessions.resume("s", "", {pending["approval_id"]: Approve()})
    assert run.text == "It is ordered."
    assert json.dumps(gate.upstream.bodies[1]["messages"]).count("ordered wrench") == 1


async def test_a_call_that_waits_without_a_session_is_refused_to_the_model(start):
    gate = await start(ORDER, "A person has to agree.", tools=HERE)
    assert message(await gate.post(plain("Order a wrench.")))["content"] == "A person has to agree."
    assert "ordered wrench" not in json.dumps(gate.upstream.bodies)


async def test_a_website_cannot_use_a_gateway_without_keys(start):
    gate = await start("Well.")
    assert (await gate.post(plain(), headers={"Origin": "https://evil.example"})).status == 403
    assert (await gate.post(plain(), headers={"Host": "rebound.example"})).status == 403
    assert (await gate.post(plain(), headers={"Origin": "http://localhost:3000"})).status == 200


async def test_a_model_that_calls_for_ever_is_asked_for_its_answer(start):
    async def asks_on(request, body):
        is_last = "limit" in str(body["messages"][-1]["content"])
        return await answered(
            request, body, "About 7." if is_last else STOCK.replace("wrench", str(len(body["messages"]))), 5
        )

    gate = await start(asks_on, tools=HERE)
    assert message(await gate.post(plain()))["content"] == "About 7."
    assert len(gate.upstream.bodies) == 20
