"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# The same examples in every run, so that a change is judged by what it changed; TOOLHAND_FUZZ=1 looks for new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("new", derandomize=False)
settings.load_profile("new" if os.environ.get("TOOLHAND_FUZZ") else "same")
