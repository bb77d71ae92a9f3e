"""What runs on many machines cost: how many a second, how soon, what of a worker that dies, what of those that wait.

python -m bench.durable [URL] [--runs 600] [--parked 10000] [--queued 50000] [--messages 100000]

URL is an empty PostgreSQL database; by default a server from a wheel is started that waits for the disk. The model is a script,
so its time is not in it. A run has 5 tool calls of 50 ms, each asked for by itself, and an answer: 6 requests to the model.
Absolute figures say as much about the machine and its other users as about the code: the load is printed with them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from toolhand import Agent, tool
from toolhand.core.messages import Message, ModelOutput, ModelRequest, RawCall, Text, user
from toolhand.durable import Worker, ledger_of
from toolhand.sessions import StoredSession, open_store
from toolhand.testing import ScriptedModel

TICKS = os.sysconf("SC_CLK_TCK")


@tool
async def look(n: int) -> str:
    """Looks."""
    await asyncio.sleep(0.05)
    return f"{n}: fine, 21 °C"


@tool(effect="writes", approval=True)
async def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


def reply(request: ModelRequest) -> ModelOutput:
    last = max(place for place, message in enumerate(request.messages) if message.role == "user")
    said = request.messages[last].text
    asked = sum(bool(message.calls) for message in request.messages[last:])
    if said == "pay" and not asked:
        return ModelOutput(
            calls=(RawCall(id="c", name="pay", arguments='{"amount": 5}'),), finish_reason="tool_calls"
        )
    if said != "work" or asked == 5:
        return ModelOutput(text="done")
    call = RawCall(id=f"c{asked}", name="look", arguments=f'{{"n": {asked}}}')
    return ModelOutput(calls=(call,), finish_reason="tool_calls")


def agent(url: str) -> Agent[str]:
    return Agent(ScriptedModel(reply), tools=[look, pay], store=url)


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


@contextlib.contextmanager
def workers(url: str, count: int, concurrency: int = 100):
    command = [sys.executable, __file__, url, "--work", str(concurrency)]
    made = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    try:
        for worker in made:
            worker.stdout.readline()
        yield [worker.pid for worker in made]
    finally:
        for worker in made:
            worker.terminate()
        for worker in made:
            worker.wait()


async def work(url: str, concurrency: int) -> None:
    import signal  # noqa: PLC0415

    worker = Worker(agent(url), concurrency=concurrency)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    task = asyncio.ensure_future(worker.run())
    await until(lambda: asyncio.sleep(0, bool(worker.health.beat)))
    await asyncio.sleep(0.5)
    print("ready", flush=True)
    await task


async def until(is_so) -> None:
    while not await is_so():  # noqa: ASYNC110 - it happens in other processes
        await asyncio.sleep(0.1)


async def counted(ledger, condition: str, least: int) -> bool:
    return (await ledger.look(f"SELECT count(*) FROM run WHERE {condition}", ()))[0][0] >= least


async def ended(ledger, count: int) -> None:
    await until(lambda: counted(ledger, "ended > 0", count))


async def throughput(url: str, count: int, runs: int) -> str:
    made = agent(url)
    ledger = ledger_of(made.store)
    with workers(url, count) as pids:
        for number in range(count * 10):  # warm
            await (await made.submit("work", session=f"warm-{count}-{number}")).wait()
        before = (await ledger.look("SELECT count(*) FROM run WHERE ended > 0", ()))[0][0]
        used, started = sum(map(cpu, pids)), time.perf_counter()
        gate = asyncio.Semaphore(32)

        async def one(number: int) -> None:
            async with gate:
                await made.submit("work", session=f"t-{count}-{number}")

        await asyncio.gather(*(one(number) for number in range(runs)))
        await ended(ledger, before + runs)
        seconds, used = time.perf_counter() - started, sum(map(cpu, pids)) - used
    return (f"{count} workers × 100: {runs / seconds:6.1f} runs/s, {used / runs * 1e3:5.2f} ms CPU of workers a run, "
            f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")  # fmt: skip


async def latency(url: str, label: str, times: int = 40) -> str:
    made, found = agent(url), []
    for number in range(times):
        submitted = await made.submit("hello", session=f"l-{label}-{number}")
        await submitted.wait()
        row = await submitted.look()
        found.append((row.started - row.created) * 1e3)
        await asyncio.sleep(0.05)
    return f"submit to start, {label}: median {statistics.median(found):.0f} ms, worst of {times} {max(found):.0f} ms"


async def failover(url: str) -> str:
    made, found = agent(url), []
    ledger = ledger_of(made.store)
    for number in range(3):
        with workers(url, 2) as pids:
            runs = [await made.submit("work", session=f"f-{number}-{place}") for place in range(40)]
            await asyncio.sleep(0.1)
            rows = await ledger.look(
                "SELECT id FROM run WHERE state = 'running' AND worker LIKE ?", (f"%|{pids[0]}|%",)
            )
            os.kill(pids[0], 9)
            killed = time.time()
            for run in runs:
                await run.wait()
            again = await ledger.look(
                "SELECT max(ended) FROM run WHERE id = ANY(?) AND attempts > 1", ([row[0] for row in rows],)
            )
            if again[0][0]:
                found.append(again[0][0] - killed)
    return f"kill -9: its runs had all ended elsewhere after {', '.join(f'{s:.1f}' for s in found)} s (lease 4 s)"


async def parked(url: str, count: int) -> str:
    made = agent(url)
    ledger = ledger_of(made.store)
    with workers(url, 1) as pids:
        before = resident_mb(pids[0])
        gate = asyncio.Semaphore(64)

        async def one(number: int) -> None:
            async with gate:
                await made.submit("pay", session=f"p-{number}")

        await asyncio.gather(*(one(number) for number in range(count)))
        await until(lambda: counted(ledger, "state = 'waiting'", count))
        after = resident_mb(pids[0])
        said = await latency(url, f"{count} parked")
    return f"{count} parked runs: worker {before:.0f} MB before, {after:.0f} MB after; {said}"


async def queued(url: str, count: int) -> str:
    made = agent(url)
    ledger = ledger_of(made.store)
    await made.submit("hello", session="long")
    await ledger.look(
        "INSERT INTO run (id, session, owner, agent, queue, priority, state, asked, created, due, enqueued) "
        "SELECT 'q' || n, 'long', '', '', 'default', 0, 'behind', '{\"text\": \"hello\"}', 0, 0, 0 "
        "FROM generate_series(1, ?::int) AS n RETURNING 1", (count,)
    )  # fmt: skip
    with workers(url, 1):
        return await latency(url, f"{count} turns queued in another session")


async def long_session(url: str, count: int) -> str:
    store = open_store(url)
    session = StoredSession("many", store)
    async with session.held():
        while session.count < count:
            for _ in range(500):
                session.append(
                    user("What is the weather?"), Message(role="assistant", parts=(Text("Fine, 21 °C."),))
                )
            await session.saved()
    times = []
    for _ in range(30):
        started = time.perf_counter()
        await store.read("many", limit=50)
        times.append((time.perf_counter() - started) * 1e3)
    return f"last 50 of {count} messages: median {statistics.median(times):.2f} ms"


async def main(url: str, options: argparse.Namespace) -> None:
    ledger = ledger_of(agent(url).store)
    await ledger.ready()
    for count in (1, 2, 4):
        print(await throughput(url, count, options.runs), flush=True)
    with workers(url, 1) as pids:
        used = cpu(pids[0])
        await asyncio.sleep(10)
        print(f"an idle worker: {(cpu(pids[0]) - used) * 10:.1f} % of a core", flush=True)
        print(await latency(url, "idle"), flush=True)
    print(await failover(url), flush=True)
    print(await parked(url, options.parked), flush=True)
    print(await queued(url, options.queued), flush=True)
    print(await long_session(url, options.messages), flush=True)
    sizes = await ledger.look(
        "SELECT (SELECT sum(length(body)) FROM entry JOIN session s ON s.no = entry.session WHERE s.id LIKE 't-%'), "
        "(SELECT count(*) FROM session WHERE id LIKE 't-%'), (SELECT sum(length(body)) FROM audit WHERE session_id LIKE 't-%')",
        (),
    )
    entries, sessions, audit = sizes[0]
    print(
        f"a run of 5 calls: {entries / sessions / 1024:.1f} kB of entries, {audit / sessions / 1024:.1f} kB of audit"
    )
    await ledger.store.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("url", nargs="?")
    parser.add_argument("--runs", type=int, default=600)
    parser.add_argument("--parked", type=int, default=10_000)
    parser.add_argument("--queued", type=int, default=50_000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--work", type=int, default=0)
    options = parser.parse_args()
    if options.work:
        asyncio.run(work(options.url, options.work))
        sys.exit(0)
    if options.url:
        asyncio.run(main(options.url, options))
        sys.exit(0)
    from tests.sessions.postgres import Server

    folder = Path(tempfile.mkdtemp(prefix="th"))
    server = Server(folder, is_durable=True)
    try:
        asyncio.run(main(server.database(), options))
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
