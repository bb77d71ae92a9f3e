"""The adapter against real local servers, well-behaved and not."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import subprocess
import sys
from typing import Any

import pytest
from aiohttp import web

from tests.models.conftest import completion, event, piece
from toolhand.core.errors import ModelError, SettingsError
from toolhand.core.events import TextDelta
from toolhand.core.messages import ModelOutput, ModelRequest, user
from toolhand.core.retry_after import retry_after
from toolhand.models.connections import Retries, Timeouts
from toolhand.models.openai import OpenAIModel, connect

REQUEST = ModelRequest(messages=(user("问"),))


class Clock:
    """Stands in for sleeping: remembers how long."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


def model(base_url: str, **options: Any) -> OpenAIModel:
    options.setdefault("sleep", Clock())
    return OpenAIModel("m", name="test:m", base_url=base_url, **options)


async def pieces_of(asked: OpenAIModel, request: ModelRequest = REQUEST) -> tuple[str, ModelOutput]:
    shown, output = "", None
    async for item in asked.stream(request):
        assert output is None, "the output is the last item"
        if isinstance(item, TextDelta):
            shown += item.text
        else:
            output = item
    assert output is not None
    return shown, output


async def test_a_whole_reply(serve: Any) -> None:
    seen: list[web.Request] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append(request)
        assert await request.json() == {"model": "m", "messages": [{"role": "user", "content": "问"}]}
        return web.json_response(completion("答"))

    asked = model(await serve(handle), api_key="sk-secret-1234567890", headers={"X-Extra": "1"})
    output = await asked.complete(REQUEST)
    assert (output.text, output.finish_reason, output.usage.input_tokens) == ("答", "stop", 3)
    assert seen[0].headers["Authorization"] == "Bearer sk-secret-1234567890"
    assert seen[0].headers["X-Extra"] == "1"
    assert "sk-" not in repr(asked)
    await asked.close()


async def test_a_streamed_reply_and_its_connection_serves_again(serve: Any) -> None:
    peers = set()

    async def handle(request: web.Request) -> web.StreamResponse:
        peers.add(request.transport.get_extra_info("peername"))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for part in (piece("你"), piece("好"), piece("", "stop"), event("[DONE]")):
            await response.write(part)
        return response

    asked = model(await serve(handle))
    for _ in range(3):
        shown, output = await pieces_of(asked)
        assert (shown, output.text, output.finish_reason) == ("你好", "你好", "stop")
    assert len(peers) == 1
    await asked.close()


async def test_a_server_that_does_not_stream(serve: Any) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.json_response(completion("整段"))

    asked = model(await serve(handle))
    assert (await pieces_of(asked))[0] == "整段"
    await asked.close()


@pytest.mark.parametrize("streams", [False, True])
async def test_failures_that_pass_are_tried_again(serve: Any, streams: bool) -> None:
    answers = [
        web.Response(status=429, headers={"Retry-After": "7"}, text='{"error": {"message": "slow down"}}'),
        web.Response(status=500, text="oops"),
        web.json_response(completion("好")),
    ]

    async def handle(request: web.Request) -> web.Response:
        return answers.pop(0)

    clock = Clock()
    asked = model(await serve(handle), sleep=clock)
    output = (await pieces_of(asked))[1] if streams else await asked.complete(REQUEST)
    assert output.text == "好"
    assert clock.slept[0] == 7
    assert 0.5 <= clock.slept[1] <= 1.0
    await asked.close()


async def test_a_server_that_wants_too_long_a_wait_is_not_asked_again(serve: Any) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(
            status=429, headers={"Retry-After": "3600"}, text='{"error": {"message": "daily limit"}}'
        )

    clock = Clock()
    asked = model(await serve(handle), sleep=clock)
    with pytest.raises(ModelError, match="asks for fewer requests: daily limit") as caught:
        await asked.complete(REQUEST)
    assert (caught.value.status, caught.value.retryable, caught.value.retry_after) == (429, True, 3600)
    assert clock.slept == []
    await asked.close()


