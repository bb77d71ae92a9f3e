"""Servers for the tests: the SDK's own, over stdio and HTTP, and one that misbehaves."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.openapi.conftest import Running, echo  # noqa: F401 - a fixture

RAW = Path(__file__).parent / "raw_server.py"


def raw(**plan: Any) -> list[str]:
    return [sys.executable, "-S", "-E", str(RAW), json.dumps(plan)]


def is_gone(pid: int, seconds: float = 10) -> bool:
    """Whether a process ends in that time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            stat = Path(f"/proc/{pid}/stat").read_text()
        except (ProcessLookupError, FileNotFoundError):
            return True
        if stat.rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


class State:
    """What a raw server has noted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def lines(self) -> list[str]:
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []

    @property
    def pids(self) -> list[int]:
        return [int(line.split()[1]) for line in self.lines if line.startswith("start ")]

    def __str__(self) -> str:
        return str(self.path)


@pytest.fixture
def state(tmp_path) -> State:
    return State(tmp_path / "state.txt")


@pytest.fixture(scope="module")
def sdk_url() -> Iterator[str]:
    from tests.mcp.sdk_server import server  # noqa: PLC0415 - the SDK takes a moment

    app = server.streamable_http_app()
    with Running(app, lifespan="on") as url:
        yield f"{url}/mcp"
