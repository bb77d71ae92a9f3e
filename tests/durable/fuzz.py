"""Kills and freezes workers at random moments while they make runs; then looks at what was done, and at what was written.

python -m tests.durable.fuzz URL --runs 2000 --hits 500 [--workers 3] [--seed 1] [--hosts]

URL is an empty PostgreSQL database. A run makes one writing call, then two at once and one that only reads; what each does is
counted in a file. Half of the hits are kill -9, the others freezes of half to two leases (SIGSTOP, SIGCONT). With `--hosts` each
worker is in a network namespace of its own, and a third of the hits pull its cable for as long. The figures are printed as JSON: `twice`, `lost`, `late`, `out_of_order` must be 0 and `invalid` empty.

This process starts no thread and no loop before the end, so that workers can be forked from it with everything loaded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.durable.hosts import Hosts
from toolhand import Agent, tool
from toolhand.core.errors import ErrorCode
from toolhand.core.messages import ModelOutput, ModelRequest, RawCall
from toolhand.durable.opening import ledger_of
from toolhand.durable.worker import Worker
from toolhand.sessions import StoredSession, postgres
from toolhand.testing import ScriptedModel

NAMES = ("book", "charge", "notify")

TRIGGER = """
CREATE TABLE IF NOT EXISTS toolhand.writer (entry BIGINT, session BIGINT, seq BIGINT, epoch BIGINT, app TEXT);
CREATE OR REPLACE FUNCTION toolhand.note_writer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO toolhand.writer SELECT NEW.id, NEW.session, NEW.seq, s.epoch, current_setting('application_name')
    FROM toolhand.session s WHERE s.no = NEW.session; RETURN NEW; END $$;
CREATE OR REPLACE TRIGGER note_writer AFTER INSERT ON toolhand.entry FOR EACH ROW EXECUTE FUNCTION toolhand.note_writer();
"""
"""Writes down which process wrote each entry, and under which number its session's lease was at that moment."""


def replies(request: ModelRequest) -> ModelOutput:
    """One call, then three at once, then the answer: as the history since the user's message says, in any process."""
    since = max(place for place, message in enumerate(request.messages) if message.text.startswith("order "))
    order = int(request.messages[since].text.split()[1])
    asked = sum(bool(message.calls) for message in request.messages[since:])
    if asked == 0:
        return wants(order, "book")
    return wants(order, "charge", "notify", "look") if asked == 1 else ModelOutput(text=f"done {order}")


def wants(order: int, *names: str) -> ModelOutput:
    calls = tuple(
        RawCall(id=f"c{order}_{name}", name=name, arguments=json.dumps({"order": order})) for name in names
    )
    return ModelOutput(calls=calls, finish_reason="tool_calls")


def tools(effects: Path, pause: float) -> list[Any]:
    def make(name: str) -> Any:
        async def effect(order: int) -> str:
            """Has an effect."""
            await asyncio.sleep(random.random() * pause)
            file = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(file, f"{order}:{name}\n".encode())
            os.close(file)
            await asyncio.sleep(random.random() * pause)
            return f"{name} {order}"

        return tool(name=name, effect="writes")(effect)

    @tool
    async def look(order: int) -> str:
        """Looks."""
        await asyncio.sleep(random.random() * pause)
        return f"seen {order}"

    return [*(make(name) for name in NAMES), look]