async def test_attempts_are_bounded(serve: Any) -> None:
    asks = []

    async def handle(request: web.Request) -> web.Response:
        asks.append(1)
        return web.Response(status=503)

    asked = model(await serve(handle), retries=Retries(attempts=4))
    with pytest.raises(ModelError, match=r"status 503\) failed"):
        await asked.complete(REQUEST)
    assert len(asks) == 4
    await asked.close()


KEY = "sk-live-abcdefghijkl"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (
            401,
            {"error": {"message": f"Incorrect API key provided: {KEY}."}},
            "did not accept the API key, see OPENAI_API_KEY",
        ),
        (403, {"detail": "region"}, "did not accept the API key"),
        (404, {"error": {"message": "no such model"}}, "knows no model 'm'"),
        (400, {"error": {"message": "bad\n  schema"}}, "refused the request: bad schema"),
        (413, {"message": "too long"}, "refused the request: too long"),
        (
            429,
            {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}},
            "quota is used up",
        ),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required"),
    ],
)
async def test_refusals_say_what_to_do_and_are_not_repeated(
    serve: Any, status: int, body: Any, said: str
) -> None:
    asks = []

    async def handle(request: web.Request) -> web.Response:
        asks.append(1)
        return web.json_response(body, status=status)

    asked = model(await serve(handle), api_key=KEY)
    with pytest.raises(ModelError) as caught:
        await asked.complete(REQUEST)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert (caught.value.status, caught.value.retryable, len(asks)) == (status, False, 1)
    await asked.close()


async def test_a_missing_key_is_said_differently(serve: Any) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=401)

    asked = model(await serve(handle), key_variable="SOME_KEY")
    with pytest.raises(ModelError, match="needs an API key, see SOME_KEY"):
        await asked.complete(REQUEST)
    await asked.close()


async def test_a_redirect_is_not_followed_with_the_key(serve: Any) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(status=301, headers={"Location": "https://elsewhere.example/v1"})

    asked = model(await serve(handle), api_key=KEY)
    with pytest.raises(ModelError, match="sends on to https://elsewhere.example/v1: give that as base_url"):
        await asked.complete(REQUEST)
    await asked.close()


async def test_a_page_of_a_proxy_is_not_quoted(serve: Any) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(
            status=502, content_type="text/html", text="<html><body>Bad gateway</body></html>"
        )

    asked = model(await serve(handle), retries=Retries(attempts=1))
    with pytest.raises(ModelError) as caught:
        await asked.complete(REQUEST)
    assert "html" not in str(caught.value)
    await asked.close()


async def test_garbage_instead_of_json(serve: Any) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(text="<<<not json>>>")

    asked = model(await serve(handle), retries=Retries(attempts=1))
    with pytest.raises(ModelError, match="not JSON: <<<not json>>>"):
        await asked.complete(REQUEST)
    await asked.close()


async def test_refused_connection_names_the_address() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    clock = Clock()
    asked = model(f"http://name:word@127.0.0.1:{port}/v1?key=hidden", sleep=clock)
    with pytest.raises(ModelError) as caught:
        await asked.complete(REQUEST)
    assert f"http://127.0.0.1:{port}/v1/chat/completions refused the connection" in str(caught.value)
    assert not any(secret in str(caught.value) + repr(asked) for secret in ("word", "hidden"))
    assert len(clock.slept) == 2
    await asked.close()


async def test_a_host_that_is_not_known() -> None:
    asked = model("http://nowhere.invalid/v1", retries=Retries(attempts=1))
    with pytest.raises(ModelError, match="nowhere.invalid"):
        await asked.complete(REQUEST)
    await asked.close()


def head(length: int | None = None, kind: str = "text/event-stream") -> bytes:
    more = f"Content-Length: {length}\r\n" if length else "Transfer-Encoding: chunked\r\n"
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{more}\r\n".encode()


