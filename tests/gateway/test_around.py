"""The addresses beside the protocols, the page, the check of the settings, and that nothing sent makes the gateway fail."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gateway.conftest import gateway
from tests.gateway.test_chat import CALL, asked, message
from tests.gateway.upstream import Upstream as Script
from tests.gateway.upstream import running
from toolhand.cli.app import run_app
from toolhand.gateway import ClientKey, GatewaySettings, Upstream
from toolhand.gateway.checking import findings
from toolhand.gateway.document import CHAT, MESSAGES, RESPONSES, document
from toolhand.gateway.endpoint import _Work
from toolhand.gateway.fronts import chat, messages, responses
from toolhand.gateway.refusals import Refusal

REPORTS = Path(__file__).parents[1] / "cases" / "reports" / "gateway.jsonl"


async def test_it_lives_lists_counts_and_describes_itself(start):
    gate = await start(CALL)
    assert (await gate.get("/healthz")).body == {"status": "ok"}
    listed = (await gate.get("/v1/models")).body
    assert [row["id"] for row in listed["data"]] == ["m"]
    assert (await gate.get("/v1/models/m")).body["object"] == "model"
    assert (await gate.get("/v1/models/x")).status == 404
    await gate.post(asked())
    figures = (await gate.get("/metrics")).body
    assert 'toolhand_gateway_requests_total{path="/v1/chat/completions",model="m",status="200"} 1' in figures
    assert "toolhand_gateway_running 0" in figures
    assert 'toolhand_fixes_total{kind="string_to_number"} 1' in figures
    for name in ("gateway.md", "gateway.zh.md"):
        text = (Path(__file__).parents[2] / "docs" / "how-to" / name).read_text("utf-8")
        for metric in re.findall(r"# HELP (toolhand_gateway_\w+)", figures):
            assert f"`{metric}" in text
    assert (await gate.get("/openapi.json")).body == document()
    assert (await gate.get("/v1/chat/completions")).status == 405


@pytest.mark.parametrize("page", [False, True])
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/v1/embeddings", "/v1/chat/completions"),
        ("/v1/chat/completions/", "/v1/chat/completions"),
        ("/chat/completions", "did you mean /v1/chat/completions"),
        ("/models", "did you mean /v1/models"),
        ("/v1/v1/messages", "did you mean /v1/messages"),
        ("/v1/messages/count_tokens", "/v1/messages"),
        ("/v1", "/v1/chat/completions"),
        ("/v1/" + "x" * 5000, "…"),
    ],
)
async def test_an_address_that_is_none_is_told_in_the_clients_own_shape(start, tmp_path, path, says, page):
    gate = await start("Well.", page=page, store=str(tmp_path / "sessions.db"))
    said = await gate.post({}, path)
    assert said.status == 404
    assert says in said.body["error"]["message"]
    assert len(said.body["error"]["message"]) < 600
    if "messages" in path:
        assert (said.body["type"], said.body["error"]["type"]) == ("error", "not_found_error")
    else:
        assert said.body["error"]["code"] == "not_found"
    theirs = await gate.get(path, headers={"anthropic-version": "2023-06-01"})
    assert theirs.body["error"]["type"] == "not_found_error"


async def test_pages_that_are_open_do_not_keep_it_from_stopping(tmp_path, caplog):
    script = Script("Well.")
    async with gateway(script, page=True, store=str(tmp_path / "sessions.db")) as gate:
        stream = await gate.session.get(f"{gate.url}/live")
        assert await stream.content.readuntil(b"\n\n")
    assert not [record for record in caplog.records if "graceful" in record.message]
    stream.close()


async def test_what_fails_when_nobody_waits_any_more_is_no_loose_end(caplog):
    there = asyncio.Event()

    async def failing():
        try:
            await there.wait()
        finally:
            raise RuntimeError("too late")

    async def waits():
        await there.wait()

    async with _Work(failing(), waits):
        await asyncio.sleep(0)
    gc.collect()
    assert not [record for record in caplog.records if "never retrieved" in record.getMessage()]


async def test_the_figures_are_behind_the_token(start):
    gate = await start("Well.", token="a-token-of-some-length")
    assert (await gate.get("/metrics")).status == 401
    right = {"Authorization": "Bearer a-token-of-some-length"}
    assert (await gate.get("/metrics", headers=right)).status == 200


async def test_the_page_is_served_beside_it(start, tmp_path):
    gate = await start("Well.", page=True, store=str(tmp_path / "sessions.db"))
    body = {"messages": [{"role": "user", "content": "How many wrenches are there?"}]}
    assert message(await gate.post(body, headers={"toolhand-session": "alice-1"}))["content"] == "Well."
    page = await gate.get("/", headers={"accept": "text/html"})
    assert page.status == 200
    assert "alice-1" in page.body


@pytest.mark.parametrize(
    "case", [json.loads(line) for line in REPORTS.read_text("utf-8").splitlines()], ids=lambda c: c["id"]
)
async def test_what_went_wrong_for_people(case, start):
    key = ClientKey(
        name="one",
        key="the-key-of-one-person",
        rate_limit=case["input"]["rate_limit"].removesuffix(" per key"),
    )
    gate = await start("Well.", keys=(key,))
    mine = {"Authorization": f"Bearer {key.key}"}
    said = [await gate.post(asked(), headers=mine) for _ in range(case["input"]["requests"])]
    assert [one.status for one in said] == case["expect"]["status"]
    wanted = case["expect"]["header_retry_after"]
    least, most = wanted["integer_between"]
    refused = said[wanted["index"]]
    assert least <= int(refused.headers["Retry-After"]) <= most
    assert refused.body["error"]["retry_after"] == int(refused.headers["Retry-After"])


async def test_the_check_names_what_cannot_be_used(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLHAND_CONFIG", str(tmp_path))
    async with running(Script("")) as url:
        told = GatewaySettings(
            port=0,
            store="memory",
            models={"good": Upstream(model=f"{url}#m"), "gone": Upstream(model="http://127.0.0.1:9/v1#m")},
            tools="builtin",
        )
        found = {one.what: one async for one in findings(told)}
    assert not found["model good"].problem
    assert "127.0.0.1:9" in found["model gone"].problem
    assert found["tools builtin"].told


def test_the_check_has_an_exit_code(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TOOLHAND_CONFIG", str(tmp_path))
    file = tmp_path / "serve.toml"
    file.write_text(
        'port = 0\nstore = "memory"\n[models]\ngone = "http://127.0.0.1:9/v1#m"\n[toolsets]\nnone = "no/such/file.py"\n'
    )
    assert run_app(["serve", "--check"]) == 1
    said = capsys.readouterr().out
    assert "✗ model gone" in said
    assert "✗ tools: toolsets.none: " in said


def test_a_wrong_source_of_tools_is_told_by_the_setting_that_names_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TOOLHAND_CONFIG", str(tmp_path))
    assert run_app(["serve", "--port", "0", "-m", "http://127.0.0.1:9/v1#m", "--tools", "nope.py"]) != 0
    said = capsys.readouterr().err
    assert "tools: there is no file 'nope.py'" in said
    assert "toolsets" not in said


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from(["", "m", "user", "function", "object", "\x00", "🙂"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["role", "content", "type", "function", "name", "parameters", "properties", "required", "id", "tool_calls", "text", "input", "schema", "items", "enum", "anyOf", "$ref"]),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.parametrize(
    ("front", "schema"), [(chat.FRONT, CHAT), (messages.FRONT, MESSAGES), (responses.FRONT, RESPONSES)]
)
def test_whatever_is_sent_is_read_or_refused(front: Any, schema: Any, data: st.DataObject):
    body = {name: data.draw(ANYTHING) for name in schema["properties"] if data.draw(st.booleans())}
    with contextlib.suppress(Refusal):
        front.read(body)


def test_the_document_is_one_and_takes_real_requests():
    jsonschema.validate(
        asked(stream=True, tool_choice="auto", toolhand={"tools": ["stock"]}),
        {**CHAT, "required": ["messages"]},
    )
    for operations in document()["paths"].values():
        for operation in operations.values():
            assert operation["summary"]
            assert "200" in operation["responses"]
