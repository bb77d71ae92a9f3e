"""What is left when a program is over, or when the host is killed in the midst of one: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.places import PLACES, place
from toolhand.execution.workers.linux import descendants
from toolhand.jails.ring import Ring, is_over
from toolhand.sandbox import Limits

JAILS = True
HOST = """
import sys, threading
from tests.sandbox.places import place
from toolhand.sandbox import Limits, running

backend = place(sys.argv[1])
found = running.plugins.member
running.plugins.member = lambda group, name, what: backend if group == "sandbox.backends" else found(group, name, what)
program = "print('on')\\n" + sys.argv[2]
threading.Thread(target=lambda: running.run_code(program, backend="process", limits=Limits(seconds=5)), daemon=True).start()
"""
WAIT = """
import time
time.sleep(600)
"""
END = """
running.run_code("print(1)", backend="process")
"""


def alive(pids: list[int]) -> list[int]:
    found = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            found.append(pid)
    return found


def gone(pids: list[int], seconds: float = 60) -> bool:
    until = time.monotonic() + seconds
    while alive(pids) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(pids)


def host(name: str, program: str, then: str, **environment: str) -> subprocess.Popen[bytes]:
    place(name)
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "src")])
    code = textwrap.dedent(HOST + then)
    return subprocess.Popen(
        [sys.executable, "-c", code, name, program], env={**os.environ, "PYTHONPATH": path, **environment}
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize(
    "program", ["while True: pass", "import os, time\nopen('a.txt', 'w').write('x')\ntime.sleep(60)"]
)
def test_a_host_that_is_killed_takes_everything_along(name: str, program: str, tmp_path: Path) -> None:
    killed = host(name, program, WAIT, TMPDIR=str(tmp_path))
    below: list[int] = []
    until = time.monotonic() + 60
    while time.monotonic() < until:
        now = descendants([killed.pid])[1:]
        if len(now) >= 2 and now == below:
            break
        below = now
        time.sleep(0.3)
    assert below
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert gone(below), [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in alive(below)]
    until = time.monotonic() + 30
    while list(tmp_path.glob("toolhand-sandbox-*")) and time.monotonic() < until:
        time.sleep(0.02)
    assert not list(tmp_path.glob("toolhand-sandbox-*"))


BUSY = """
import sys
from toolhand.jails.processes import Zygote
zygote = Zygote(sys.argv[1])
print("made", zygote.child(memory_mb=64, seconds=5).process, flush=True)
while True:
    zygote.child(memory_mb=64, seconds=5).close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["namespaces", "landlock"])
def test_a_host_that_is_killed_while_it_makes_processes_leaves_none(name: str, tmp_path: Path) -> None:
    place(name)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
        "TMPDIR": str(tmp_path),
    }
    words = [sys.executable, "-c", BUSY, name]
    hosts = [subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) for _ in range(4)]
    for killed in hosts:
        assert killed.stdout is not None
        assert killed.stdout.readline().startswith(b"made")
        below = descendants([killed.pid])[1:]
        assert below
        killed.kill()
        killed.communicate()
        assert gone(below)
    until = time.monotonic() + 30
    while list(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", PLACES)
def test_a_host_that_ends_leaves_nothing(name: str, tmp_path: Path) -> None:
    ended = host(name, "while True: pass", END)
    below: set[int] = set()
    while ended.poll() is None:
        below |= set(descendants([ended.pid])[1:])
        time.sleep(0.02)
    assert ended.returncode == 0
    assert gone(list(below))


@pytest.mark.parametrize("seconds", [0.2, 0.5])
def test_a_program_is_ended_at_its_limit(seconds: float, run: Any) -> None:
    run("1")  # what takes a while to start has started
    over = []
    for _ in range(5):
        outcome = run("while True:\n    pass", limits=Limits(seconds=seconds))
        assert outcome.error.kind == "time"
        over.append(outcome.seconds - seconds)
    assert min(over) < 0.15  # the best of several: another program may have had the processor


DEEP = "import os\nopen('a.txt', 'w').write('x')\nos.mkdir('closed', 0)\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\n"


def test_no_folder_is_left(run: Any, sandbox: str) -> None:
    if sandbox != "monty":  # which has no files
        assert run("open('a.txt', 'w').write('x')").ok
        run(DEEP)
        run(DEEP + "while True: pass")
    until = time.monotonic() + 20
    while list(Path(tempfile.gettempdir()).glob("toolhand-sandbox-*/w*/a.txt")) and time.monotonic() < until:
        time.sleep(0.01)
    assert not list(Path(tempfile.gettempdir()).glob("toolhand-sandbox-*/w*/a.txt"))


def test_what_was_killed_while_it_was_ready_is_not_taken() -> None:
    gone_already, dropped = {1, 2}, list[int]()
    made = iter(range(1, 100))
    ring: Ring[str, int] = Ring(lambda _: next(made), dropped.append, 0, is_gone=gone_already.__contains__)
    ring._key = "a"
    ring._ready.extend([1, 2, 3])
    assert ring.take("a") == 3
    ring._ready.extend([2, 1])
    assert ring.ready("a") is None


def test_a_process_that_has_ended_is_over() -> None:
    process = subprocess.Popen(["/bin/sleep", "600"])
    descriptor = os.pidfd_open(process.pid)
    assert not is_over(descriptor)
    process.kill()
    process.wait()
    assert is_over(descriptor)
    os.close(descriptor)


KEPT = """
import mmap, os, time
held = []
os.mkdir("closed", 0o300)
for number in range(8):
    {made}
    file.write(bytes(32 << 20))
    file.flush()
    {then}
time.sleep(1)
print("all of it")
"""


@pytest.mark.parametrize(
    ("made", "then"),
    [
        ("file = open('a', 'w+b'); os.unlink('a')", "held.append(file)"),
        ("file = os.fdopen(os.open('.', os.O_TMPFILE | os.O_RDWR), 'w+b')", "held.append(file)"),
        (
            "file = open('a', 'w+b'); os.unlink('a')",
            "held.append(mmap.mmap(file.fileno(), 4096)); file.close()",
        ),
        ("file = open('closed/%d' % number, 'wb')", "file.close()"),
    ],
    ids=["unlinked", "never named", "only mapped", "in a closed folder"],
)
def test_files_that_cannot_be_seen_count_too(made: str, then: str, run: Any, sandbox: str) -> None:
    if sandbox == "monty":
        pytest.skip("it has no files")
    outcome = run(KEPT.format(made=made, then=then), limits=Limits(seconds=60))
    assert outcome.error is not None
    assert "all of it" not in outcome.output


FORKED = """
pid = None
def ask(number):
    outcome = running.run_code(f"print({number})", backend="process", limits=Limits(seconds=20))
    assert outcome.output == f"{number}\\n", outcome
ask(1)
import os, time
time.sleep(0.5)
pid = os.fork()
if pid == 0:
    try:
        from toolhand.execution import running as sync
        sync._LOOP = sync._Loop()
        for number in range(10, 14):
            ask(number)
        os._exit(0)
    finally:
        os._exit(1)
for number in range(2, 6):
    ask(number)
assert os.waitpid(pid, 0)[1] == 0
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["namespaces", "landlock"])
def test_a_forked_host_does_not_take_its_parents_processes(name: str) -> None:
    assert host(name, "pass", FORKED).wait() == 0
