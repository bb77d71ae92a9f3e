"""Runs tests/clients with every client that they know, in an environment of its own (`.venv-clients`), made when it is needed."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".venv-clients"
PACKAGES = [
    "pytest", "pytest-asyncio", "pytest-timeout", "openai", "anthropic", "pydantic-ai-slim[openai,anthropic]", "openai-agents",
    "langchain-openai", "smolagents[openai]", "schemathesis", "hypothesis",
]  # fmt: skip


def main() -> int:
    """Installs what is missing and runs the tests; further words go to pytest."""
    python = FOLDER / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    ready = FOLDER / ".ready"
    if not ready.exists():
        print("installing the clients …", flush=True)
        venv.create(FOLDER, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "-e", f"{ROOT}[server]", *PACKAGES]
        if code := subprocess.run(install, check=False).returncode:
            return code
        ready.touch()
    # Rewriting the assertions of one client's own plugin ends the interpreter of Python 3.11.
    options = ["-m", "not model", "--assert=plain", "-p", "no:schemathesis"]
    command = [str(python), "-m", "pytest", "tests/clients", *options, *sys.argv[1:]]
    return subprocess.run(command, check=False, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
