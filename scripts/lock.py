"""Resolves `requirements.lock` anew from pyproject.toml: every package pinned, with hashes, for no particular index."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

OPTIONS = [
    "pyproject.toml", "--extra", "local", "--extra", "redis", "--extra", "otel", "--extra", "plan", "--extra", "eval",
    "--extra", "postgres", "--extra", "durable", "--extra", "openapi", "--extra", "mcp", "--extra", "server",
    "--extra", "web", "--extra", "sandbox", "--extra", "sandbox-full", "--extra", "vectors", "--extra", "sql",
    "--extra", "docs-search", "--extra", "dev", "--generate-hashes", "--allow-unsafe", "--no-header", "--no-annotate",
    "--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links", "--no-emit-options", "--strip-extras",
    "--quiet", "--output-file", "requirements.lock",
]  # fmt: skip


def main() -> int:
    """Runs pip-tools from an environment of its own, so that it does not end up in the lock file."""
    with tempfile.TemporaryDirectory() as folder:
        print("resolving requirements.lock …", flush=True)
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        for command in (
            ["-m", "pip", "install", "--quiet", "pip-tools"],
            ["-m", "piptools", "compile", *OPTIONS, *sys.argv[1:]],
        ):
            code = subprocess.run([python, *command], check=False).returncode
            if code:
                return code
    print("requirements.lock is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
