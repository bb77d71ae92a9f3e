"""What one round with a model's server costs on different HTTP clients, against a local server that answers at once.

Needs nothing for Toolhand's own rows. For the others, in an environment of your own (clients that are missing are left out):

    python -m venv /tmp/clients && /tmp/clients/bin/pip install . httpx openai
    /tmp/clients/bin/python bench/http_clients.py

Options: --rounds 1000 --conversations 500 --seconds 5. The server runs in a process of its own; what is measured is the client's
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
from importlib.metadata import version
from importlib.util import find_spec

import aiohttp

from toolhand.core.messages import Message, ModelRequest, ToolCall, ToolResult, Value, system, user
from toolhand.models.openai import OpenAIModel
from toolhand.models.wire import Encoder

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


class Answering(asyncio.Protocol):
    """The smallest server there can be, so that the client is what is measured."""

    body = json.dumps(REPLY, ensure_ascii=False).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )

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
            self.received = self.received[end + 4 + length :]
            self.transport.write(self.answer)


def serve(ports):
    async def run():
        server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=2000)
        ports.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


async def with_toolhand(base_url):
    model = OpenAIModel("m", name="m", base_url=base_url, api_key="k")
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


CLIENTS = {
    "toolhand": ("toolhand", with_toolhand),
    "aiohttp": ("aiohttp", with_aiohttp),
    "httpx": ("httpx", with_httpx),
    "openai": ("openai", with_openai),
}


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


async def history_cost(base_url, count):
    """CPU milliseconds of a turn that adds a call and its result to a history of so many messages, and of its bytes alone."""
    rounds, best, best_bytes = 20, float("inf"), float("inf")
    session = aiohttp.ClientSession()
    for _ in range(8):
        model = OpenAIModel("m", name="m", base_url=base_url)
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
        body = Encoder("m").body(request, streams=False)
        before = time.process_time()
        for _ in range(rounds):
            async with session.post(f"{base_url}/chat/completions", data=body) as response:
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
    options = parser.parse_args()
    ports = multiprocessing.get_context("spawn").Queue()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(ports,), daemon=True)
    server.start()
    base_url = f"http://127.0.0.1:{ports.get()}/v1"
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(
        f"{'client':<10} {'version':<10} {'CPU ms/round':>13} {'rounds/s at ' + str(options.conversations):>18}"
    )
    for name, (package, connect) in CLIENTS.items():
        if find_spec(package) is None:
            print(f"{name:<10} not installed", file=sys.stderr)
            continue
        cpu_ms, per_second = asyncio.run(measured(connect, base_url, options))
        print(f"{name:<10} {version(package):<10} {cpu_ms:>13.2f} {per_second:>18,.0f}", flush=True)
    print(
        "\nCPU ms of a turn by the length of the history: toolhand's, and that of sending the same bytes by plain aiohttp"
    )
    for count in (10, 100, 1000):
        whole, of_bytes = asyncio.run(history_cost(base_url, count))
        print(f"{count:>6} messages {whole:>8.2f} {of_bytes:>8.2f}", flush=True)
    server.terminate()
    server.join()


if __name__ == "__main__":
    main()