def framed(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def test_a_stream_cut_before_anything_was_given_is_tried_again(serve_raw: Any) -> None:
    answers = [head(), head() + framed(piece("好", "stop")) + b"0\r\n\r\n"]

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(answers.pop(0))
        await writer.drain()

    asked = model(await serve_raw(answer))
    assert (await pieces_of(asked))[0] == "好"
    await asked.close()


async def test_a_stream_cut_later_is_an_error_and_nothing_is_given_twice(serve_raw: Any) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + framed(piece("前半")))
        await writer.drain()

    asked = model(await serve_raw(answer))
    stream = asked.stream(REQUEST)
    assert await anext(stream) == TextDelta(text="前半")
    with pytest.raises(ModelError, match="was cut before the answer was complete") as caught:
        await anext(stream)
    assert caught.value.retryable
    await asked.close()


async def test_an_orderly_end_without_a_finish_is_a_cut_too(serve_raw: Any) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + framed(piece("前半")) + b"0\r\n\r\n")
        await writer.drain()

    asked = model(await serve_raw(answer))
    with pytest.raises(ModelError, match="was cut"):
        await pieces_of(asked)
    await asked.close()


async def test_a_finish_without_done_is_enough(serve_raw: Any) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + framed(piece("全", "stop")) + b"0\r\n\r\n")
        await writer.drain()

    asked = model(await serve_raw(answer))
    assert (await pieces_of(asked))[1].text == "全"
    await asked.close()


async def test_a_character_cut_between_two_packets(serve_raw: Any) -> None:
    whole = 'data: {"choices":[{"delta":{"content":"杭州🙂"},"finish_reason":"stop"}]}\r\n\r\ndata: [DONE]\r\n\r\n'.encode()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head())
        for i in range(len(whole)):
            writer.write(framed(whole[i : i + 1]))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    asked = model(await serve_raw(answer))
    assert (await pieces_of(asked))[0] == "杭州🙂"
    await asked.close()


async def test_garbage_in_a_stream(serve_raw: Any) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + framed(b"data: {broken\n\n") + b"0\r\n\r\n")
        await writer.drain()

    asked = model(await serve_raw(answer), retries=Retries(attempts=1))
    with pytest.raises(ModelError, match="not JSON"):
        await pieces_of(asked)
    await asked.close()


async def test_an_error_event_in_a_stream(serve_raw: Any) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head() + framed(event({"error": {"message": "out of memory"}})) + b"0\r\n\r\n")
        await writer.drain()

    asked = model(await serve_raw(answer), retries=Retries(attempts=1))
    with pytest.raises(ModelError, match="out of memory"):
        await pieces_of(asked)
    await asked.close()


async def silence(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def silence_after_one_piece(writer: asyncio.StreamWriter) -> None:
    writer.write(head() + framed(piece("一")))
    await writer.drain()
    await asyncio.sleep(30)


async def drip(writer: asyncio.StreamWriter) -> None:
    writer.write(head())
    while True:
        writer.write(framed(b": still there\n"))
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("answer", "limit"),
    [(silence, "first_byte"), (silence_after_one_piece, "between_bytes"), (drip, "total")],
)
async def test_each_timeout_is_named(serve_raw: Any, answer: Any, limit: str) -> None:
    timeouts = Timeouts(**{"first_byte": 20, "between_bytes": 20, "total": 40, limit: 0.1})
    asked = model(await serve_raw(answer), timeouts=timeouts, retries=Retries(attempts=1))
    with pytest.raises(ModelError, match=f"'{limit}', 0.1 s"):
        await pieces_of(asked)
    await asked.close()


async def test_cancelling_closes_the_connection(serve_raw: Any) -> None:
    began, gone = asyncio.Event(), asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        began.set()
        try:
            while not writer.transport.is_closing():
                writer.write(b"\r\n")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            gone.set()

    asked = model(await serve_raw(answer))
    task = asyncio.ensure_future(asked.complete(REQUEST))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(gone.wait(), 5)
    await asked.close()


