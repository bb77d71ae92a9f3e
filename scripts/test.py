"""Runs the tests and ends with one line that says what happened.

python scripts/test.py [--fast] [pytest's own options]
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """All tests, or with --fast those that need no model and little time."""
    started = time.monotonic()
    is_fast = "--fast" in arguments
    arguments = [argument for argument in arguments if argument != "--fast"]
    if not is_fast:
        pulled = subprocess.run(
            [sys.executable, "-m", "toolhand.cli", "models", "pull", "local:small"], check=False, cwd=ROOT
        )
        if pulled.returncode:
            print(
                "make test failed: the small embedded model could not be fetched (see above); `make test-fast` needs none"
            )
            return pulled.returncode
    selection = ["-m", "not model and not slow"] if is_fast else []
    code = subprocess.run(
        [sys.executable, "-m", "pytest", *selection, *arguments], check=False, cwd=ROOT
    ).returncode
    word = "passed" if code == 0 else "failed"
    print(
        f"make test{'-fast' if is_fast else ''} {word} after {time.monotonic() - started:.0f} s", flush=True
    )
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
