"""Runs tests/clients with every client that they know, in an environment of its own (`.venv-clients`), made when it is needed.

    python scripts/clients.py [pytest's own options]
    python scripts/clients.py --model local [pytest's own options, such as -k anthropic]

Without `--model` the gateway stands in front of a scripted server. With it, in front of that model, such as the embedded one:
each client completes a task of two steps, whole and streamed, and nothing is scripted. The gateway then runs in this Python,
which needs what the model needs; the clients run in theirs.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".venv-clients"
PACKAGES = [
    "pytest", "pytest-asyncio", "pytest-timeout", "openai", "anthropic", "pydantic-ai-slim[openai,anthropic]", "openai-agents",
    "langchain-openai", "smolagents[openai]", "schemathesis", "hypothesis",
]  # fmt: skip
AT = "TOOLHAND_CLIENTS_AT"
SECONDS_TO_START = 300


def installed() -> Path | None:
    """The clients' Python; None where they cannot be installed."""
    python = FOLDER / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    ready = FOLDER / ".ready"
    if not ready.exists():
        print("installing the clients …", flush=True)
        venv.create(FOLDER, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "-e", f"{ROOT}[server]", *PACKAGES]
        if subprocess.run(install, check=False).returncode:
            return None
        ready.touch()
    return python


@contextmanager
def serving(model: str) -> Iterator[str]:
    """A gateway in front of a model while the block runs; gives its address."""
    command = [sys.executable, "-m", "toolhand.cli", "serve", "--port", "0", "--no-page", "-m", f"m={model}"]
    with tempfile.TemporaryFile("w+") as said, subprocess.Popen(command, stderr=said, cwd=ROOT) as process:
        try:
            deadline = time.monotonic() + SECONDS_TO_START
            address = None
            while address is None:
                said.seek(0)
                text = said.read()
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"the gateway did not start: {text.strip()}")
                address = re.search(r"http://[\w.]+:\d+", text)
                time.sleep(0.1)
            yield address[0]
        finally:
            process.terminate()


def main() -> int:
    """Installs what is missing and runs the tests."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    given, more = parser.parse_known_args()
    python = installed()
    if python is None:
        return 1
    # Rewriting the assertions of one client's own plugin ends the interpreter of Python 3.11.
    # What a client leaves open is not ours to mend.
    options = ["--assert=plain", "-p", "no:schemathesis", "-p", "no:unraisableexception", *more]
    if given.model is None:
        command = [str(python), "-m", "pytest", "tests/clients", "-m", "not model", *options]
        return subprocess.run(command, check=False, cwd=ROOT).returncode
    with serving(given.model) as address:
        command = [str(python), "-m", "pytest", "tests/clients/test_shop.py", "-v", *options]
        return subprocess.run(command, check=False, cwd=ROOT, env={**os.environ, AT: address}).returncode


if __name__ == "__main__":
    sys.exit(main())
