"""`toolhand worker`: makes submitted runs."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from toolhand.cli import options
from toolhand.cli.shown import tell
from toolhand.cli.words import say
from toolhand.durable.agents import load_work
from toolhand.durable.health import served
from toolhand.durable.worker import Worker

HELP = say(
    "Make runs that were submitted, on any number of machines.", "执行已提交的运行，可在任意多台机器上。"
)


AGENTS: Any = typer.Argument(
    help=say(
        "a .py file or module that holds agents; FILE:NAME for one of them",
        "含有 agent 的 .py 文件或模块；“文件:名称”表示其中一个",
    )
)
QUEUES: Any = typer.Option([], "--queue", help=say("Serve this queue; repeatable.", "服务的队列，可重复。"))
CONCURRENCY: Any = typer.Option(
    100, "--concurrency", "-c", min=1, help=say("Runs at once.", "同时执行多少个运行。")
)
LEASE: Any = typer.Option(
    4.0,
    "--lease",
    min=0.5,
    help=say(
        "Seconds out of touch after which its runs are given to others.",
        "失联多少秒后运行会转给其他 worker。",
    ),
)
GRACE: Any = typer.Option(
    30.0,
    "--grace",
    min=0.0,
    help=say(
        "Seconds that runs may go on when it is stopped; the rest is handed over.",
        "停止时运行还可继续的秒数，其余的会移交。",
    ),
)
ATTEMPTS: Any = typer.Option(
    5,
    "--attempts",
    min=1,
    help=say("Workers that may die of a run.", "一个运行最多可让多少个 worker 中断。"),
)
HEALTH: Any = typer.Option(
    None,
    "--health",
    min=0,
    max=65535,
    metavar="PORT",
    help=say("Serve /health, /ready and /metrics here.", "在此端口提供 /health、/ready 和 /metrics。"),
)
HOST: Any = typer.Option(
    "127.0.0.1", "--host", help=say("Where the health port listens.", "健康检查的监听地址。")
)
VERBOSE: Any = typer.Option(
    False, "--verbose", "-v", help=say("Log each run and call.", "记录每个运行和调用。")
)


def worker(
    agents: str = AGENTS,
    store: str | None = options.STORE,
    queues: list[str] = QUEUES,
    concurrency: int = CONCURRENCY,
    lease: float = LEASE,
    grace: float = GRACE,
    attempts: int = ATTEMPTS,
    health: int | None = HEALTH,
    host: str = HOST,
    verbose: bool = VERBOSE,
) -> None:
    made, schedules = load_work(agents)
    working = Worker(
        made,
        store=store,
        queues=queues,
        concurrency=concurrency,
        lease_seconds=lease,
        grace_seconds=grace,
        most_attempts=attempts,
        schedules=schedules,
    )
    level = logging.INFO if verbose else logging.WARNING
    with _logged(level), asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_work(working, host, health))


def new_loop() -> asyncio.AbstractEventLoop:
    """The event loop that a worker runs in: uvloop's where it is there, as much of a run's time goes into waking up for sockets."""
    try:
        import uvloop  # noqa: PLC0415 - not on Windows
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


@contextmanager
def _logged(level: int) -> Iterator[None]:
    """Log lines on the error stream for as long as the worker works: the stream may be closed afterwards."""
    root, lines = logging.getLogger(), logging.StreamHandler()
    lines.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    before = root.level
    root.addHandler(lines)
    root.setLevel(level)
    try:
        yield
    finally:
        root.removeHandler(lines)
        root.setLevel(before)


async def _work(worker: Worker, host: str, port: int | None) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if worker.health.is_stopping:  # a second Ctrl-C: what is under way is handed over now
            worker.hand_over()
            return
        tell(
            say(
                f"stopping: {len(worker.running)} runs may end within {worker.grace_seconds:g} seconds",
                f"正在停止：{len(worker.running)} 个运行可在 {worker.grace_seconds:g} 秒内结束",
            ),
            is_err=True,
        )
        worker.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    queues, names = ", ".join(worker.queues), ", ".join(name for name in worker.agents if name)
    tell(
        say(
            f"working on {queues} of {worker.ledger.store.name} with {names}, {worker.concurrency} runs at once",
            f"正在处理 {worker.ledger.store.name} 的 {queues}，agent：{names}，同时 {worker.concurrency} 个运行",
        ),
        is_err=True,
    )
    if port is None:
        await worker.run()
        return
    async with served(worker, host=host, port=port) as at:
        tell(say(f"health at http://{host}:{at}/health", f"健康检查：http://{host}:{at}/health"), is_err=True)
        await worker.run()
