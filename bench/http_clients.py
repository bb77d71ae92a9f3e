"""What one round with a model's server costs on different HTTP clients, against a local server that answers at once.

Needs nothing for Toolhand's own rows. For the others, in an environment of your own (clients that are missing are left out):

    python -m venv /tmp/clients && /tmp/clients/bin/pip install . httpx openai anthropic google-genai
    /tmp/clients/bin/python bench/http_clients.py

Options: --rounds 1000 --conversations 500 --seconds 5 --only NAME. The server speaks chat completions, the Responses API, Anthropic's
Messages and Gemini's generateContent. It runs in a process of its own; what is measured is the client's
CPU time per round (one conversation, one round after the other), and the rounds per second of many conversations at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version

import aiohttp

from toolhand.core.messages import Message, ModelRequest, ToolCall, ToolResult, Value, system, user
from toolhand.models import anthropic, gemini, responses
from toolhand.models.openai import OpenAIModel

MESSAGES = [
    {"role": "system", "content": "Use the tools to find facts."},
    {"role": "user", "content": "仓库里还有多少把扳手？"},
]

REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "get_stock", "arguments": '{"item": "扳手"}'},
                    }
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70},
}


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_stock", "input": {"item": "扳手"}}],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 50, "output_tokens": 20},
}

GENERATED = {
    "candidates": [
        {
            "index": 0,
            "finishReason": "STOP",
            "content": {
                "role": "model",
                "parts": [{"functionCall": {"id": "f1", "name": "get_stock", "args": {"item": "扳手"}}}],
            },
        }
    ],
    "usageMetadata": {"promptTokenCount": 50, "candidatesTokenCount": 20, "totalTokenCount": 70},
}

RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "completed",
    "output": [
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "get_stock",
            "arguments": '{"item": "扳手"}',
            "status": "completed",
        }
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 50,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 70,
    },
}


def answer_of(reply):
    body = json.dumps(reply, ensure_ascii=False).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + body


class Answering(asyncio.Protocol):
    """The smallest server there can be, so that the client is what is measured. The path's last word says what is spoken."""

    answers = {  # noqa: RUF012
        b"/completions": answer_of(REPLY),
        b"/messages": answer_of(MESSAGE),
        b":generateContent": answer_of(GENERATED),
        b"/responses": answer_of(RESPONSE),
    }

    def connection_made(self, transport):
        self.transport = transport
        self.received = b""

    def data_received(self, data):
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = self.received[:end].lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.received) < end + 4 + length:
                return
            path = self.received[: self.received.find(b" HTTP/")].split(b"?")[0]
            self.received = self.received[end + 4 + length :]
            self.transport.write(next(a for word, a in self.answers.items() if path.endswith(word)))


def serve(ports):
    async def run():
        server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=2000)
        ports.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def toolhand(make):
    async def connect(base_url):
        return await with_toolhand(make(base_url))

    return connect


async def with_toolhand(model):
    request = ModelRequest(messages=(system(MESSAGES[0]["content"]), user(MESSAGES[1]["content"])))

    async def once():
        output = await model.complete(request)
        assert output.calls[0].name == "get_stock"

    return once, model.close


async def with_aiohttp(base_url):
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1000))
    headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}

    async def once():
        body = json.dumps({"model": "m", "messages": MESSAGES}).encode()
        async with session.post(f"{base_url}/chat/completions", data=body, headers=headers) as response:
            assert json.loads(await response.read())["choices"]

    return once, session.close


async def with_httpx(base_url):
    import httpx  # noqa: PLC0415

    limits = httpx.Limits(max_connections=1000, max_keepalive_connections=1000)
    client = httpx.AsyncClient(limits=limits, timeout=60)
    headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}

    async def once():
        body = json.dumps({"model": "m", "messages": MESSAGES}).encode()
        response = await client.post(f"{base_url}/chat/completions", content=body, headers=headers)
        assert json.loads(response.content)["choices"]

    return once, client.aclose


async def with_openai(base_url):
    import openai  # noqa: PLC0415

    client = openai.AsyncOpenAI(base_url=base_url, api_key="k", max_retries=0)

    async def once():
        reply = await client.chat.completions.create(model="m", messages=MESSAGES)
        assert reply.choices

    return once, client.close


async def with_openai_responses(base_url):
    import openai  # noqa: PLC0415

    client = openai.AsyncOpenAI(base_url=base_url, api_key="k", max_retries=0)

    async def once():
        reply = await client.responses.create(
            model="m", input=MESSAGES[1:], instructions=MESSAGES[0]["content"]
        )
        assert reply.output

    return once, client.close


async def with_anthropic(base_url):
    import anthropic as package  # noqa: PLC0415

    client = package.AsyncAnthropic(base_url=base_url.removesuffix("/v1"), api_key="k", max_retries=0)

    async def once():
        said = MESSAGES[0]["content"]
        reply = await client.messages.create(model="m", max_tokens=100, system=said, messages=MESSAGES[1:])
        assert reply.content

    return once, client.close


