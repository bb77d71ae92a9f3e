"""Every protocol against a real local server, well-behaved and not: what one adapter stands, all of them stand."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from tests.models.speakers import KEY
from toolhand import Agent
from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.events import ModelRetried, TextDelta
from toolhand.core.messages import ModelOutput, ModelRequest, user
from toolhand.core.tools import Tool
from toolhand.models.announcing import heard_by
from toolhand.models.connections import Retries, Timeouts
from toolhand.tools.export import exported, wire_name

FIND = Tool(
    name="查.货",
    parameters={
        "type": "object",
        "properties": {"品名": {"type": "string"}, "n": {"enum": [1, 2]}},
        "required": ["品名"],
    },
)
REQUEST = ModelRequest(messages=(user("问"),), tools=(FIND,))


async def streamed(model: Any, request: ModelRequest = REQUEST) -> tuple[str, ModelOutput]:
    shown, output = "", None
    async for item in model.stream(request):
        assert output is None, "the output is the last item"
        if isinstance(item, TextDelta):
            shown += item.text
        else:
            output = item
    assert output is not None
    return shown, output


async def asked(model: Any, streams: bool, request: ModelRequest = REQUEST) -> ModelOutput:
    return (await streamed(model, request))[1] if streams else await model.complete(request)


def calls_for(model: Any) -> list[Any]:
    """Two calls as the provider would send them: under the wire's names."""
    forms = {"openai": "openai", "anthropic": "anthropic", "gemini": "gemini", "responses": "responses"}
    one = exported(FIND, forms[model.name.partition(":")[0]])
    return [
        ("c1", one.name, one.wire_arguments({"品名": "扳手🙂", "n": 2})),
        ("c2", one.name, one.wire_arguments({"品名": "b"})),
    ]


OWN = [{"品名": "扳手🙂", "n": 2}, {"品名": "b"}]


@pytest.mark.parametrize("streams", [False, True])
async def test_text_calls_and_counts_come_back_as_the_tools_mean_them(server, speaker, made, streams):
    model = made()
    calls = calls_for(model)
    server.answers = [speaker.events("先看看", calls) if streams else speaker.whole("先看看", calls)]
    output = await asked(model, streams)
    found = [
        call.arguments if isinstance(call.arguments, dict) else json.loads(call.arguments)
        for call in output.calls
    ]
    assert (output.text, output.finish_reason, output.model) == ("先看看", "tool_calls", model.name)
    assert [call.name for call in output.calls] == [FIND.name] * 2
    assert [call.id for call in output.calls] == ["c1", "c2"]
    assert found == OWN
    assert (output.usage.input_tokens, output.usage.cached_tokens, output.usage.output_tokens) == (30, 10, 5)
    path, headers, body = server.requests[0]
    assert KEY in [
        headers.get(name, "").removeprefix("Bearer ")
        for name in ("Authorization", "x-api-key", "x-goog-api-key")
    ]
    assert KEY not in path + json.dumps(body)
    assert wire_name(FIND.name) in json.dumps(body)


async def test_a_stream_in_single_bytes(server, speaker, made):
    model = made()
    whole = b"".join(speaker.events("杭州🙂", calls_for(model)))
    server.answers = [[whole[i : i + 1] for i in range(len(whole))]]
    shown, output = await streamed(model)
    assert (shown, output.text, len(output.calls)) == ("杭州🙂", "杭州🙂", 2)


async def test_text_is_shown_as_it_comes(server, speaker, made):
    server.answers = [[piece for sent in speaker.events("前半后半") for piece in (sent, 0.01)]]
    pieces = [item.text async for item in made().stream(REQUEST) if isinstance(item, TextDelta)]
    assert pieces[0] != "前半后半"
    assert "".join(pieces) == "前半后半"


async def test_a_whole_run_with_tools(server, speaker, made):
    model, seen = made(), []

    def find(**arguments: Any) -> dict[str, int]:
        seen.append(arguments)
        return {"件": 7}

    server.answers = [speaker.whole("", calls_for(model)), speaker.whole("七件。")]
    run = await Agent(model, [replace(FIND, function=find)]).run("还有多少？")
    assert run.text == "七件。"
    assert sorted(seen, key=str) == sorted(OWN, key=str)  # they run side by side
    again = json.dumps(server.requests[1][2], ensure_ascii=False)
    assert again.count("c1") >= 1 or speaker.name == "gemini"
    assert "件" in again


