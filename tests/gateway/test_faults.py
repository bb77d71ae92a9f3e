"""What a client is told when the model's server fails, and what happens to the work when the client has gone."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from tests.gateway.test_chat import asked, message
from tests.gateway.upstream import completion, event, piece
from toolhand.gateway import ClientKey, Upstream

STREAMED = [False, True]


def refusing(status: int, text: str = '{"error": {"message": "no"}}', **headers: str):
    async def answer(request, body):
        return web.Response(status=status, text=text, content_type="application/json", headers=headers)

    return answer


async def garbage(request, body):
    return web.Response(text="%%% not json %%%", content_type="application/json")


async def nothing(request, body):
    return web.json_response({"id": "x", "choices": []})


async def hanging(request, body):
    await asyncio.sleep(60)


@pytest.mark.parametrize("streams", STREAMED)
@pytest.mark.parametrize(
    ("answer", "status", "kind"),
    [
        (refusing(500), 502, "server_error"),
        (refusing(529), 503, "overloaded_error"),
        (refusing(503), 502, "server_error"),
        (refusing(400), 400, "invalid_request_error"),
        (refusing(401), 502, "server_error"),
        (refusing(404, '{"error": {"message": "The model `up` does not exist", "code": "model_not_found"}}'), 404, "invalid_request_error"),
        (refusing(400, '{"error": {"message": "maximum context length is 8 tokens", "code": "context_length_exceeded"}}'), 400, "invalid_request_error"),
        (garbage, 502, "server_error"),
    ],
)  # fmt: skip
async def test_a_failure_has_its_status_and_shows_no_address(start, answer, status, kind, streams):
    gate = await start(answer)
    said = await gate.post(asked(stream=streams))
    assert said.status == status, said.body
    assert said.body["error"]["type"] == kind
    assert gate.upstream.url not in said.body["error"]["message"]
    assert "127.0.0.1" not in said.body["error"]["message"]


@pytest.mark.parametrize("streams", STREAMED)
async def test_a_wait_is_handed_on(start, streams):
    gate = await start(refusing(429, **{"Retry-After": "17"}))
    said = await gate.post(asked(stream=streams))
    assert (said.status, said.headers["Retry-After"]) == (429, "17")
    assert said.body["error"]["retry_after"] == 17
    assert len(gate.upstream.bodies) == 1


async def test_a_hiccup_is_hidden(start):
    gate = await start(refusing(503), "All is well.")
    assert message(await gate.post(asked()))["content"] == "All is well."


async def test_empty_choices_are_no_answer(start):
    gate = await start(nothing)
    assert (await gate.post(asked())).status == 502


@pytest.mark.parametrize("streams", STREAMED)
async def test_a_server_that_hangs_is_given_up(start, streams):
    gate = await start(hanging, seconds=0.5)
    said = await gate.post(asked(stream=streams))
    assert said.status == 504
    assert said.body["error"]["code"] == "timeout"
    await asyncio.wait_for(gate.upstream.cancelled.wait(), 30)


async def test_a_stream_that_breaks_off_ends_with_an_error(start):
    async def broken(request, body):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(piece({"content": "It is sunny in Paris today, and"}))
        request.transport.close()
        return response

    gate = await start(broken)
    said = await gate.post(asked(stream=True))
    assert said.status == 200
    assert said.events[-1]["error"]["type"] == "server_error"
    assert "[DONE]" not in said.events
    assert not any(choice["finish_reason"] for chunk in said.events[:-1] for choice in chunk["choices"])


async def test_a_reply_that_was_cut_by_length_says_so(start):
    whole = completion('Here: <tool_call>{"name": "get_weather", "arguments": {"city": "Pa', finish="length")
    gate = await start(whole)
    for streams in STREAMED:
        gate.upstream.bodies.clear()
        said = await gate.post(asked(stream=streams))
        choice = (
            [c for c in said.events[:-1] if c["choices"]][-1]["choices"][0]
            if streams
            else said.body["choices"][0]
        )
        assert choice["finish_reason"] == "length"
        assert len(gate.upstream.bodies) == 1


@pytest.mark.parametrize("streams", STREAMED)
async def test_a_client_that_goes_ends_the_work(start, streams):
    begun = asyncio.Event()

    async def slow(request, body):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if body.get("stream"):
            await response.prepare(request)
            await response.write(piece({"content": "It is sunny in Paris today, and"}))
        begun.set()
        await asyncio.sleep(60)

    gate = await start(slow)
    task = asyncio.ensure_future(gate.post(asked(stream=streams)))
    await asyncio.wait_for(begun.wait(), 30)
    task.cancel()
    await asyncio.wait([task])
    await asyncio.wait_for(gate.upstream.cancelled.wait(), 30)


async def test_an_error_in_the_midst_of_a_stream(start):
    async def failing(request, body):
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(event({"error": {"message": "overloaded", "code": 503}}))
        return response

    gate = await start(failing)
    assert (await gate.post(asked(stream=True))).status == 503


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"{", ""),
        (b"[]", ""),
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [1]}, "messages[0]"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages"),
        (asked(temperature="hot"), "temperature"),
        (asked(n=2), "n"),
        (asked(tool_choice={"type": "function", "function": {"name": "nope"}}), "tool_choice"),
        (asked(tool_choice="sometimes"), "tool_choice"),
        (asked(tools=[{"type": "web_search"}]), "tools[0].type"),
        (asked(tools=[{"type": "function", "function": {}}]), "tools"),
        (asked(tools=[{"type": "function", "function": {"name": "a", "parameters": {"type": "object", "properties": 5}}}]), "tools[0]"),
        (asked(response_format={"type": "json_schema"}), "response_format"),
        (b"[" * 100_000, ""),
        (b'{"a":' * 500 + b"1" + b"}" * 500, ""),
    ],
)  # fmt: skip
async def test_a_wrong_request_is_named(start, body, param):
    gate = await start("never")
    said = await gate.post(body)
    assert said.status == 400, said.body
    assert (said.body["error"]["param"] or "") == param
    assert not gate.upstream.bodies


async def test_a_long_body_is_refused(start):
    gate = await start("never", max_body_mb=0.01)
    said = await gate.post(asked("x" * 20_000))
    assert said.status == 413


async def test_keys_models_and_limits(start):
    keys = (
        ClientKey(name="one", key="the-key-of-one-person", models=("m",), rate_limit="2/minute"),
        ClientKey(name="two", key="the-key-of-another-one"),
    )
    gate = await start("Well.", keys=keys)
    assert (await gate.post(asked())).status == 401
    wrong = {"Authorization": "Bearer nobodys-key"}
    assert (await gate.post(asked(), headers=wrong)).status == 401
    assert (await gate.get("/v1/models")).status == 401
    mine = {"Authorization": "Bearer the-key-of-one-person"}
    assert (await gate.post(asked(model="other"), headers=mine)).status == 403
    assert (await gate.post(asked(), headers={"x-api-key": "the-key-of-one-person"})).status == 200
    said = await gate.post(asked(), headers=mine)
    assert said.status == 429
    assert 1 <= int(said.headers["Retry-After"]) <= 60
    assert said.body["error"]["retry_after"] == int(said.headers["Retry-After"])
    assert (
        await gate.post(asked(), headers={"Authorization": "Bearer the-key-of-another-one"})
    ).status == 200
    assert all("Authorization" not in headers for headers in gate.upstream.headers)


async def test_the_clients_key_goes_on_where_it_shall(start):
    gate = await start("Well.", pass_keys=True)
    said = await gate.post(asked(), headers={"Authorization": "Bearer sk-of-the-client"})
    assert said.status == 200
    assert gate.upstream.headers[0]["Authorization"] == "Bearer sk-of-the-client"
    assert (await gate.post(asked())).status == 401


async def test_an_unknown_model_is_named_or_led_to_the_default(start):
    gate = await start("Well.")
    said = await gate.post(asked(model="gpt-99"))
    assert (said.status, said.body["error"]["code"]) == (404, "model_not_found")
    gate = await start("Well.", default_model="m")
    assert (await gate.post(asked(model="gpt-99"))).body["model"] == "gpt-99"


async def test_a_key_may_use_what_answers_whatever_name_was_asked_for(start):
    keys = [
        ClientKey(name=name, key=f"the-key-of-who-may-{name}", models=(name,)) for name in ("m", "gpt-99")
    ]
    gate = await start("Well.", default_model="m", keys=tuple(keys))
    for key, status in zip(keys, (200, 403), strict=True):
        headers = {"Authorization": f"Bearer the-key-of-who-may-{key.name}"}
        assert (await gate.post(asked(model="gpt-99"), headers=headers)).status == status


async def test_a_star_names_many_models(start):
    gate = await start("Well.", models={"any/*": Upstream(model="nonsense:*")})
    assert (await gate.post(asked(model="any/thing"))).status == 404


async def test_only_so_many_at_once(start):
    begun, end = asyncio.Event(), asyncio.Event()

    async def slow(request, body):
        begun.set()
        await end.wait()
        return web.json_response(completion("Well."))

    gate = await start(slow, most_running=1)
    first = asyncio.ensure_future(gate.post(asked()))
    await asyncio.wait_for(begun.wait(), 30)
    second = await gate.post(asked())
    assert second.status == 503
    assert second.headers["Retry-After"] == "1"
    end.set()
    assert (await first).status == 200
