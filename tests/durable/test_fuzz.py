"""The short form of the fuzz: workers that are killed and frozen at random moments, on a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whatever_happens_to_workers_nothing_is_done_twice_lost_or_out_of_order(postgres):
    command = [
        sys.executable,
        "-m",
        "tests.durable.fuzz",
        postgres.database(),
        "--runs",
        "80",
        "--hits",
        "42",
    ]
    made = subprocess.run(
        [*command, "--lease", "0.8", "--every", "0.3"], cwd=ROOT, text=True, capture_output=True, check=False
    )
    assert made.stdout, made.stderr[-4000:]
    figures = json.loads(made.stdout)
    assert made.returncode == 0, figures
    assert figures["kills"] + figures["freezes"] == 42
    assert figures["states"] == {"finished": 80}
    assert figures["ok"] + figures["unknown"] == 240
    assert figures["attempts"] > 80  # the hits have hit something
