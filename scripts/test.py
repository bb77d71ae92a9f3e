"""Runs the tests, side by side in a few processes, and ends with one line that says what happened.

python scripts/test.py [--fast] [pytest's own options, such as -n 0 for one process]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from toolhand.models.cores import usable_cores

ROOT = Path(__file__).resolve().parent.parent
SECONDS_TO_END = 60


def pulled() -> int:
    """The exit code of fetching the small embedded model."""
    command = [sys.executable, "-m", "toolhand.cli", "models", "pull", "local:small"]
    code = subprocess.run(command, check=False, cwd=ROOT).returncode
    if code:
        print(
            "make test failed: the small embedded model could not be fetched (see above); `make test-fast` needs none"
        )
    return code


def run(options: list[str]) -> tuple[int, dict[str, int]]:
    """Pytest's exit code, and how many tests passed, failed, were skipped and so on."""
    environment = dict(os.environ)
    # The tests start hundreds of processes, and each would compile all of Toolhand anew.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    # Threads of one model wait for one another at every step: on one core each, models side by side are quicker.
    environment.setdefault("TOOLHAND_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        environment["TOOLHAND_TEST_COUNTS"] = str(counts)
        command = [sys.executable, "-m", "pytest", "-r", "fEs", *options]
        with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
            while process.poll() is None and not counts.exists():
                time.sleep(0.2)
            try:
                code = process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                print(f"the tests were through, and their process did not end within {SECONDS_TO_END} s")
                code = 1
        return code, json.loads(counts.read_text(encoding="utf-8")) if counts.exists() else {}


def main(arguments: list[str]) -> int:
    """All tests, or with --fast those that need no model and little time."""
    started = time.monotonic()
    is_fast = "--fast" in arguments
    arguments = [argument for argument in arguments if argument != "--fast"]
    if not is_fast and (code := pulled()):
        return code
    workers = min(max(usable_cores(), 2), 4)
    # A file stays in one process: its tests share servers and loaded models.
    options = ["-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder"]
    selection = ["-m", "not model and not slow"] if is_fast else []
    code, counts = run([*options, *selection, *arguments])
    told = ", ".join(f"{count:,} {word}" for word, count in counts.items()) or "no test was run"
    name = f"make test{'-fast' if is_fast else ''} {'failed' if code else 'passed'}"
    print(f"{name}: {told}; {time.monotonic() - started:.0f} s", flush=True)
    return code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("make test was stopped")
        sys.exit(130)
