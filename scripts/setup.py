"""Makes the virtual environment from the lock file. Runs on a bare CPython 3.11 or newer; needs no network the second time.

The wheels are kept in the user's cache directory, so that a second clone sets up without an index.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOCK = ROOT / "requirements.lock"


def wheels() -> Path:
    """Where wheels are kept between clones."""
    cache = os.environ.get("TOOLHAND_CACHE")
    if cache:
        return Path(cache) / "wheels"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "toolhand" / "wheels"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolhand" / "wheels"


def pip(*arguments: str, quiet: bool = True) -> int:
    """Runs pip in the new environment; its words are shown only when something goes wrong."""
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, check=False, text=True, capture_output=quiet, cwd=ROOT)
    if done.returncode and not quiet:
        print(f"pip failed: {' '.join(arguments)}")
    return done.returncode


def download(store: Path) -> int:
    """Fetches the packages of the lock file into the store, and counts them as they come."""
    wanted = sum(line[:1].isalnum() for line in LOCK.read_text(encoding="utf-8").splitlines())
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "download", "--require-hashes"]
    words: list[str] = []
    with subprocess.Popen(
        [*command, "-d", str(store), "-r", str(LOCK)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=ROOT,
    ) as running:
        found = 0
        for line in running.stdout or ():
            words.append(line)
            if line.startswith("Collecting "):
                found += 1
                if sys.stdout.isatty():
                    print(f"\r      {found} of at most {wanted} packages", end="", flush=True)
                elif found % 10 == 0:
                    print(f"      {found} of at most {wanted} packages", flush=True)
    if sys.stdout.isatty():
        print()
    if running.returncode:
        print("".join(words[-20:]), end="")
    return running.returncode


def step(number: int, text: str) -> None:
    """Says what is happening now."""
    print(f"[{number}/3] {text}", flush=True)


def main() -> int:
    """Environment, packages, Toolhand itself."""
    started = time.monotonic()
    if sys.version_info < (3, 11):
        print(
            f"Toolhand needs Python 3.11 or newer, and this is {sys.version.split()[0]}: set PYTHON=… in front of make"
        )
        return 1
    step(1, "making the virtual environment")
    venv.create(ENVIRONMENT, with_pip=True, clear=not (ENVIRONMENT / ".ready").exists())
    step(2, "installing the packages of requirements.lock (a minute or two the first time)")
    store = wheels()
    store.mkdir(parents=True, exist_ok=True)
    from_store = ("install", "--no-index", "--find-links", str(store), "--require-hashes", "-r", str(LOCK))
    if pip(*from_store) and (download(store) or pip(*from_store, "--quiet", quiet=False)):
        print("setup failed: the packages could not be installed; see pip's words above")
        return 1
    step(3, "installing Toolhand in place")
    if pip(
        "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "-e", str(ROOT), quiet=False
    ):
        print("setup failed: Toolhand itself could not be installed; see pip's words above")
        return 1
    (ENVIRONMENT / ".ready").touch()
    print(f"setup is complete ({time.monotonic() - started:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("setup stopped: run make again to go on")
        sys.exit(130)
