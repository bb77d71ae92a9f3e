"""Servers that misbehave over a real socket in ways that no protocol allows, and that are met all the same."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from tests.models.conftest import completion, event, no_wait, piece
from tests.models.speakers import KEY
from tests.models.test_protocols import REQUEST, asked, streamed
from toolhand.core.errors import ModelError, ModelFault, SettingsError
from toolhand.core.messages import Message, ModelRequest, Sampling, ToolCall, ToolResult, Value, user
from toolhand.models.announcing import heard_by
from toolhand.models.connections import Retries, Timeouts
from toolhand.models.faults import wait_in
from toolhand.models.openai import connect as openai
from toolhand.models.refused_settings import refused_setting
from toolhand.models.resolve import resolve
from toolhand.models.wire import output
from toolhand.models.wires.anthropic import AnthropicWire
from toolhand.models.wires.gemini import GeminiWire
from toolhand.models.wires.responses import ResponsesWire

PLAIN = ModelRequest(messages=(user("问"),))


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}},
        {"detail": f"Bearer {KEY} is not known"},
        {"error": f"no {KEY.removeprefix('sk-')}, or secret-of-the-gateway"},
    ],
)
async def test_a_key_that_the_server_repeats_is_in_no_error(server, speaker, made, streams, answer):
    bare = KEY.removeprefix("sk-")  # without what would tell it as a key
    server.answers = [answer]
    model = made(api_key=bare, headers={"X-Gateway-Token": "secret-of-the-gateway"})
    with pytest.raises(ModelError) as caught:
        await asked(model, streams)
    assert not any(secret in str(caught.value) for secret in (KEY, bare, "secret-of-the-gateway"))


async def test_a_key_with_a_line_end_is_sent_without_it_and_one_of_two_lines_is_refused(
    server, speaker, made
):
    server.answers = [speaker.whole("好")]
    assert (await made(api_key=f" {KEY}\n").complete(REQUEST)).text == "好"
    assert any(value.removeprefix("Bearer ") == KEY for value in server.requests[0][1].values())
    with pytest.raises(SettingsError, match="one line of text") as caught:
        made(api_key=f"{KEY}\nsecond")
    assert KEY not in str(caught.value)


async def test_total_holds_before_the_first_byte_too(serve_raw: Any) -> None:
    async def silence(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3600)

    model = openai("m", base_url=await serve_raw(silence), timeouts=Timeouts(total=0.2), sleep=no_wait)
    with pytest.raises(ModelError, match="timeout 'total'") as caught:
        await model.complete(PLAIN)
    assert caught.value.fault is ModelFault.TIMEOUT
    await model.close()


@pytest.mark.parametrize("streams", [False, True])
async def test_a_setting_that_the_model_does_not_take_is_left_out_from_then_on(
    server, speaker, made, streams
):
    said = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
    refused = web.json_response(speaker.error(400, said), status=400)
    server.answers = [lambda: refused, speaker.events("好") if streams else speaker.whole("好")]
    model, heard = made(), []
    request = replace(PLAIN, sampling=Sampling(temperature=0.0, top_p=0.5))
    with heard_by(heard.append):
        assert (await asked(model, streams, request)).text == "好"
        assert (await asked(model, streams, request)).text == "好"
    sent = [json.dumps(body) for _, _, body in server.requests]
    assert ["temperature" in body for body in sent] == [True, False, False]
    assert all("0.5" in body for body in sent), "the rest stays"
    assert len(heard) == 1


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("invalid temperature: only 1 is allowed for this model", "temperature"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", "top_p"),
        ("Unknown field random_seed", "seed"),
        ("the tool read_temperature has an invalid schema", None),
        ("temperature", None),
    ],
)
def test_which_setting_is_refused(said, name):
    sampling = Sampling(temperature=0.0, top_p=0.5, seed=1)
    assert refused_setting(ModelError(said, fault=ModelFault.REFUSED), sampling) == name
    assert refused_setting(ModelError(said, fault=ModelFault.REFUSED), Sampling()) is None
    assert refused_setting(ModelError(said, fault=ModelFault.FAILED), sampling) is None


async def test_a_server_that_misses_its_reasoning_in_a_history_gets_it(server):
    call = {"id": "c2", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    refused = {
        "error": {"message": "The `reasoning_content` in the thinking mode must be passed back to the API."}
    }
    server.answers = [
        lambda: web.json_response(refused, status=400),
        completion("", reasoning_content="想", tool_calls=[call]),
    ]
    model = openai("m", base_url=f"{server.root}/v1", api_key=KEY, sleep=no_wait)
    earlier = Message(role="assistant", parts=(ToolCall(id="c1", name="f", arguments={}),))
    answer = Message(role="tool", parts=(ToolResult(call_id="c1", name="f", outcome=Value(1)),))
    found = await model.complete(ModelRequest(messages=(user("问"), earlier, answer)))
    first, second = (body["messages"][1] for _, _, body in server.requests)
    assert ("reasoning_content" in first, second["reasoning_content"]) == (False, " ")
    assert found.opaque is not None
    assert found.opaque.data == {"reasoning_content": "想"}
    server.answers = [lambda: web.json_response(refused, status=400)]
    with pytest.raises(ModelError, match="passed back"):  # once learnt, it is the caller's
        await model.complete(PLAIN)
    assert len(server.requests) <= 7
    await model.close()


async def test_a_host_that_begins_like_a_key_is_named() -> None:
    model = openai(
        "skylark-large-v2", base_url="http://skylark-models.invalid/v1", retries=Retries(attempts=1)
    )
    with pytest.raises(ModelError, match=r"skylark-models\.invalid"):
        await model.complete(PLAIN)
    await model.close()


def streaming(*events: bytes) -> Any:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        writer.write(b"".join(events))
        await writer.drain()

    return answer


@pytest.mark.parametrize(
    ("events", "fault", "retryable"),
    [
        ([event("[DONE]")], ModelFault.GARBLED, True),
        ([b'data: {"choices":[{"delta":{"content":"h'], ModelFault.CUT, True),
        (
            [event({"object": "error", "message": "no", "code": 400}), event("[DONE]")],
            ModelFault.REFUSED,
            False,
        ),
        ([piece("", "network_error"), event("[DONE]")], ModelFault.FAILED, True),
        ([piece("", "insufficient_system_resource"), event("[DONE]")], ModelFault.OVERLOADED, True),
    ],
)
async def test_streams_that_hold_no_reply(serve_raw: Any, events: Any, fault: Any, retryable: bool) -> None:
    model = openai("m", base_url=await serve_raw(streaming(*events)), retries=Retries(attempts=1))
    with pytest.raises(ModelError) as caught:
        await streamed(model, PLAIN)
    assert (caught.value.fault, caught.value.retryable) == (fault, retryable)
    await model.close()


async def test_what_is_cut_behind_the_reply_does_no_harm(serve_raw: Any) -> None:
    answer = streaming(piece("好", "stop"), b'data: {"choices":[],"usa')
    model = openai("m", base_url=await serve_raw(answer), sleep=no_wait)
    assert (await streamed(model, PLAIN))[1].text == "好"
    await model.close()


async def test_what_is_not_http_is_not_called_a_closed_connection(serve_raw: Any) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n\r\n")

    model = openai("m", base_url=await serve_raw(answer), retries=Retries(attempts=1))
    with pytest.raises(ModelError, match="not HTTP") as caught:
        await model.complete(PLAIN)
    assert caught.value.fault is ModelFault.GARBLED
    await model.close()


@pytest.mark.parametrize("target", ["{root}/api/v1/chat/completions?key=abcdef", "/api/v1/chat/completions"])
async def test_a_redirect_names_the_base_address_and_no_query(serve_raw: Any, target: str) -> None:
    places: list[str] = []

    async def answer(writer: asyncio.StreamWriter) -> None:
        where = target.format(root=places[0])
        writer.write(f"HTTP/1.1 308 X\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n".encode())

    base = await serve_raw(answer)
    places.append(base.removesuffix("/v1"))
    model = openai("m", base_url=base, api_key=KEY)
    with pytest.raises(ModelError, match=f"sends on to {places[0]}/api/v1: give that as base_url"):
        await model.complete(PLAIN)
    await model.close()


@pytest.mark.parametrize("base", ["/v1/chat/completions", "/v1/?api-version=7", "/v1"])
async def test_the_address_may_be_given_whole_and_keeps_its_query(server, base):
    server.answers = [completion("好")]
    model = openai("m", base_url=server.root + base, api_key=KEY)
    assert (await model.complete(PLAIN)).text == "好"
    assert server.requests[0][0] == "/v1/chat/completions" + ("?api-version=7" if "?" in base else "")
    await model.close()


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


async def test_a_proxy_that_fails_is_named_and_its_password_is_not(serve_raw: Any, no_proxies: Any) -> None:
    async def refuse(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")

    alive = (await serve_raw(refuse)).removesuffix("/v1").removeprefix("http://")
    for proxy, said in (
        ("127.0.0.1:9", "the proxy 127.0.0.1:9 takes no"),
        (alive, "the proxy refused with status 407"),
    ):
        no_proxies.setenv("https_proxy", f"name:pass-word@{proxy}")
        model = openai("m", base_url="https://model.example/v1", api_key=KEY, retries=Retries(attempts=1))
        with pytest.raises(ModelError, match=said) as caught:
            await model.complete(PLAIN)
        assert caught.value.fault is ModelFault.UNREACHABLE
        assert "pass-word" not in str(caught.value)
        await model.close()


async def test_this_machine_is_reached_without_a_proxy(server, no_proxies):
    no_proxies.setenv("http_proxy", "http://127.0.0.1:9")
    server.answers = [completion("好")]
    model = resolve(f"{server.root}/v1#m")
    assert (await model.complete(PLAIN)).text == "好"
    await model.close()


def test_a_proxy_that_cannot_be_used_is_said_at_once(no_proxies: Any) -> None:
    no_proxies.setenv("ALL_PROXY", "socks5://name:pass-word@127.0.0.1:1080")
    with pytest.raises(SettingsError, match="ALL_PROXY names cannot be used for model.example") as caught:
        resolve("http://model.example/v1#m")
    assert "pass-word" not in str(caught.value)


@pytest.mark.parametrize(
    ("message", "seconds"),
    [("try again in 7.5s", 7.5), ("try again in 120ms.", 0.12), ("try again in 6m0s.", 360), ("try again in 1h2m3s", 3723),
     ("try again in a while", None), ("again in", None)],
)  # fmt: skip
def test_when_to_come_again_in_words(message: str, seconds: float | None) -> None:
    assert wait_in({"error": {"message": f"Please {message}"}}) == seconds
    assert wait_in([{"error": {"message": f"Please {message}"}}]) == seconds


def test_the_first_choice_is_the_one_with_the_first_number() -> None:
    first, second = completion("甲")["choices"][0], completion("乙")["choices"][0]
    assert output({"choices": [{**second, "index": 1}, first]}).text == "甲"


def test_a_refusal_and_thinking_in_parts_are_read() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "想"}]},
        {"type": "refusal", "refusal": "不行"},
    ]
    found = output({"choices": [{"message": {"content": parts}}]})
    assert (found.text, found.thinking) == ("不行", "想")
    assert output({"choices": [{"message": {"content": None, "refusal": "不行"}}]}).text == "不行"


def test_counts_that_are_none() -> None:
    usage = output(
        json.loads('{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":1e999}}')
    ).usage
    assert usage.input_tokens == 0


def test_responses_that_come_in_pieces_only_or_end_badly() -> None:
    wire = ResponsesWire("m", source="responses:m")
    incoming = wire.incoming(REQUEST)
    call = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": ""}
    for index, delta in ((1, '{"x":'), (0, ""), (1, "1}")):
        incoming.feed({"type": "response.output_item.added", "output_index": index, "item": call})
        incoming.feed(
            {"type": "response.function_call_arguments.delta", "output_index": index, "delta": delta}
        )
    incoming.feed({"type": "response.completed", "response": {"status": "completed", "output": []}})
    assert [call.arguments for call in incoming.finish().calls] == ["", '{"x":1}']
    thoughts = [
        {"type": "reasoning", "summary": ["a", None, {"text": "b"}]},
        {"type": "reasoning", "content": [{"text": "c"}]},
    ]
    assert wire.whole({"output": thoughts}, REQUEST).thinking == "a\nb\nc"
    for status in ("failed", "cancelled"):
        with pytest.raises(ModelError, match=status):
            wire.whole({"status": status, "output": []}, REQUEST)


def test_a_tool_of_the_providers_own_goes_back_as_it_was_meant() -> None:
    incoming = AnthropicWire("m", source="anthropic:m", max_tokens=9).incoming(REQUEST)
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    incoming.feed({"type": "content_block_start", "index": 0, "content_block": block})
    incoming.feed(
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"q": 1}'},
        }
    )
    kept = incoming.finish().opaque
    assert kept is not None
    assert kept.data["blocks"] == [{**block, "input": {"q": 1}}]


def test_geminis_chunks_in_a_list() -> None:
    def said(text: str, **more: Any) -> Any:
        return {"candidates": [{"content": {"parts": [{"text": text}]}, **more}]}

    wire = GeminiWire("m", source="gemini:m")
    assert wire.whole([said("甲"), said("乙", finishReason="STOP")], REQUEST).text == "甲乙"