async def with_genai(base_url):
    from google import genai  # noqa: PLC0415

    options = {"base_url": base_url.removesuffix("/v1"), "api_version": "v1beta"}
    client = genai.Client(api_key="k", http_options=options).aio

    async def once():
        config = {"system_instruction": MESSAGES[0]["content"]}
        reply = await client.models.generate_content(
            model="m", contents=MESSAGES[1]["content"], config=config
        )
        assert reply.function_calls

    async def close():
        await client.aclose()

    return once, close


CHAT = toolhand(lambda url: OpenAIModel("m", name="m", base_url=url, api_key="k"))
ANTHROPIC = toolhand(lambda url: anthropic.connect("m", base_url=url, api_key="k"))
GEMINI = toolhand(lambda url: gemini.connect("m", base_url=url.removesuffix("/v1") + "/v1beta", api_key="k"))
RESPONSES = toolhand(lambda url: responses.connect("m", base_url=url, api_key="k"))

CLIENTS = {
    "toolhand": ("toolhand", CHAT),
    "aiohttp": ("aiohttp", with_aiohttp),
    "httpx": ("httpx", with_httpx),
    "openai": ("openai", with_openai),
    "toolhand responses": ("toolhand", RESPONSES),
    "openai responses": ("openai", with_openai_responses),
    "toolhand anthropic": ("toolhand", ANTHROPIC),
    "anthropic": ("anthropic", with_anthropic),
    "toolhand gemini": ("toolhand", GEMINI),
    "google-genai": ("google-genai", with_genai),
}

MODELS = {
    "chat": lambda url: OpenAIModel("m", name="m", base_url=url),
    "responses": lambda url: responses.connect("m", base_url=url, api_key="k"),
    "anthropic": lambda url: anthropic.connect("m", base_url=url, api_key="k"),
    "gemini": lambda url: gemini.connect("m", base_url=url.removesuffix("/v1") + "/v1beta", api_key="k"),
}


def installed(package):
    """Its version; "here" for Toolhand from a source tree, None for what is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "here" if package == "toolhand" else None


async def measured(connect, base_url, options):
    once, close = await connect(base_url)
    for _ in range(50):
        await once()
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        for _ in range(options.rounds):
            await once()
        best = min(best, (time.process_time() - started) / options.rounds)
    rounds, ends = 0, time.monotonic() + options.seconds

    async def converse():
        nonlocal rounds
        while time.monotonic() < ends:
            await once()
            rounds += 1

    started = time.monotonic()
    await asyncio.gather(*(converse() for _ in range(options.conversations)))
    per_second = rounds / (time.monotonic() - started)
    await close()
    return best * 1000, per_second


def turn(number):
    call = ToolCall(id=f"c{number}", name="get_stock", arguments={"item": "扳手", "n": number})
    result = ToolResult(call_id=call.id, name=call.name, outcome=Value({"pieces": number, "note": "x" * 100}))
    return [Message(role="assistant", parts=(call,)), Message(role="tool", parts=(result,))]


async def history_cost(base_url, count, make):
    """CPU milliseconds of a turn that adds a call and its result to a history of so many messages, and of its bytes alone."""
    rounds, best, best_bytes = 20, float("inf"), float("inf")
    session = aiohttp.ClientSession()
    for _ in range(8):
        model = make(base_url)
        messages = [user("问"), *(message for i in range(count // 2) for message in turn(i))]
        await model.complete(ModelRequest(messages=tuple(messages)))
        spent = 0.0
        for number in range(rounds):
            messages += turn(count + number)
            request = ModelRequest(messages=tuple(messages))
            before = time.process_time()
            await model.complete(request)
            spent += time.process_time() - before
        best = min(best, spent / rounds)
        await model.close()
        body = model.wire.body(request, streams=False)
        address = model.wire.url(model.base_url, streams=False)
        before = time.process_time()
        for _ in range(rounds):
            async with session.post(address, data=body) as response:
                await response.read()
        best_bytes = min(best_bytes, (time.process_time() - before) / rounds)
    await session.close()
    return best * 1000, best_bytes * 1000


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--conversations", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", default="", help="only clients whose name holds this")
    options = parser.parse_args()
    ports = multiprocessing.get_context("spawn").Queue()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(ports,), daemon=True)
    server.start()
    base_url = f"http://127.0.0.1:{ports.get()}/v1"
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(
        f"{'client':<20} {'version':<10} {'CPU ms/round':>13} {'rounds/s at ' + str(options.conversations):>18}"
    )
    for name, (package, connect) in CLIENTS.items():
        if options.only not in name:
            continue
        if installed(package) is None:
            print(f"{name:<20} not installed", file=sys.stderr)
            continue
        cpu_ms, per_second = asyncio.run(measured(connect, base_url, options))
        print(f"{name:<20} {installed(package):<10} {cpu_ms:>13.2f} {per_second:>18,.0f}", flush=True)
    print(
        "\nCPU ms of a turn by the length of the history: toolhand's, and that of sending the same bytes by plain aiohttp"
    )
    for name, make in MODELS.items():
        for count in (10, 100, 1000):
            whole, of_bytes = asyncio.run(history_cost(base_url, count, make))
            print(f"{name:<10} {count:>6} messages {whole:>8.2f} {of_bytes:>8.2f}", flush=True)
    server.terminate()
    server.join()


if __name__ == "__main__":
    main()
