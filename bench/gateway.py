"""What the gateway adds to calling a model's server directly, against one that answers at once.

    python -m bench.gateway [--requests 400] [--streams 1000] [--litellm]

The server, the gateway and the clients are processes of their own on this machine. Told are: the gateway's CPU time per request,
whose inverse is how many one core answers in a second; the time to the first token directly and through it, one request after the
other, in turns; and the memory that many open streams take. Each figure stands beside its mark, and the end is 1 where one is
missed. `--litellm` measures LiteLLM's proxy the same way; it is installed for that, once, in an environment of its own in the cache.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web

from toolhand.models.weights import cache_folder

LEAST_PER_SECOND = 400
"""Requests that one core shall answer in a second."""

MOST_FIRST_TOKEN_MS = 3.0
"""What shall be added to the time to the first token, in the median."""

SECONDS_TO_OPEN = 120
"""How long the open streams may take to begin, all of them."""

MOST_STREAM_KB = 100
"""What an open stream shall take."""

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


async def wait_for(url: str, process: subprocess.Popen[bytes], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(url):
                    return
            except aiohttp.ClientError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"it did not start: {process.args}") from None
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


async def memory_per_stream(url: str, pid: int, count: int) -> float | None:
    """Bytes per stream that is open and has begun; None where so many don't begin in time."""
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
        try:
            async with asyncio.timeout(SECONDS_TO_OPEN):
                await asyncio.gather(*(hold() for _ in range(count)))
        except TimeoutError:
            return None
        finally:
            after = memory_of(pid)
        for response in held:
            response.close()
    return (after - before) / count


@dataclass
class Marks:
    """Figures beside their marks; what is measured for comparison alone has none."""

    name: str
    counts: bool
    missed: list[str] = field(default_factory=list)

    def tell(self, what: str, said: str, mark: str, *, is_met: bool) -> None:
        sign = ("✓" if is_met else "✗") if self.counts else " "
        print(f"  {sign} {what}: {said}" + (f" (mark: {mark})" if self.counts else ""), flush=True)
        if self.counts and not is_met:
            self.missed.append(what)


async def measure(model: str, url: str, pid: int, given: argparse.Namespace, marks: Marks) -> None:
    print(f"\n{marks.name}", flush=True)
    for kind in KINDS:
        for streams in (False, True):
            seconds = await cpu_per_request(url, pid, kind, given.requests, streams=streams)
            what = f"{kind}, {'streamed' if streams else 'whole'}"
            said = f"{1 / seconds:.0f} requests/s on one core, {seconds * 1000:.2f} ms of CPU each"
            marks.tell(what, said, f"at least {LEAST_PER_SECOND}", is_met=1 / seconds >= LEAST_PER_SECOND)
    direct, through = await latencies(model, url, max(100, given.requests // 2))
    added = (through - direct) * 1000
    said = f"{added:+.2f} ms in the median, {through * 1000:.2f} through it and {direct * 1000:.2f} directly"
    marks.tell(
        "first token", said, f"at most {MOST_FIRST_TOKEN_MS:+g} ms", is_met=added <= MOST_FIRST_TOKEN_MS
    )
    if given.streams:
        each = await memory_per_stream(url, pid, given.streams)
        said = (
            f"not all had begun after {SECONDS_TO_OPEN} s" if each is None else f"{each / 1000:.0f} kB each"
        )
        is_met = each is not None and each <= MOST_STREAM_KB * 1000
        marks.tell(f"{given.streams} open streams", said, f"at most {MOST_STREAM_KB} kB", is_met=is_met)


async def with_process(
    command: list[str], address: str, use: Callable[[int], Awaitable[None]], **environment: str
) -> None:
    process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs here
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    )
    try:
        await wait_for(address, process)
        await use(process.pid)
    finally:
        process.terminate()
        process.wait(30)


def litellm() -> Path | None:
    """LiteLLM's command, installed where it is not there yet; None where it cannot be."""
    folder = cache_folder() / "bench" / "litellm"
    command, ready = folder / "bin" / "litellm", folder / ".ready"
    if ready.exists():
        return command
    print("\ninstalling LiteLLM's proxy …", flush=True)
    venv.create(folder, with_pip=True, clear=True)
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "litellm[proxy]"]
    if subprocess.run(install, check=False).returncode:
        print("it cannot be installed here")
        return None
    ready.touch()
    return command


async def ours(base: str, model: str, given: argparse.Namespace, marks: Marks) -> None:
    port = free_port()
    command = [
        *(sys.executable, "-m", "toolhand.cli", "serve", "--port", str(port), "-m", f"m={base}#m"),
        *("--no-page", "--most-running", "5000"),
    ]
    at = f"http://127.0.0.1:{port}"
    await with_process(
        command,
        f"{at}/healthz",
        lambda pid: measure(model, f"{at}/v1/chat/completions", pid, given, marks),
    )


async def theirs(base: str, model: str, given: argparse.Namespace) -> None:
    found = litellm()
    if found is None:
        return
    port = free_port()
    at = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        file.write_text(
            f"model_list:\n  - model_name: m\n    litellm_params: {{model: openai/m, api_base: '{base}', api_key: x}}\n"
        )
        command = [str(found), "--config", str(file), "--port", str(port), "--host", "127.0.0.1"]
        await with_process(
            command,
            f"{at}/health/liveliness",
            lambda pid: measure(
                model, f"{at}/v1/chat/completions", pid, given, Marks("LiteLLM's proxy", counts=False)
            ),
            LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY="true",  # it listens here, for these minutes
        )


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--litellm", action="store_true")
    given = parser.parse_args()
    port, marks = free_port(), Marks("toolhand serve", counts=True)
    base = f"http://127.0.0.1:{port}/v1"
    model = f"{base}/chat/completions"
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")

    async def all_of_them(_: int) -> None:
        await ours(base, model, given, marks)
        if given.litellm:
            await theirs(base, model, given)

    await with_process([sys.executable, "-m", "bench.gateway", "--serve-model", str(port)], base, all_of_them)
    print(f"\nmissed: {', '.join(marks.missed)}" if marks.missed else "\nall marks are met")
    return 1 if marks.missed else 0


if __name__ == "__main__":
    if "--serve-model" in sys.argv:
        serve_model(int(sys.argv[sys.argv.index("--serve-model") + 1]))
    else:
        sys.exit(asyncio.run(main()))