class Field:
    """The processes of one fuzz.

    Args:
        url: the database.
        folder: where effects are counted.
        lease: of the workers, in seconds.
        pause: how long half a tool takes at most, in seconds.
        hosts: a host for each worker; None where all are on this machine.
    """

    def __init__(
        self, url: str, folder: Path, *, lease: float, pause: float, hosts: Hosts | None = None
    ) -> None:
        self.url, self.effects, self.lease, self.pause = url, folder / "effects", lease, pause
        self.hosts = hosts
        self.workers: list[tuple[int, int]] = []  # a process and its host

    def agent(self, place: int | None = None) -> Agent[str]:
        store = self.url if self.hosts is None or place is None else self.hosts.url(place)
        return Agent(ScriptedModel(replies), tools=tools(self.effects, self.pause), store=store)

    def fork(self, work: Any) -> int:
        """Does it in a process of its own; its number."""
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            random.seed()
            asyncio.run(work())
            code = 0
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.stderr.flush()
        finally:
            os._exit(code)

    def start_worker(self, place: int) -> None:
        self.workers.append((self.fork(lambda: self.work(place)), place))

    async def work(self, place: int) -> None:
        if self.hosts is not None:
            self.hosts.enter(place)
        postgres._SETTINGS["application_name"] = f"worker {os.getpid()}"
        worker = Worker(
            self.agent(place), concurrency=20, lease_seconds=self.lease, most_attempts=1000, grace_seconds=5
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()

    def hit(self, rng: random.Random) -> str:
        """Kills a worker and starts another, freezes one for a while, or pulls its cable."""
        number = rng.randrange(len(self.workers))
        pid, place = self.workers[number]
        if self.hosts is not None and rng.random() < 1 / 3:
            self.hosts.pull(place)
            time.sleep(self.lease * rng.uniform(0.5, 2.0))
            self.hosts.plug(place)
            return "cuts"
        if rng.random() < 0.5:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            del self.workers[number]
            self.start_worker(place)
            return "kills"
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.lease * rng.uniform(0.5, 2.0))
        os.kill(pid, signal.SIGCONT)
        return "freezes"

    def stop(self) -> None:
        for pid, _ in self.workers:
            os.kill(pid, signal.SIGTERM)
        for pid, _ in self.workers:
            os.waitpid(pid, 0)


async def prepare(field: Field) -> None:
    ledger = ledger_of(field.agent().store)
    await ledger.ready()

    async def make(connection: Any) -> None:
        await connection.execute(TRIGGER)

    await ledger.store.connected(make)
    await ledger.store.close()


async def submit_all(field: Field, runs: int, sessions: int, seconds: float) -> None:
    """Submits runs, spread over a time."""
    agent = field.agent()
    for order in range(runs):
        await agent.submit(f"order {order}", session=f"s{order % sessions}", run_id=f"r{order}")
        await asyncio.sleep(seconds / runs * 0.8)
    await agent.store.close()


async def is_done(field: Field, runs: int) -> bool:
    ledger = ledger_of(field.agent().store)
    rows = await ledger.look("SELECT count(*) FROM run WHERE ended > 0", ())
    await ledger.store.close()
    return rows[0][0] >= runs


async def checked(field: Field, runs: int, sessions: int, figures: dict[str, Any]) -> None:
    """Looks at everything that was done and written."""
    agent = field.agent()
    ledger = ledger_of(agent.store)
    states = Counter(dict(await ledger.look("SELECT state, count(*) FROM run GROUP BY state", ())))
    figures["states"] = dict(states)
    if states != {"finished": runs}:
        figures["invalid"].append(f"not every run has ended well: {dict(states)}")
    attempts = await ledger.look("SELECT sum(attempts), max(attempts) FROM run", ())
    figures["attempts"], figures["most_attempts"] = int(attempts[0][0]), attempts[0][1]
    done = Counter(field.effects.read_text().split())
    figures["twice"] = sum(count > 1 for count in done.values())
    for place in range(sessions):
        session = StoredSession(f"s{place}", agent.store)
        await session.load()
        messages = list(session.messages)
        said = [message.text for message in messages if message.role == "user" and message.text]
        if said != [f"order {order}" for order in range(place, runs, sessions)]:
            figures["out_of_order"] += 1
        look_at_session(f"s{place}", messages, done, figures)
    rows = await ledger.look("SELECT session, epoch, app FROM writer ORDER BY entry", ())
    look_at_writers(rows, figures)
    await agent.store.close()


