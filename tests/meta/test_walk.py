"""How much code one call goes through, as `make walk` says. The marks only shrink: docs/adr/0020-the-walk-of-a-call.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "walk.py"
MOST_FUNCTIONS = 125
MOST_LINES = 1_600


def test_the_walk_of_a_call_has_not_grown():
    # In a process of its own: a thread that was once profiled stays so.
    said = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False).stdout
    found = re.search(r"one tool call: (\d+) functions in \d+ files, (\d+) lines", said)
    assert found
    assert 50 < int(found[1]) <= MOST_FUNCTIONS, said
    assert int(found[2]) <= MOST_LINES, said
