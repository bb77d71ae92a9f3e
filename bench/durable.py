"""What runs on many machines cost, each figure with the mark that it has to hold.

python -m bench.durable [URL] [--parts throughput,idle,failover,outage,parked,queued,long,bytes,fuzz]

URL is an empty PostgreSQL database; by default a server from a wheel is started that waits for the disk. Only such a server can be
crashed (`outage`), and only its processor time is counted. The model is a script, so its time is not in it. A run has 5 tool
calls of 50 ms, each asked for by itself, and an answer: 6 requests to the model. Absolute figures say as much about the machine
and its other users as about the code: the load is printed with them, and how much longer a fixed piece of Python took than at its
best, by which times of the processor can be divided.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.sessions.postgres import Server

from toolhand import Agent, tool
from toolhand.cli.worker import new_loop
from toolhand.core.messages import Message, ModelOutput, ModelRequest, RawCall, Text, user
from toolhand.durable import Worker, ledger_of
from toolhand.sessions import StoredSession
from toolhand.testing import ScriptedModel

ROOT = Path(__file__).parents[1]
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


class Pace:
    """How much slower the machine is than at its best while others use it: a fixed piece of work, timed now and then."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def look(self) -> None:
        started = time.process_time()
        sum(len(str(number)) for number in range(20_000))
        self.times.append(time.process_time() - started)

    @property
    def factor(self) -> float:
        return statistics.mean(self.times) / min(self.times)

    async def watch(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(0.25)


PACE = Pace()


def told(
    what: str,
    value: float,
    unit: str,
    *,
    most: float | None = None,
    least: float | None = None,
    more: str = "",
) -> None:
    """Prints a figure, and how it stands to its mark."""
    mark = ""
    if most is not None:
        mark = f"  mark <= {most:g}: {'held' if value <= most else 'MISSED'}"
    if least is not None:
        mark = f"  mark >= {least:g}: {'held' if value >= least else 'MISSED'}"
    print(f"{what}: {value:.4g} {unit}{mark}{f'  ({more})' if more else ''}", flush=True)


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {PACE.factor:.2f} times as slow as at its best"


@contextlib.contextmanager
def workers(url: str, count: int, concurrency: int = 100):
    command = [sys.executable, "-m", "bench.durable", url, "--work", str(concurrency)]
    made = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(count)]
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


async def throughput(field: Field) -> None:
    rates: dict[int, float] = {}
    for count in (1, 2, 4):
        rates[count] = await throughput_of(field, count)
    told("  from 1 worker to 2", rates[2] / rates[1], "times")
    told("  from 2 workers to 4", rates[4] / rates[2], "times", more="the cores are the same")


async def throughput_of(field: Field, count: int) -> float:
    made, ledger, runs = field.agent(), field.ledger, field.options.runs
    with workers(field.url, count) as pids:
        warm = [await made.submit("work", session=f"warm-{count}-{number}") for number in range(count * 20)]
        for run in warm:
            await run.wait()
        before = (await ledger.look("SELECT count(*) FROM run WHERE ended > 0", ()))[0][0]
        PACE.times = [min(PACE.times)]
        used, served, started = sum(map(cpu, pids)), field.server_cpu(), time.perf_counter()
        gate = asyncio.Semaphore(32)

        async def one(number: int) -> None:
            async with gate:
                await made.submit("work", session=f"t-{count}-{number}")

        await asyncio.gather(*(one(number) for number in range(runs)))
        await ended(ledger, before + runs)
        seconds = time.perf_counter() - started
        used, served = sum(map(cpu, pids)) - used, field.server_cpu() - served
    is_marked = count == 2
    told(f"{count} workers x 100: runs", runs / seconds, "/s", least=90 if is_marked else None, more=load())
    told("  processor of the workers", used / runs * 1e3, "ms a run", most=8 if is_marked else None,
         more=f"at the machine's best {used / runs * 1e3 / PACE.factor:.2f}")  # fmt: skip
    if served:
        told("  processor of PostgreSQL", served / runs * 1e3, "ms a run", more="submitting included")
    return runs / seconds


async def idle(field: Field) -> None:
    with workers(field.url, 1) as pids:
        used = cpu(pids[0])
        await asyncio.sleep(10)
        told(
            "an idle worker", (cpu(pids[0]) - used) * 10, "% of a core", more=f"{resident_mb(pids[0]):.0f} MB"
        )
        told("submit to start, idle, median", await start_ms(field, "idle"), "ms", most=60, more=load())