def look_at_session(name: str, messages: list[Any], done: Counter[str], figures: dict[str, Any]) -> None:
    """Each call has one result in the message behind it, and the result says what its effect was."""
    for number, message in enumerate(messages):
        ids = [call.id for call in message.calls]
        if not ids:
            continue
        told = messages[number + 1].results if number + 1 < len(messages) else ()
        if [result.call_id for result in told] != ids:
            figures["invalid"].append(f"{name}: {ids} answered by {[r.call_id for r in told]}")
        for call, result in zip(message.calls, told, strict=False):
            if call.name not in NAMES:
                continue
            count = done[f"{call.arguments['order']}:{call.name}"]
            is_unknown = result.error is not None and result.error.code is ErrorCode.OUTCOME_UNKNOWN
            figures["ok"] += result.ok
            figures["unknown"] += is_unknown
            figures["unknown_but_done"] += is_unknown and count == 1
            figures["lost"] += (result.ok and count != 1) or not (result.ok or is_unknown)


def look_at_writers(rows: list[Any], figures: dict[str, Any]) -> None:
    """No entry by an older number behind one by a newer, and each number is one process'."""
    newest: dict[int, int] = {}
    writers: dict[tuple[int, int], set[str]] = {}
    for session, epoch, app in rows:
        figures["late"] += epoch < newest.get(session, 0)
        newest[session] = max(epoch, newest.get(session, 0))
        writers.setdefault((session, epoch), set()).add(app)
    figures["entries"] = len(rows)
    figures["late"] += sum(len(apps) > 1 for apps in writers.values())


def waited(field: Field, runs: int, seconds: float) -> bool:
    """Waits until every run has ended; looked at from processes of their own, since this one must have no thread."""
    until = time.monotonic() + seconds

    async def look() -> None:
        if not await is_done(field, runs):
            raise TimeoutError("not yet")

    while time.monotonic() < until:
        pid = os.fork()
        if not pid:
            code = 1
            try:
                asyncio.run(look())
                code = 0
            finally:
                os._exit(code)
        if os.waitpid(pid, 0)[1] == 0:
            return True
        time.sleep(0.5)
    return False


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--hits", type=int, default=500)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--lease", type=float, default=2.0)
    parser.add_argument("--pause", type=float, default=0.1)
    parser.add_argument("--every", type=float, default=0.6, help="seconds between hits, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", action="store_true", help="a network namespace for each worker")
    options = parser.parse_args(arguments)
    if not options.hosts:
        return fuzz(options, None)
    hosts = Hosts(options.url, options.workers)
    try:
        return fuzz(options, hosts)
    finally:
        hosts.close()


def fuzz(options: argparse.Namespace, hosts: Hosts | None) -> int:
    """Does it; 1 where anything was that must not be."""
    rng, started, sessions = random.Random(options.seed), time.monotonic(), max(1, options.runs // 8)
    figures: dict[str, Any] = dict.fromkeys(
        (
            "kills",
            "freezes",
            "cuts",
            "twice",
            "lost",
            "late",
            "out_of_order",
            "ok",
            "unknown",
            "unknown_but_done",
        ),
        0,
    )
    figures["invalid"] = []
    with tempfile.TemporaryDirectory() as folder:
        field = Field(options.url, Path(folder), lease=options.lease, pause=options.pause, hosts=hosts)
        field.effects.touch()
        os.waitpid(field.fork(lambda: prepare(field)), 0)
        seconds = options.hits * (options.every / 2 + options.lease * 1.25 / 2)
        submitter = field.fork(lambda: submit_all(field, options.runs, sessions, seconds))
        relay = None if hosts is None else field.fork(hosts.relay)
        for place in range(options.workers):
            field.start_worker(place)
        time.sleep(options.lease)
        for _ in range(options.hits):
            figures[field.hit(rng)] += 1
            time.sleep(rng.random() * options.every)
        os.waitpid(submitter, 0)
        if not waited(field, options.runs, 120 + options.runs):
            figures["invalid"].append("it did not come to an end")
        field.stop()
        if relay is not None:
            os.kill(relay, signal.SIGKILL)
            os.waitpid(relay, 0)
        asyncio.run(checked(field, options.runs, sessions, figures))
    figures["invalid"] = figures["invalid"][:10]
    figures["seconds"] = round(time.monotonic() - started, 1)
    sys.stdout.write(json.dumps(figures) + "\n")
    bad = ("twice", "lost", "late", "out_of_order", "invalid")
    return int(any(figures[name] for name in bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
