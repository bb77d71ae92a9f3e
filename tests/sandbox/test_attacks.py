"""Programs that try to get out, to look around, or to take more than they may. None of them does, in any sandbox."""

from __future__ import annotations

import json
import os
import secrets
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolhand import Tool
from toolhand.sandbox import Limits

CASES: list[dict[str, str]] = json.loads(
    (Path(__file__).parents[1] / "cases" / "sandbox" / "attacks.json").read_text(encoding="utf-8")
)
KINDS = list(dict.fromkeys(case["kind"] for case in CASES))
HOST_TOKEN = "CANARY-HOST-" + secrets.token_hex(8)
MOST_KB = 64
JAILS = True


class Surroundings:
    """What an attack is after, and whether it got it."""

    def __init__(self, folder: Path) -> None:
        self.token = "CANARY-" + secrets.token_hex(8)
        self.secret = folder / "secret.txt"
        self.secret.write_text(self.token, encoding="ascii")
        self.secret.chmod(0o644)
        self.drop = folder / "drop"
        self.drop.mkdir()
        self.drop.chmod(0o777)
        os.environ["CANARY_KEY"] = self.token
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(str(folder / "s"))
        self.unix.listen()
        self.abstract = socket.socket(socket.AF_UNIX)
        self.name = "canary" + secrets.token_hex(6)
        self.abstract.bind("\0" + self.name)
        self.abstract.listen()
        self.victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        self.seen = self._looks()
        self.called: list[str] = []
        self.state = {"role": "user", "list": [1, 2]}

    def filled(self, code: str) -> str:
        words = {
            "SECRET": self.secret,
            "DROP": self.drop,
            "PORT": self.tcp.getsockname()[1],
            "UNIX": self.secret.parent / "s",
            "ABSTRACT": self.name,
            "HOST": os.getpid(),
            "VICTIM": self.victim.pid,
        }
        for word, value in words.items():
            code = code.replace(f"@{word}@", str(value))
        return code

    def _looks(self) -> tuple[Any, ...]:
        state = self.secret.stat()
        names = os.listxattr(self.secret)
        return (state.st_mode, state.st_mtime, state.st_uid, state.st_nlink, names, self.secret.read_text())

    def harmed(self) -> list[str]:
        """What the attacks have done so far."""
        found = [] if self._looks() == self.seen else ["the secret was changed"]
        found += [f"dropped {path.name}" for path in self.drop.iterdir()]
        for listener in (self.tcp, self.unix, self.abstract):
            listener.setblocking(False)
            try:
                listener.accept()
                found.append("connected")
            except BlockingIOError:
                pass
        if (
            self.victim.poll() is not None
            or Path(f"/proc/{self.victim.pid}/stat").read_text().split()[2] in "Tt"
        ):
            found.append("the victim was hit")
        if "wipe" in self.called:
            found.append("a tool ran that was not given")
        if self.state != {"role": "user", "list": [1, 2]}:
            found.append("the host's values were changed")
        return found

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        for one in (self.tcp, self.unix, self.abstract):
            one.close()
        del os.environ["CANARY_KEY"]


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surroundings]:
    folder = tmp_path_factory.mktemp("around")
    for above in (folder, *list(folder.parents)[:2]):
        if above.stat().st_uid == os.getuid():  # nothing but the sandbox keeps anybody out
            above.chmod(above.stat().st_mode | stat.S_IXOTH)
    made = Surroundings(folder)
    yield made
    made.close()


def tools(around: Surroundings) -> list[Tool]:
    def made(name: str, function: Any, *parameters: str) -> Tool:
        schema = {
            "type": "object",
            "properties": {key: {} for key in parameters},
            "required": list(parameters),
        }

        def noted(**arguments: Any) -> Any:
            around.called.append(name)
            assert_plain(arguments)
            return function(**arguments)

        return Tool(name=name, description=name, parameters=schema, function=noted)

    def leak(text: str) -> None:
        raise RuntimeError(f"{around.token} in {around.secret}: {text}")

    return [
        made("echo", lambda text: text, "text"),
        made("lookup", lambda: around.state),
        made("leak", leak, "text"),
    ]


def assert_plain(value: Any) -> None:
    if type(value) in {list, tuple, dict}:
        for item in value.values() if type(value) is dict else value:
            assert_plain(item)
    else:
        assert type(value) in {str, int, float, bool, type(None)}, type(value)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
def test_no_attack_gets_through(kind: str, run: Any, sandbox: str, around: Surroundings) -> None:
    run("print(1)")
    for case in (case for case in CASES if case["kind"] == kind):
        stopped = case["must"] == "stopped"
        limits = Limits(seconds=0.2 if stopped else 2, memory_mb=128, output_kb=MOST_KB)
        began, busy = time.monotonic(), time.process_time()
        outcome = run(around.filled(case["code"]), tools(around), limits=limits)
        told = f"{sandbox}: {case['code']}\n{outcome.output[:500]}\n{outcome.error}"
        assert not around.harmed(), (around.harmed(), told)
        whole = outcome.output + json.dumps(outcome.value) + str(outcome.error) + repr(outcome.files)
        assert "CANARY" not in whole, told
        assert len(outcome.output) <= MOST_KB * 1024 + 100, told
        assert len(str(outcome.error)) < 10_000, told
        assert sum(map(len, outcome.files.values())) <= 8 * 2**20, told
        assert case["must"] == "held" or outcome.error is not None, told
        assert time.monotonic() - began < 15, told
        assert time.process_time() - busy < 3, told  # the host has other things to do
    calls = len(around.called)
    assert run("print(echo(text='well'))", tools(around)).output == "well\n"
    assert len(around.called) == calls + 1


def test_what_an_attack_starts_does_not_outlive_it(run: Any, around: Surroundings) -> None:
    before = threading.active_count()
    run(
        "import threading, time\nfor _ in range(20):\n    threading.Thread(target=time.sleep, args=(60,)).start()"
    )
    assert threading.active_count() <= before + 2
    assert not around.harmed()