async def test_leaving_a_stream_early_closes_the_connection(serve_raw: Any) -> None:
    gone = asyncio.Event()

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(head())
        try:
            while not writer.transport.is_closing():
                writer.write(framed(piece("字")))
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            gone.set()

    asked = model(await serve_raw(answer))
    stream = asked.stream(REQUEST)
    assert isinstance(await anext(stream), TextDelta)
    await stream.aclose()
    await asyncio.wait_for(gone.wait(), 5)
    await asked.close()


async def test_five_hundred_conversations_at_once(serve: Any) -> None:
    open_now = 0
    all_are_open = asyncio.Event()

    async def handle(request: web.Request) -> web.Response:
        nonlocal open_now
        open_now += 1
        if open_now == 500:
            all_are_open.set()
        await all_are_open.wait()
        return web.json_response(completion("好"))

    asked = model(await serve(handle))
    outputs = await asyncio.wait_for(asyncio.gather(*(asked.complete(REQUEST) for _ in range(500))), 60)
    assert {o.text for o in outputs} == {"好"}
    await asked.close()


async def test_one_model_in_several_loops_and_never_closed(serve: Any) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.json_response(completion("好"))

    asked = model(await serve(handle))
    for _ in range(3):  # each a loop of its own, as `asyncio.run` makes one
        output = await asyncio.to_thread(asyncio.run, asked.complete(REQUEST))
        assert output.text == "好"
    del asked
    gc.collect()  # an unclosed session would warn here, and warnings are errors


SCRIPT = """
import asyncio, sys, threading
from toolhand.core.messages import ModelRequest, user
from toolhand.models.openai import OpenAIModel

asked = OpenAIModel("m", name="m", base_url=sys.argv[1])
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
work = asked.complete(ModelRequest(messages=(user("q"),)))
print(asyncio.run_coroutine_threadsafe(work, loop).result().text)
"""


async def test_a_program_that_closes_nothing_ends_without_a_word(serve: Any) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.json_response(completion("ok"))

    base_url = await serve(handle)
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-W", "always", "-X", "dev", "-c", SCRIPT, base_url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ok\n", "")


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_environment(clean_environment: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="set OPENAI_API_KEY"):
        connect("gpt-x")
    with pytest.raises(SettingsError, match="needs a model's name"):
        connect("")
    clean_environment.setenv("OPENAI_API_BASE", "http://127.0.0.1:1/v1")
    assert "127.0.0.1:1/v1" in repr(connect("gpt-x"))
    clean_environment.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    assert "127.0.0.1:2/v1" in repr(connect("gpt-x"))
    assert "127.0.0.1:3/v1" in repr(connect("gpt-x", base_url="http://127.0.0.1:3/v1/"))


@pytest.mark.parametrize("address", ["", "localhost:8000", "ftp://x/v1", "http://", "http://[broken/v1"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(SettingsError, match="is not the address of a model's server"):
        OpenAIModel("m", name="m", base_url=address)


def test_retry_delays() -> None:
    retries = Retries(attempts=5, first_delay=1, longest_delay=4)
    passing = ModelError("x", retryable=True)
    for attempts_made, full in ((1, 1), (2, 2), (3, 4), (4, 4)):
        assert full / 2 <= (retries.delay(attempts_made, passing) or 0) <= full
    assert retries.delay(5, passing) is None
    assert retries.delay(1, ModelError("x")) is None
    assert retries.delay(1, ModelError("x", retryable=True, retry_after=3.5)) == 3.5


def test_dates_in_retry_after() -> None:
    assert retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert retry_after({"Retry-After": "soon"}) is None
    assert retry_after({"retry-after-ms": "1500"}) == 1.5
    assert json.dumps(retry_after({})) == "null"
