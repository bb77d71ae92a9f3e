"""The short form of the fuzz: workers that are killed and frozen at random moments, on a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.durable.hosts import are_possible

ROOT = Path(__file__).parents[2]


def fuzzed(*words: str) -> dict[str, Any]:
    made = subprocess.run(
        [sys.executable, "-m", "tests.durable.fuzz", *words],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    assert made.stdout, made.stderr[-4000:]
    figures: dict[str, Any] = json.loads(made.stdout)
    assert made.returncode == 0, figures
    return figures


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whatever_happens_to_workers_nothing_is_done_twice_lost_or_out_of_order(postgres):
    words = ("--runs", "80", "--hits", "42", "--lease", "0.8", "--every", "0.3")
    figures = fuzzed(postgres.database(), *words)
    assert figures["kills"] + figures["freezes"] == 42
    assert figures["states"] == {"finished": 80}
    assert figures["ok"] + figures["unknown"] == 240
    assert figures["attempts"] > 80  # the hits have hit something


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_so_it_is_with_workers_on_several_hosts_whose_cables_are_pulled(postgres):
    if not are_possible():
        pytest.skip("network namespaces cannot be made here: that needs root")
    words = ("--runs", "30", "--hits", "12", "--lease", "0.8", "--every", "0.3", "--hosts")
    figures = fuzzed(postgres.database(), *words)
    assert figures["kills"] + figures["freezes"] + figures["cuts"] == 12
    assert figures["states"] == {"finished": 30}
    assert figures["cuts"] > 1
    assert figures["ok"] + figures["unknown"] == 90
