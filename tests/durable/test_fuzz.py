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
        "100",
        "--hits",
        "44",
    ]
    made = subprocess.run(
        [*command, "--lease", "1", "--every", "0.4"], cwd=ROOT, text=True, capture_output=True, check=False
    )
    assert made.stdout, made.stderr[-4000:]
    figures = json.loads(made.stdout)
    assert made.returncode == 0, figures
    assert figures["kills"] + figures["freezes"] == 44
    assert figures["states"] == {"finished": 100}
    assert figures["ok"] + figures["unknown"] == 300
    assert figures["attempts"] > 100  # the hits have hit something