async def start_ms(field: Field, label: str, times: int = 40) -> float:
    """The median of the time from submitting a run to its start, one run at a time."""
    made, found = field.agent(), []
    for number in range(times):
        submitted = await made.submit("hello", session=f"l-{label}-{number}")
        await submitted.wait()
        row = await submitted.look()
        found.append((row.started - row.created) * 1e3)
        await asyncio.sleep(0.05)
    return statistics.median(found)


async def failover(field: Field) -> None:
    made, ledger, found = field.agent(), field.ledger, []
    for number in range(3):
        with workers(field.url, 2) as pids:
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
    if found:
        told(
            "kill -9: its runs have all ended elsewhere, worst of 3",
            max(found),
            "s",
            most=8,
            more="lease 4 s",
        )


async def outage(field: Field) -> None:
    if field.server is None:
        print("outage: not measured, as the server is not ours to crash", flush=True)
        return
    made = field.agent()
    with workers(field.url, 2) as pids:
        before = [await made.submit("work", session=f"o-{number}") for number in range(100)]
        await asyncio.sleep(0.2)
        await asyncio.to_thread(field.server.crash)
        meanwhile = [asyncio.ensure_future(made.submit("hello", session=f"om-{n}")) for n in range(5)]
        await asyncio.sleep(5)
        await asyncio.to_thread(field.server.start)
        back = time.time()
        after = [await made.submit("hello", session=f"oa-{number}") for number in range(20)]
        for run in (*before, *(await asyncio.gather(*meanwhile)), *after):
            await run.wait()
        starts = [(await run.look()).started - back for run in after]
        alive = sum(os.path.exists(f"/proc/{pid}") for pid in pids)  # noqa: ASYNC240, PTH110 - no disk is read
        told(
            "5 s without PostgreSQL: new runs start after its return, worst of 20",
            max(starts),
            "s",
            most=2,
            more=f"the first after {min(starts):.2f}; {load()}",
        )
        ends = [(await run.look()).ended - back for run in before]
        told(
            "  the last of the 100 runs under way has ended",
            max(ends),
            "s after",
            more=f"{alive} of 2 workers live",
        )


async def parked(field: Field) -> None:
    made, ledger, count = field.agent(), field.ledger, field.options.parked
    with workers(field.url, 1) as pids:
        first = await start_ms(field, "before-parked")
        before = resident_mb(pids[0])
        gate = asyncio.Semaphore(64)

        async def one(number: int) -> None:
            async with gate:
                await made.submit("pay", session=f"p-{number}")

        await asyncio.gather(*(one(number) for number in range(count)))
        await until(lambda: counted(ledger, "state = 'waiting'", count))
        after = resident_mb(pids[0])
        told(
            f"{count} parked runs: they take of the worker",
            after - before,
            "MB",
            most=60,
            more=f"{after:.0f} MB in all",
        )
        last = await start_ms(field, "after-parked")
        told("  submit to start beside them, of what it was before", last / first, "times", most=1.25,
             more=f"{first:.0f} and {last:.0f} ms")  # fmt: skip


async def queued(field: Field) -> None:
    count = field.options.queued
    with workers(field.url, 1):
        first = await start_ms(field, "before-queued")
        await field.agent().submit("hello", session="long")
        await field.ledger.look(
            "INSERT INTO run (id, session, owner, agent, queue, priority, state, asked, created, due, enqueued) "
            "SELECT 'q' || n, 'long', '', '', 'default', 0, 'behind', '{\"text\": \"hello\"}', 0, 0, 0 "
            "FROM generate_series(1, ?::int) AS n RETURNING 1", (count,)
        )  # fmt: skip
        await field.agent().submit("hello", session="long")
        last = await start_ms(field, "after-queued")
        told(
            f"{count} turns queued in a session, and made: submit to start of others, median",
            last,
            "ms",
            most=60,
            more=f"before {first:.0f} ms",
        )
    await field.ledger.look("DELETE FROM run WHERE session = 'long' RETURNING 1", ())


