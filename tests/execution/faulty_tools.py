"""Tools that do what tools must not do. They are run in worker processes, and where it is safe in threads."""

from __future__ import annotations

import asyncio
import ctypes
import datetime as dt
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from toolhand import tool
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.tools.signature import Injected


def late_seconds() -> float:
    """After how long what hangs would write. Long enough for a slow machine to end it before; see `LATE_SECONDS`."""
    return float(os.environ.get("LATE_SECONDS", "8"))


def hang_sleeping(path: str) -> str:
    time.sleep(late_seconds())
    Path(path).write_text("late")
    return "late"


def hang_busy(path: str) -> str:
    until = time.monotonic() + late_seconds()
    while time.monotonic() < until:
        pass
    Path(path).write_text("late")
    return "late"


def hang_deaf(path: str) -> str:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return hang_sleeping(path)


def hang_in_c(path: str) -> str:
    ctypes.PyDLL(None).usleep(int(late_seconds() * 1_000_000))  # PyDLL keeps the interpreter lock
    Path(path).write_text("late")
    return "late"


def hang_in_re(path: str) -> str:
    re.match(r"(a+)+$", "a" * 26 + "b")  # seconds, in C, with the interpreter lock
    Path(path).write_text("late")
    return "late"


def hang_swallowing(path: str) -> str:
    until = time.monotonic() + late_seconds()
    while time.monotonic() < until:
        try:
            time.sleep(0.05)
        except BaseException:
            continue
    Path(path).write_text("late")
    return "late"


def _detach(path: str, *, sessions: int = 1) -> None:
    """Forks twice and leaves its session, as a daemon does; the grandchild writes later."""
    if os.fork() == 0:
        for _ in range(sessions):
            os.setsid()
            if os.fork() != 0:
                os._exit(0)
        time.sleep(late_seconds())
        Path(path).write_text("late")
        os._exit(0)
    os.wait()


def detach_and_hang(path: str) -> str:
    _detach(path)
    time.sleep(60)
    return "late"


def detach_deeply_and_hang(path: str) -> str:
    _detach(path, sessions=4)
    time.sleep(60)
    return "late"


def detach_and_return(path: str) -> str:
    _detach(path)
    return "done"


def shell_and_hang(path: str) -> str:
    subprocess.Popen(
        ["sh", "-c", f"(sleep {late_seconds()}; echo late > {path}) & sleep 60"], start_new_session=True
    )
    time.sleep(60)
    return "late"


def run_away(path: str) -> str:
    """A chain of processes, each of which starts the next and ends; the last one writes."""
    if os.fork() == 0:
        os.setsid()
        until = time.monotonic() + late_seconds()
        while time.monotonic() < until:
            time.sleep(0.005)
            if os.fork() != 0:
                os._exit(0)
        Path(path).write_text("late")
        os._exit(0)
    time.sleep(60)
    return "late"


def child_comes_back() -> str:
    return "child" if os.fork() == 0 else "parent"


def crash_by_segfault() -> str:
    return str(ctypes.string_at(0))


def crash_by_exit() -> str:
    os._exit(3)


def crash_by_abort() -> str:
    os.abort()


def crash_after_detaching(path: str) -> str:
    _detach(path)
    os._exit(1)


def close_everything() -> str:
    os.closerange(0, 1_000)
    return "done"


def fill_memory() -> str:
    held = []
    while True:
        held.append(bytearray(32 * 2**20))


def flood() -> str:
    for _ in range(200):
        sys.stdout.write("x" * 100_000)
        sys.stderr.write("x" * 100_000)
        os.write(1, b"x" * 100_000)
        os.write(2, b"x" * 100_000)
    return "done"


def read_stdin() -> str:
    return f"<{sys.stdin.read()}>"


class Explosive:
    @property
    def __dict__(self):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")


class ExitingWhenShown:
    def to_dict(self):
        raise SystemExit(3)


class Huge:
    def __str__(self):
        return "x" * 5_000_000

    @property
    def __dict__(self):
        return {}


def explode_when_shown() -> list:
    return [Explosive(), 1]


def exit_when_shown() -> ExitingWhenShown:
    return ExitingWhenShown()


def huge_when_shown() -> Huge:
    return Huge()


def endless() -> object:
    def numbers():
        n = 0
        while True:
            yield n
            n += 1

    return numbers()


def never_yields() -> object:
    def nothing():
        while True:
            time.sleep(0.01)
        yield

    return nothing()


class Unsayable(Exception):
    def __str__(self):
        raise RuntimeError("no")


def raise_exception(name: str) -> str:
    kinds = {kind.__name__: kind for kind in (SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration)}
    kinds |= {kind.__name__: kind for kind in (asyncio.CancelledError, RecursionError, Unsayable, ValueError)}
    raise kinds[name]("password=hunter2")


def raise_failure() -> str:
    raise ToolFailure(
        "only on weekdays",
        code=ErrorCode.UPSTREAM,
        retryable=True,
        hint="Try tomorrow.",
        chinese=("只在工作日", "请明天再试。"),
    )


class TooOften(Exception):
    retry_after = 7


def raise_too_often() -> str:
    raise TooOften


def raise_network() -> str:
    raise ConnectionResetError("10.0.0.1 hung up")


def leave_a_thread() -> int:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return os.getpid()


def quick(n: int = 1) -> int:
    return n


def sometimes_hang(n: int) -> int:
    while n % 10 == 0:
        time.sleep(0.02)
    return n


def pid() -> int:
    return os.getpid()


def surroundings(name: str) -> dict:
    return {"environ": os.environ.get(name), "directory": str(Path.cwd())}


def disturb() -> str:
    os.environ["TOOLHAND_TEST"] = "disturbed"
    os.chdir("/")
    return "done"


@dataclass
class Stay:
    guest: str
    arrival: dt.date
    nights: int = 1


def kinds_of(stay: Stay, at: dt.time, tags: set[str]) -> str:
    return (
        f"{type(stay).__name__} {type(stay.arrival).__name__} {at:%H:%M} {sorted(tags)} {type(tags).__name__}"
    )


@tool
def decorated(day: dt.date, /, *more: int) -> str:
    return f"{day:%A} {more}"


def who(
    context: RunContext, user: Annotated[str, Injected("user_id")], note: Annotated[str, Injected("note")]
) -> dict:
    return {
        "user": user,
        "note": note,
        "session": context.session_id,
        "trace": context.trace_id,
        "in": context.language,
    }


class Desk:
    @classmethod
    def open(cls) -> str:
        return cls.__name__