@pytest.mark.parametrize("streams", [False, True])
async def test_what_passes_is_tried_again_and_announced(server, speaker, made, streams):
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    good = speaker.events("好") if streams else speaker.whole("好")

    def busy() -> web.Response:
        return web.json_response(speaker.error(429, "slow down"), status=429, headers={"Retry-After": "7"})

    def full() -> web.Response:
        return web.json_response(speaker.error(529, "Overloaded"), status=529)

    server.answers = [busy, full, good]
    heard: list[Any] = []
    with heard_by(heard.append):
        assert (await asked(made(sleep=sleep), streams)).text == "好"
    assert [type(event) for event in heard] == [ModelRetried, ModelRetried]
    assert [event.error.fault for event in heard] == [ModelFault.RATE_LIMITED, ModelFault.OVERLOADED]
    assert (heard[0].attempt, heard[0].wait_seconds, waits[0]) == (1, 7.0, 7.0)


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("status", "message", "fault"),
    [
        (500, "oops", ModelFault.FAILED),
        (502, "bad gateway", ModelFault.FAILED),
        (529, "Overloaded", ModelFault.OVERLOADED),
        (401, "who are you", ModelFault.KEY),
        (404, "no such model", ModelFault.UNKNOWN_MODEL),
        (402, "pay", ModelFault.QUOTA),
        (429, "insufficient_quota", ModelFault.QUOTA),
        (400, "bad field", ModelFault.REFUSED),
        (301, "moved", ModelFault.MOVED),
    ],
)
async def test_refusals(server, speaker, made, streams, status, message, fault):
    body, headers = speaker.error(status, message), {"Location": "http://x/"}
    server.answers = [lambda: web.json_response(body, status=status, headers=headers)]
    with pytest.raises(ModelError) as caught:
        await asked(made(retries=Retries(attempts=2)), streams)
    assert (caught.value.fault, caught.value.status) == (fault, status)
    assert len(server.requests) == (2 if caught.value.retryable else 1)
    assert KEY not in str(caught.value)


async def test_a_conversation_that_is_too_long(server, speaker, made):
    server.answers = [lambda: web.json_response(speaker.overflow, status=400)]
    with pytest.raises(ModelError, match="longer than what the model 'm' can read") as caught:
        await made().complete(REQUEST)
    assert (caught.value.fault, caught.value.retryable) == (ModelFault.CONTEXT_OVERFLOW, False)


@pytest.mark.parametrize("streams", [False, True])
async def test_nothing_but_a_content_filter(server, speaker, made, streams):
    server.answers = [speaker.filtered()]
    with pytest.raises(ModelError, match="content filter") as caught:
        await asked(made(), streams)
    assert caught.value.fault is ModelFault.CONTENT_FILTER


async def test_an_error_in_the_middle_of_a_stream(server, speaker, made):
    server.answers = [[*speaker.events("前半后半")[:4], speaker.error_event("Overloaded")]]
    with pytest.raises(ModelError, match="Overloaded") as caught:
        await streamed(made())
    assert caught.value.fault is ModelFault.OVERLOADED


async def test_an_error_before_the_text_is_tried_again(server, speaker, made):
    server.answers = [[speaker.error_event("Overloaded")], speaker.events("好")]
    assert (await streamed(made()))[0] == "好"


async def test_a_cut_stream_is_tried_again_until_something_was_given(server, speaker, made):
    head, text = speaker.events("前半后半")[:1], speaker.events("前半后半")[:4]
    server.answers = [[*(head if speaker.name != "gemini" else []), 0.02, None], [*text, 0.02, None]]
    shown: list[str] = []

    async def read() -> None:
        async for item in made().stream(REQUEST):
            shown.extend([item.text])

    with pytest.raises(ModelError) as caught:
        await read()
    assert shown
    assert caught.value.fault is ModelFault.CUT
    assert len(server.requests) == 2


async def test_a_stream_that_ends_early_in_good_order_is_cut_too(server, speaker, made):
    server.answers = [
        speaker.events("前半后半")[:3] if speaker.name != "gemini" else speaker.events("前半后半")[:2]
    ]
    with pytest.raises(ModelError, match="was cut"):
        await streamed(made(retries=Retries(attempts=1)))