async def long(field: Field) -> None:
    store, count = field.ledger.store, field.options.messages
    times: dict[int, list[float]] = {}
    for size in (200, count):
        session = StoredSession(f"many-{size}", store)
        async with session.held():
            while session.count < size:
                for _ in range(min(500, size // 2)):
                    session.append(
                        user("What is the weather?"), Message(role="assistant", parts=(Text("Fine, 21 °C."),))
                    )
                await session.saved()
        times[size] = []
        for _ in range(40):
            started = time.perf_counter()
            await store.read(session.id, limit=50)
            times[size].append((time.perf_counter() - started) * 1e3)
    few, many = (statistics.median(found) for found in times.values())
    told(
        f"the last 50 of {count} messages, median", many, "ms", most=2, more=f"of 200: {few:.2f} ms; {load()}"
    )


async def sizes(field: Field) -> None:
    """Bytes stored of a session of 100 turns with 2.5 kB a turn, against what was said and done in it."""

    @tool
    def fetch(n: int) -> str:
        """Fetches a page."""
        return f"page {n} " + "the quick brown fox " * 100

    def reply_at_length(request: ModelRequest) -> ModelOutput:
        if request.messages[-1].role == "user":
            return ModelOutput(
                calls=(RawCall(id="c", name="fetch", arguments='{"n": 1}'),), finish_reason="tool_calls"
            )
        return ModelOutput(text="It says this: " + "a lazy dog " * 30)

    made = Agent(ScriptedModel(reply_at_length), tools=[fetch], store=field.url)
    payload = 0
    for number in range(100):
        run = await made.run(f"What does page {number} say? " + "Please. " * 10, session="sized")
        said = (m.text for m in run.new_messages if m.role != "tool")
        payload += sum(map(len, said)) + sum(len(str(result.data)) for result in run.results)
        payload += sum(len(call.name) + len(str(dict(call.arguments))) for call in run.calls)
    rows = await field.ledger.look(
        "SELECT sum(octet_length(e.body)), sum(pg_column_size(e.*)) FROM entry e JOIN session s ON s.no = e.session "
        "WHERE s.id = 'sized'", ()
    )  # fmt: skip
    told("entries of 100 turns of 2.5 kB: bytes", rows[0][0] / payload, "times what was said", most=2,
         more=f"{rows[0][1] / payload:.2f} times as rows, compressed")  # fmt: skip


async def fuzz(field: Field) -> None:
    """The short form of the fuzz; the long one is `python -m tests.durable.fuzz URL --runs 2000 --hits 500`."""
    database = field.server.database() if field.server is not None else field.url
    words = ("--runs", "200", "--hits", "60", "--lease", "1", "--every", "0.3")
    made = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.durable.fuzz", database, *words, stdout=subprocess.PIPE
    )
    output, _ = await made.communicate()
    found = json.loads(output)
    bad = sum(found[name] for name in ("twice", "lost", "late", "out_of_order")) + len(found["invalid"])
    told(
        "60 kills and freezes over 200 runs: what must not be",
        bad,
        "times",
        most=0,
        more=output.decode().strip(),
    )


PARTS = {"throughput": throughput, "idle": idle, "failover": failover, "outage": outage, "parked": parked,
         "queued": queued, "long": long, "bytes": sizes, "fuzz": fuzz}  # fmt: skip


class Field:
    """Where it is measured.

    Args:
        url: the database.
        server: the server, where it is ours.
        options: how much of everything.
    """

    def __init__(self, url: str, server: Server | None, options: argparse.Namespace) -> None:
        self.url, self.server, self.options = url, server, options
        self.ledger = ledger_of(self.agent().store)

    def agent(self) -> Agent[str]:
        return agent(self.url)

    def server_cpu(self) -> float:
        """Seconds of the processor that all processes of the server have used; 0 where it is not ours."""
        if self.server is None:
            return 0.0
        main, used = self.server.pid, 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                if int(stat.parent.name) == main:  # with those that have ended
                    used += sum(map(int, fields[11:15]))
                elif int(fields[1]) == main:
                    used += int(fields[11]) + int(fields[12])
        return used / TICKS


async def main(field: Field) -> None:
    await field.ledger.ready()
    for _ in range(20):
        PACE.look()
    watching = asyncio.ensure_future(PACE.watch())
    for part in field.options.parts.split(","):
        await PARTS[part](field)
    watching.cancel()
    await field.ledger.store.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("url", nargs="?")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--parked", type=int, default=10_000)
    parser.add_argument("--queued", type=int, default=50_000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--work", type=int, default=0)
    options = parser.parse_args()
    if options.work:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(work(options.url, options.work))
        sys.exit(0)
    if options.url:
        asyncio.run(main(Field(options.url, None, options)))
        sys.exit(0)
    folder = Path(tempfile.mkdtemp(prefix="th"))
    server = Server(folder, is_durable=True)
    try:
        asyncio.run(main(Field(server.database(), server, options)))
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
