"""What the gateway adds to calling a model's server directly, against one that answers at once.

    python -m bench.gateway [--requests 400] [--streams 1000] [--litellm]

The server, the gateway and the clients are processes of their own on this machine. Told are: the gateway's CPU time per request,
whose inverse is how many one core answers in a second; the time to the first token directly and through it, one request after the
other, in turns; and the memory that many open streams take. `--litellm` measures LiteLLM's proxy the same way, where the command
`litellm` is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
from aiohttp import web

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
KINDS = {
    "text": "It is sunny in Paris today, with a light wind from the west.",
    "a call in the text": '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>',
}


def body(kind: str, *, streams: bool = False, holds: bool = False) -> dict:
    content = f"{kind}: how is the weather in Paris?{' hold' if holds else ''}"
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}]
    return {"model": "m", "messages": messages, "tools": [TOOL], "stream": streams}


# ---------------------------------------------------------------------- the model's server
async def answer(request: web.Request) -> web.StreamResponse:
    asked = await request.json()
    words = asked["messages"][-1]["content"]
    text = next((reply for kind, reply in KINDS.items() if words.startswith(kind)), KINDS["text"])
    if not asked.get("stream"):
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
        return web.json_response(
            {
                "id": "c",
                "object": "chat.completion",
                "created": 1,
                "model": "m",
                "choices": [choice],
                "usage": usage,
            }
        )
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for number in range(0, len(text), 6):
        await response.write(event({"content": text[number : number + 6]}))
        if words.endswith("hold") and number > 40:
            await asyncio.sleep(3600)
    await response.write(event({}, "stop") + b"data: [DONE]\n\n")
    return response


def event(delta: dict, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'created': 1, 'model': 'm', 'choices': [choice]})}\n\n".encode()


def serve_model(port: int) -> None:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    web.run_app(app, host="127.0.0.1", port=port, print=None, backlog=4096, handler_cancellation=True)


# ---------------------------------------------------------------------- processes
def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def wait_for(url: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(url):
                    return
            except aiohttp.ClientError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)


# ---------------------------------------------------------------------- what is measured
async def cpu_per_request(
    url: str, pid: int, kind: str, count: int, *, streams: bool, at_once: int = 16
) -> float:
    left = iter(range(count))

    async with aiohttp.ClientSession() as session:

        async def one(_: int) -> None:
            async with session.post(url, json=body(kind, streams=streams)) as response:
                raw = await response.read()
                assert response.status == 200, raw
                assert b"Paris" in raw or streams

        async def worker() -> None:
            for number in left:
                await one(number)

        await asyncio.gather(*(one(n) for n in range(at_once)))
        before = cpu_of(pid)
        await asyncio.gather(*(worker() for _ in range(at_once)))
        return (cpu_of(pid) - before) / count


async def first_token(session: aiohttp.ClientSession, url: str) -> float:
    begun = time.perf_counter()
    async with session.post(url, json=body("text", streams=True)) as response:
        async for line in response.content:
            if line.startswith(b"data: {") and (json.loads(line[6:])["choices"] or [{}])[0].get(
                "delta", {}
            ).get("content"):
                taken = time.perf_counter() - begun
                await response.read()
                return taken
    raise AssertionError("no token came")


async def latencies(direct: str, through: str, count: int) -> tuple[float, float]:
    found: tuple[list[float], list[float]] = ([], [])
    async with aiohttp.ClientSession() as session:
        for _ in range(count):  # in turns, so that a noisy moment strikes both
            found[0].append(await first_token(session, direct))
            found[1].append(await first_token(session, through))
    return statistics.median(found[0]), statistics.median(found[1])


async def memory_per_stream(url: str, pid: int, count: int) -> float:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        connector=connector, timeout=aiohttp.ClientTimeout(total=None)
    ) as session:
        opened = asyncio.Semaphore(50)
        held: list[aiohttp.ClientResponse] = []

        async def hold() -> None:
            async with opened:
                response = await session.post(url, json=body("text", streams=True, holds=True))
                held.append(response)
                seen = b""
                while b"light" not in seen and b"Paris" not in seen.replace(b'"', b""):
                    seen += await response.content.readany()

        await asyncio.gather(*(hold() for _ in range(20)))  # what the first ones load is no stream's
        before = memory_of(pid)
        await asyncio.gather(*(hold() for _ in range(count)))
        after = memory_of(pid)
        for response in held:
            response.close()
    return (after - before) / count


async def measure(name: str, model: str, url: str, pid: int, given: argparse.Namespace) -> None:
    print(f"\n{name}")
    for kind in KINDS:
        for streams in (False, True):
            seconds = await cpu_per_request(url, pid, kind, given.requests, streams=streams)
            print(
                f"  {kind}, {'streamed' if streams else 'whole'}: {seconds * 1000:.2f} ms of CPU, {1 / seconds:.0f} requests/s on one core"
            )
    direct, through = await latencies(model, url, max(50, given.requests // 4))
    print(
        f"  first token: {direct * 1000:.2f} ms directly, {through * 1000:.2f} ms through it: {(through - direct) * 1000:+.2f} ms"
    )
    if given.streams:
        each = await memory_per_stream(url, pid, given.streams)
        print(f"  {given.streams} open streams: {each / 1000:.0f} kB each")


async def with_process(command: list[str], address: str, use: Callable[[int], Awaitable[None]]) -> None:
    process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs here
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        await wait_for(address)
        await use(process.pid)
    finally:
        process.terminate()
        process.wait(30)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--litellm", action="store_true")
    parser.add_argument("--serve-model", type=int)
    given = parser.parse_args()
    if given.serve_model:
        return
    ports = free_port(), free_port(), free_port()
    base = f"http://127.0.0.1:{ports[0]}/v1"
    model = f"{base}/chat/completions"
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")

    async def ours(_: int) -> None:
        command = [
            sys.executable,
            "-m",
            "toolhand.cli",
            "serve",
            "--port",
            str(ports[1]),
            "-m",
            f"m={base}#m",
            "--no-page",
        ]
        url = f"http://127.0.0.1:{ports[1]}/v1/chat/completions"
        most = ["--most-running", "5000"]
        await with_process(
            [*command, *most],
            f"http://127.0.0.1:{ports[1]}/healthz",
            lambda pid: measure("toolhand serve", model, url, pid, given),
        )
        if given.litellm:
            await theirs()

    async def theirs() -> None:
        found = shutil.which("litellm")
        if found is None:
            print("\nLiteLLM's proxy is not there")
            return
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "config.yaml"
            file.write_text(
                f"model_list:\n  - model_name: m\n    litellm_params: {{model: openai/m, api_base: '{base}', api_key: x}}\n"
            )
            command = [found, "--config", str(file), "--port", str(ports[2]), "--host", "127.0.0.1"]
            url = f"http://127.0.0.1:{ports[2]}/v1/chat/completions"
            await with_process(
                command,
                f"http://127.0.0.1:{ports[2]}/health/liveliness",
                lambda pid: measure("LiteLLM's proxy", model, url, pid, given),
            )

    await with_process([sys.executable, "-m", "bench.gateway", "--serve-model", str(ports[0])], base, ours)


if __name__ == "__main__":
    if "--serve-model" in sys.argv:
        serve_model(int(sys.argv[sys.argv.index("--serve-model") + 1]))
    else:
        asyncio.run(main())
