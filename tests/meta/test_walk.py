"""How much code one call goes through, as `make walk` says. The marks only shrink: docs/adr/0013-the-walk-of-a-call.md."""

from __future__ import annotations

import runpy
from pathlib import Path

MOST_FUNCTIONS = 138
MOST_LINES = 1_850


def test_the_walk_of_a_call_has_not_grown():
    walk = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "walk.py"))
    found = walk["walked"]()
    assert 50 < len(found) <= MOST_FUNCTIONS
    assert walk["lines_of"](found) <= MOST_LINES
