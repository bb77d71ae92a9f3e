"""Runs the tests and ends with one line that says what happened.

python scripts/test.py [--fast] [pytest's own options but -m]

Most tests run side by side, each file in one of a few processes. After them, one by one, come those on the embedded model,
which takes every core, and those marked `alone`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTHING_SELECTED = 5  # pytest's exit code
# What pytest cannot stop, code that never gives the interpreter back, has its process ended after this many seconds. They are
# more than the longest timeout of a test in that part.
SECONDS_OF_A_TEST = {"side by side": 700, "one by one": 1000}
SECONDS_TO_END = 60


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(part: str, selection: str, options: list[str]) -> tuple[int, Counter[str]]:
    """One part of the tests: pytest's exit code, and how many passed, failed, were skipped and so on."""
    command = [sys.executable, "-m", "pytest", "-m", selection, "-r", "fEs"]
    command += ["-o", f"faulthandler_timeout={SECONDS_OF_A_TEST[part]}", "-o", "faulthandler_exit_on_timeout=true"]
    # The tests start hundreds of processes, and each would compile all of Toolhand anew.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        environment["TOOLHAND_TEST_COUNTS"] = str(counts)
        with subprocess.Popen([*command, *options], cwd=ROOT, env=environment) as process:
            while process.poll() is None and not counts.exists():
                time.sleep(0.2)
            try:
                code = process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                print(f"the tests were through and their process did not end within {SECONDS_TO_END} s")
                code = 1
        found: dict[str, int] = json.loads(counts.read_text(encoding="utf-8")) if counts.exists() else {}
    return code, Counter(found)


def pulled() -> int:
    """The exit code of fetching the small embedded model."""
    command = [sys.executable, "-m", "toolhand.cli", "models", "pull", "local:small"]
    code = subprocess.run(command, check=False, cwd=ROOT).returncode
    if code:
        print("make test failed: the small embedded model could not be fetched (see above); `make test-fast` needs none")
    return code


def main(arguments: list[str]) -> int:
    """All tests, or with --fast those that need no model and little time."""
    started = time.monotonic()
    is_fast = "--fast" in arguments
    arguments = [argument for argument in arguments if argument != "--fast"]
    if not is_fast and (code := pulled()):
        return code
    workers = min(max(cores(), 2), 4)
    parts = [
        ("side by side", "not model and not alone", ["-n", str(workers), "--dist", "loadfile"]),
        ("one by one", "alone and not model" if is_fast else "alone or model", []),
    ]
    counts: Counter[str] = Counter()
    codes, seconds = [], []
    for number, (part, selection, options) in enumerate(parts, 1):
        print(f"[{number}/{len(parts)}] {part}", flush=True)
        begun = time.monotonic()
        chosen = f"({selection}) and not slow" if is_fast else selection
        code, found = run(part, chosen, [*options, *arguments])
        counts += found
        codes.append(code)
        seconds.append(f"{part} {time.monotonic() - begun:.0f}")
        if code not in {0, 1, NOTHING_SELECTED} or (code == 1 and "-x" in arguments):
            break
    is_good = all(code in {0, NOTHING_SELECTED} for code in codes) and 0 in codes
    told = ", ".join(f"{count:,} {word}" for word, count in counts.items()) or "no test was run"
    name = f"make test{'-fast' if is_fast else ''} {'passed' if is_good else 'failed'}"
    print(f"{name}: {told}; {time.monotonic() - started:.0f} s ({', '.join(seconds)})", flush=True)
    return 0 if is_good else max(*codes, 1)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("make test was stopped")
        sys.exit(130)
