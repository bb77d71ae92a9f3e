"""Kills and crowds, in processes of their own. The full sizes are in `bench/sessions.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def figures(module: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.sessions.{module}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        timeout=110,
    )
    assert done.stdout, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    return str(tmp_path / "s.db") if request.param == "sqlite" else request.getfixturevalue("url")


@pytest.mark.slow
def test_killed_runs_do_nothing_twice_and_lose_nothing(where):
    found = figures("kill_fuzz", where, "--kills", "25")
    assert found["kills"] >= 25
    assert (found["twice"], found["lost"], found["invalid"]) == (0, 0, [])
    assert found["ok"] > found["unknown"]


@pytest.mark.slow
def test_many_runs_over_fewer_sessions_neither_mix_nor_lose_nor_fail(where):
    found = figures("load", where, "--runs", "200", "--sessions", "80")
    assert (found["wrong"], found["first"]) == (0, [])


@pytest.mark.slow
def test_four_processes_on_two_sessions_wait_for_one_another(where):
    found = figures("load", where, "--runs", "6", "--sessions", "2", "--processes", "4")
    assert (found["wrong"], found["first"]) == (0, [])
