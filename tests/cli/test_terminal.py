"""The command at a terminal, at closed and full streams, and at a person who does not wait."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolhand.cli import terminal
from toolhand.cli.terminal import prepare_streams

from .test_cli import Server, model, toolhand  # noqa: F401 - the fixture

FULL = Path("/dev/full")
pty = pytest.importorskip("pty", reason="terminals as on POSIX")

ORDERS = '''
from toolhand import tool

@tool(effect="destroys", approval=True)
def drop_order(number: int) -> str:
    """Drops an order.

    Args:
        number: its number.
    """
    return f"order {number} is gone"
'''


class TwoCalls(Server):
    """Asks for two calls in one reply, then says what came of them."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        calls = [
            {
                "index": n, "id": f"c{n}", "type": "function",
                "function": {"name": "drop_order", "arguments": json.dumps({"number": n})},
            }
            for n in (1, 2)
        ]  # fmt: skip
        delta = {"content": "; ".join(results)} if results else {"tool_calls": calls}
        piece = {"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n".encode())


@pytest.fixture
def orders(tmp_path, monkeypatch):
    monkeypatch.setattr(Server, "do_POST", TwoCalls.do_POST)
    (tmp_path / "orders.py").write_text(ORDERS)
    return str(tmp_path / "orders.py")


class Terminal:
    """The command at a terminal of its own: what is typed into it, what stands on it."""

    def __init__(self, *words):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "toolhand.cli", *words],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env={**os.environ, "TOOLHAND_LANG": "en", "COLUMNS": "200", "TERM": "dumb"},
        )  # fmt: skip
        os.close(slave)
        self.seen = ""

    def wait_for(self, words, seconds=30):
        end = time.monotonic() + seconds
        while words not in self.seen:
            assert time.monotonic() < end, self.seen
            if not self.read():
                break
        assert words in self.seen, self.seen

    def read(self):
        try:
            piece = os.read(self.master, 4096).decode("utf-8", "replace")
        except OSError:  # the command is done and has closed the terminal
            return False
        self.seen += piece
        return bool(piece)

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        while self.read():
            pass
        code = self.process.wait(30)
        os.close(self.master)
        return code


def test_two_calls_at_once_are_asked_about_one_after_the_other(model, orders):  # noqa: F811
    shown = Terminal("run", "drop 1 and 2", "-m", model, "-t", orders)
    shown.wait_for("[y/N]: ")
    time.sleep(0.3)  # the second question would come now
    assert shown.seen.count("[y/N]") == 1
    shown.type("maybe\n")
    shown.wait_for("Please answer y or n.")
    first = re.search(r'Run drop_order\(\{"number": (\d)\}\)', shown.seen)[1]
    shown.type("y\n")
    shown.wait_for(f'Run drop_order({{"number": {3 - int(first)}}})')
    assert f"order {first} is gone" not in shown.seen.split("[y/N]: ")[-1]
    shown.type("\n")
    code = shown.end()
    assert code == 0, shown.seen
    assert f"order {first} is gone" in shown.seen
    assert f"order {3 - int(first)} is gone" not in shown.seen


@pytest.mark.parametrize("typed", ["y\ny\n", "\x04\x04", "y\n\x04"])
def test_answers_that_are_typed_ahead_and_the_end_of_the_input(model, orders, typed):  # noqa: F811
    shown = Terminal("run", "drop 1 and 2", "-m", model, "-t", orders)
    shown.wait_for("[y/N]: ")
    shown.type(typed)
    assert shown.end() == 0, shown.seen
    assert len(set(re.findall(r"order \d is gone", shown.seen))) == typed.count("y")


def test_ctrl_c_at_a_question_ends_the_command_at_once(model, orders):  # noqa: F811
    shown = Terminal("run", "drop 1 and 2", "-m", model, "-t", orders)
    shown.wait_for("[y/N]: ")
    begun = time.monotonic()
    os.killpg(shown.process.pid, signal.SIGINT)
    assert shown.end() == 130, shown.seen
    assert time.monotonic() - begun < 10
    assert "stopped" in shown.seen
    assert "Traceback" not in shown.seen
    assert "is gone" not in shown.seen