async def test_a_slow_drip_is_given_up(server, speaker, made):
    server.answers = [[*speaker.events("前半后半")[:2], 30.0]]
    with pytest.raises(ModelError, match="between_bytes") as caught:
        await streamed(made(timeouts=Timeouts(between_bytes=0.05), retries=Retries(attempts=1)))
    assert caught.value.fault is ModelFault.TIMEOUT


async def test_a_drip_without_end_is_given_up(server, speaker, made):
    server.answers = [[b": ping\n\n", 0.01] * 1000]
    with pytest.raises(ModelError, match="'total'") as caught:
        await streamed(made(timeouts=Timeouts(total=0.1)))
    assert caught.value.fault is ModelFault.TIMEOUT


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (web.Response, "was cut|with nothing"),
        (lambda: web.Response(text="<<<>>>"), "not JSON|was cut"),
        (lambda: web.Response(text="<html><body>hi</body></html>", content_type="text/html"), "a web page"),
        (lambda: web.json_response({"hello": 1}), "without a reply"),
        (lambda: web.json_response([1]), "without a reply"),
    ],
)
async def test_garbage(server, speaker, made, streams, answer, said):
    server.answers = [answer]
    with pytest.raises(ModelError, match=said) as caught:
        await asked(made(retries=Retries(attempts=1)), streams)
    assert caught.value.fault in (ModelFault.GARBLED, ModelFault.CUT)


async def test_a_server_that_does_not_stream(server, speaker, made):
    server.answers = [speaker.whole("整段")]
    assert (await streamed(made()))[0] == "整段"


async def test_a_server_that_streams_unasked(server, speaker, made):
    server.answers = [speaker.events("好")]
    assert (await made().complete(REQUEST)).text == "好"


async def test_a_packed_answer(server, speaker, made):
    raw = gzip.compress(json.dumps(speaker.whole("好")).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    server.answers = [lambda: web.Response(body=raw, headers=headers)]
    assert (await made().complete(REQUEST)).text == "好"


@pytest.mark.parametrize("streams", [False, True])
async def test_an_endless_answer_is_given_up(server, speaker, made, streams, monkeypatch):
    monkeypatch.setattr("toolhand.models.remote.MOST_BYTES", 200_000)
    kind = "text/event-stream" if streams else "application/json"
    bomb = gzip.compress(b"data: " + b" " * 2_000_000)
    server.answers = [
        lambda: web.Response(body=bomb, headers={"Content-Encoding": "gzip", "Content-Type": kind})
    ]
    with pytest.raises(ModelError, match="in one answer") as caught:
        await asked(made(), streams)
    assert (caught.value.fault, caught.value.retryable) == (ModelFault.GARBLED, False)


@pytest.fixture(scope="module")
def own_certificate(tmp_path_factory):
    """A certificate that nobody has signed, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "cert.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=localhost",
    ]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


async def test_a_certificate_that_nobody_knows(speaker, made, own_certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*own_certificate)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    root = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    with pytest.raises(ModelError, match="cannot be trusted") as caught:
        await made(root=root).complete(REQUEST)
    assert (caught.value.fault, caught.value.retryable) == (ModelFault.UNTRUSTED, False)
    listening.close()
    await listening.wait_closed()


async def test_https_where_http_is_spoken(server, speaker, made):
    with pytest.raises(ModelError) as caught:
        await made(root=server.root.replace("http:", "https:")).complete(REQUEST)
    assert caught.value.fault is ModelFault.UNTRUSTED


async def test_nobody_there(speaker, made):
    with pytest.raises(ModelError, match="refused the connection") as caught:
        await made(root="http://127.0.0.1:9").complete(REQUEST)
    assert caught.value.fault is ModelFault.UNREACHABLE


async def test_a_message_is_written_once_however_often_it_is_sent(server, speaker, made):
    """What a turn costs does not grow with its history: the counted work is that of writing messages."""
    model = made()
    written: list[int] = []
    wire = model.wire
    histories = getattr(wire, "_histories", None) or wire._encoder._histories
    render = histories._render

    def counted(message, language):
        written.append(1)
        return render(message, language)

    histories._render = counted
    server.answers = [speaker.whole("好")]
    messages = [user(f"问{n}") for n in range(200)]
    for length in range(100, 200, 10):
        await model.complete(ModelRequest(messages=tuple(messages[:length])))
    assert len(written) == 190