def test_without_a_terminal_the_call_waits_and_the_person_is_told(model, orders):  # noqa: F811
    done = toolhand("run", "drop 1 and 2", "-m", model, "-t", orders)
    assert done.returncode == 3
    assert "approval" in done.stderr
    assert "drop_order" in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", [("tools", "list"), ("--version",), ("--help",)])
def test_a_full_disk_is_one_sentence(words):
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "toolhand.cli", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "TOOLHAND_LANG": "en"},
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error: the output could not be written: No space left on device\n"


def shell(script):
    return subprocess.run(
        ["bash", "-c", script.replace("toolhand", f"{sys.executable} -m toolhand.cli", 1)],
        text=True, capture_output=True, check=False, env={**os.environ, "TOOLHAND_LANG": "en"},
    )  # fmt: skip


def test_a_reader_that_has_gone_is_no_fault():
    done = shell("toolhand tools show calculate | true")
    assert done.stderr == ""
    done = shell("toolhand tools list | head -1")
    assert done.stdout.startswith("calculate")
    assert done.stderr == ""


@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(model, closing):  # noqa: F811
    done = shell(f"toolhand run 'six times seven' -m '{model}' {closing}")
    assert done.returncode == 0, done
    assert "Traceback" not in done.stderr
    done = shell(f"toolhand run - -m '{model}' {closing}")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_words_that_are_no_text_are_refused(model):  # noqa: F811
    done = shell(f"toolhand run $'\\xff\\xfe' -m '{model}'")
    assert done.returncode == 2
    assert "the question is not in the terminal's encoding" in done.stderr
    done = shell(f"printf '\\xef\\xbb\\xbfsix times seven\\r\\n' | toolhand run - -m '{model}'")
    assert "42" in done.stdout


def test_a_console_that_knows_only_gbk(model):  # noqa: F811
    environment = {"PYTHONIOENCODING": "gbk", "PYTHONUTF8": "0", "TOOLHAND_LANG": "zh"}
    done = subprocess.run(
        [sys.executable, "-m", "toolhand.cli", "run", "六乘七等于几？", "-m", model],
        capture_output=True, stdin=subprocess.DEVNULL, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "42" in done.stdout.decode("gbk")
    assert "calculate" in done.stderr.decode("gbk")
    assert b"\xe2\x86\x92" not in done.stderr  # no UTF-8 in it


def test_a_terminal_that_lacks_a_character_shows_a_question_mark(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    prepare_streams()
    sys.stdout.write("→ 天气\n")
    sys.stdout.flush()
    assert stream.buffer.getvalue() == b"? ??\n"


@pytest.mark.parametrize("delay", [0.02, 0.05, 0.1, 0.2, 0.4])
def test_ctrl_c_while_the_command_is_being_loaded_is_no_traceback(model, delay):  # noqa: F811
    code = (
        "import os, signal, sys, threading\n"
        "from toolhand.cli import main\n"
        f"threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        f"sys.argv = ['toolhand', 'run', 'six times seven', '-m', {model!r}]\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, "TOOLHAND_LANG": "en"},
    )  # fmt: skip
    assert done.returncode in (0, 130, -signal.SIGINT), done
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode == 130:
        assert done.stderr.endswith("stopped\n")


def test_a_fault_of_our_own_is_one_sentence_with_a_way_to_see_more(monkeypatch, capsys):
    from toolhand.cli import app, tools  # noqa: PLC0415

    def fail(*_, **__):
        raise LookupError("something\nwithin")

    monkeypatch.setattr(tools, "load_tools", fail)
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    assert app.run_app(["tools", "list"]) == 70
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "LookupError: something within" in said
    assert "test_terminal.py" in said
    monkeypatch.setenv(app.TRACEBACK, "1")
    app.run_app(["tools", "list"])
    assert "Traceback" in capsys.readouterr().err


def test_what_the_system_refuses_is_said_with_its_place():
    error = FileNotFoundError(2, "No such file or directory", "/nothing/such")
    assert "/nothing/such: No such file" in terminal.cannot_write(error)
