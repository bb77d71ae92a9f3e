"""`toolhand chat` and `toolhand sessions` as a person uses them: piped, and at a real terminal (a pty)."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from toolhand.cli.again import words_given

TOOLS = '''
import os, time
from toolhand import tool

@tool(effect="writes")
def order(item: str) -> str:
    """Orders an item.

    Args:
        item: what to order.
    """
    with open(os.environ["ORDERS"], "a") as file:
        file.write(item + "\\n")
        file.flush()
    time.sleep(float(os.environ.get("ORDER_SECONDS", "0")))
    return f"ordered {item}"

@tool(permission="books:read")
def audit(year: int) -> str:
    """Audits a year.

    Args:
        year: which.
    """
    return f"all is well in {year}: " + "x" * 3_000

@tool(effect="writes", approval=True)
def pay(amount: int) -> str:
    """Pays an amount.

    Args:
        amount: in yuan.
    """
    return f"paid {amount}"
'''


class Server(BaseHTTPRequestHandler):
    """Plays a model whose reply says how many users' messages it was shown; some words make it call, or slow."""

    def do_POST(self):
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        last = messages[-1]
        said = [m["content"] for m in messages if m["role"] == "user"]
        if last["role"] == "tool":
            text = f"The tool says: {last['content']}"
        elif "order" in last["content"]:
            text = '```json\n{"name": "order", "arguments": {"item": "tea"}}\n```'
        elif "pay" in last["content"]:
            text = '```json\n{"name": "pay", "arguments": {"amount": 5}}\n```'
        elif "audit" in last["content"]:
            text = '```json\n{"name": "audit", "arguments": {"year": 2025}}\n```'
        elif "slow" in last["content"]:
            text = "slowly " * 200
        else:
            text = f"message {len(said)}: {said[-1]}"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for word in re.split(r"(?<= )", text):
                piece = {"choices": [{"index": 0, "delta": {"content": word}}]}
                self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
                self.wfile.flush()
                time.sleep(0.1 if "slowly" in word else 0)
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
            self.wfile.write(f"data: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())
        except OSError:
            return  # the reply is not wanted any more

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def model():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1#small"
    server.shutdown()
    server.server_close()


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "shop.py").write_text(TOOLS)
    monkeypatch.setenv("TOOLHAND_STORE", str(tmp_path / "s.db"))
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("ORDERS", str(tmp_path / "orders"))
    monkeypatch.delenv("TOOLHAND_MODEL", raising=False)
    return tmp_path


def toolhand(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolhand.cli", *words],
        input=typed,
        text=True,
        encoding="utf-8",
        capture_output=True,
        check=False,
        timeout=90,
    )


def test_each_line_is_a_message_and_the_next_start_goes_on(model, place):
    first = toolhand("chat", "-m", model, "--session", "alice", typed="你好\nand you\\\nthere?\n")
    assert first.returncode == 0, first.stderr
    assert "message 1: 你好" in first.stdout
    assert "message 2: and you\nthere?" in first.stdout
    again = toolhand("chat", "-m", model, "--continue", typed='"""\nthree\nlines\n"""\n')
    assert "message 3: three\nlines" in again.stdout


def test_commands(model, place):
    typed = "one\ntwo\n/undo\n/undoo\n /undo is a message\n/etc/hosts is one too\n/tools\n/save out.json\n/save out.json\n/help\n/quit\nnever\n"
    out = place / "out.json"
    done = toolhand("chat", "-m", model, "-s", "a", typed=typed.replace("out.json", str(out)))
    assert done.returncode == 0
    assert "taken back: two" in done.stderr
    assert "there is no command /undoo; did you mean /undo?" in done.stderr
    assert "calculate" in done.stderr
    assert "is there already" in done.stderr
    said = [m["content"] for m in json.loads(out.read_text(encoding="utf-8")) if m["role"] == "user"]
    assert said == ["one", "/undo is a message", "/etc/hosts is one too"]
    assert "never" not in done.stdout


def test_an_error_ends_the_turn_and_not_the_conversation(model, place):
    done = toolhand(
        "chat", "-m", "http://127.0.0.1:9/v1#none", "-s", "a", typed=f"lost\n/model {model}\nfound\n"
    )
    assert done.returncode == 0, done.stderr
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr
    assert "found" in done.stdout


def test_another_users_session_is_refused(model, place):
    toolhand("chat", "-m", model, "-s", "a", "--user", "alice", typed="secret\n")
    done = toolhand("chat", "-m", model, "-s", "a", "--user", "bob", typed="hi\n")
    assert done.returncode == 1
    assert "another user" in done.stderr
    assert "secret" not in done.stdout + done.stderr


def test_sessions_are_listed_shown_searched_exported_and_removed(model, place, here):
    toolhand("chat", "-m", model, "-s", "茶", "-t", str(place / "shop.py"), typed="please order tea\n")
    toolhand("chat", "-m", model, "-s", "b", "--user", "bob", typed="hello\n")
    listed = toolhand("sessions", "list", "--json").stdout.splitlines()
    assert {json.loads(line)["id"] for line in listed} == {"茶", "b"}
    assert "茶" not in here("sessions", "list", "--user", "bob").stdout
    assert "→ order" in here("sessions", "show", "茶").stdout
    found = here("sessions", "search", "order tea")
    assert found.returncode == 0
    assert "茶" in found.stdout
    assert here("sessions", "search", "coffee").returncode == 1
    roles = [
        json.loads(x)["role"] for x in here("sessions", "export", "茶", "--as", "openai").stdout.splitlines()
    ]
    assert roles == ["user", "assistant", "tool", "assistant"]
    audit = here("sessions", "audit", "--tool", "order", "--as", "csv")
    assert (audit.returncode, audit.stderr) == (0, "")
    rows = list(csv.DictReader(audit.stdout.splitlines()))
    assert [(row["tool"], row["outcome"], row["session_id"]) for row in rows] == [("order", "ok", "茶")]
    assert toolhand("sessions", "rm", "茶").returncode == 1  # nobody is there to be asked
    assert toolhand("sessions", "rm", "茶", "-y").returncode == 0
    gone = toolhand("sessions", "show", "茶")
    assert gone.returncode == 1
    assert "there is no session '茶'" in gone.stderr
    assert "order" in here("sessions", "audit").stdout  # what was done stays known


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("audit", "--since", "yesterdayish"), "--since is no time"),
        (("audit", "--as", "xml"), "there is no form 'xml'"),
        (("list", "--store", " "), "--store is empty"),
        (("list", "--store", "mysql://x"), "there is no store 'mysql://"),
        (("export", "nobody"), "there is no session 'nobody'"),
        (("undo", "nobody"), "there is no session 'nobody'"),
    ],
)
def test_mistakes_get_a_sentence(place, here, words, sentence):
    done = here("sessions", *words)
    assert done.returncode in (1, 2)
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


class Terminal:
    """A chat at a real terminal."""

    def __init__(self, *words: str, **environment: str) -> None:
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.environ.update(environment, TERM="xterm")
            os.execv(sys.executable, [sys.executable, "-m", "toolhand.cli", "chat", *words])
        self.seen, self._read_up_to = "", 0

    def until(self, words: str, seconds: float = 60.0) -> str:
        """What is shown next, up to these words."""
        end, start = time.monotonic() + seconds, self._read_up_to
        while (place := self.seen.find(words, start)) < 0:
            assert time.monotonic() < end, f"{words!r} is not in {self.seen[start:]!r}"
            if select.select([self.descriptor], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.descriptor, 4096).decode("utf-8", "replace")
                    self.seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.seen)
                except OSError as gone:
                    raise AssertionError(f"{words!r} is not in {self.seen[start:]!r}") from gone
        self._read_up_to = place + len(words)
        return self.seen[start : self._read_up_to]

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def interrupt_until(self, words: str) -> None:
        """Ctrl-C at a prompt, until this is shown.

        Python hears one that comes in the instant between its prompt and its wait for a key only with the next key: as one of both.
        """
        for _ in range(5):
            self.type("\x03")
            with suppress(AssertionError):
                self.until(words, 4)
                return
        self.until(words, 1)

    def end(self) -> int:
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.descriptor)
        return code


def test_ctrl_c_stops_the_answer_and_a_second_at_the_prompt_leaves(model, place):
    chat = Terminal("-m", model, "-s", "a")
    chat.until("> ")
    chat.type("be slow\n")
    chat.until("slowly slowly")
    chat.type("\x03")
    chat.until("stopped")
    chat.until("> ")
    chat.type("你好，还在吗\n")
    chat.until("message 2: 你好，还在吗")
    chat.until("> ")
    chat.interrupt_until("again")
    chat.until("> ")
    chat.interrupt_until("kept as 'a'")
    assert chat.end() == 0


def test_approval_is_asked_inline_and_lines_are_remembered(model, place):
    chat = Terminal("-m", model, "-s", "a", "-t", str(place / "shop.py"))
    chat.until("> ")
    chat.type("please pay\n")
    chat.until("[y/N]")
    chat.type("y\n")
    chat.until("The tool says: paid 5")
    chat.until("> ")
    chat.type("\x04")
    chat.until("kept as")
    assert chat.end() == 0
    kept = place / "data" / "toolhand" / "chat-history"
    if not kept.exists():
        pytest.skip("this Python has no readline")
    assert "please pay" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


def test_killed_while_a_tool_writes_it_says_so_and_does_not_write_again(model, place):
    orders = Path(os.environ["ORDERS"])
    words = ("-m", model, "-s", "a", "-t", str(place / "shop.py"))
    chat = Terminal(*words, ORDER_SECONDS="60")
    chat.until("> ")
    chat.type("please order\n")
    chat.until("→ order")
    end = time.monotonic() + 30
    while not orders.exists() and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(chat.pid, signal.SIGKILL)
    assert chat.end() == -signal.SIGKILL
    again = toolhand("chat", *words, typed="")
    assert again.returncode == 0, again.stderr
    assert "did not come to its end" in again.stderr
    assert "may or may not" in again.stdout + again.stderr
    assert orders.read_text() == "tea\n"


def test_the_command_that_goes_on_works_when_it_is_copied(model, place):
    words = ("-m", model, "-s", "my talk", "--user", "alice", "--store", str(place / "own.db"))
    first = toolhand("chat", *words, "-t", str(place / "shop.py"), typed="hello\n")
    command = shlex.split(re.search(r"`toolhand (chat .*)` goes on", first.stderr)[1])
    again = toolhand(*command, typed="and now\n")
    assert again.returncode == 0, again.stderr
    assert "message 2: and now" in again.stdout
    assert {"--tools", "--user", "--store"} <= set(command)


def test_a_piped_chat_says_its_sessions_name_and_an_empty_one_keeps_none(model, place):
    name = re.search(r"kept as '(chat-.*?)'", toolhand("chat", "-m", model, typed="hi\n").stderr)
    assert name
    assert name[1] in toolhand("sessions", "list").stdout
    assert "kept as" not in toolhand("chat", "-m", model, typed="").stderr


def test_piped_input_stops_at_a_call_that_waits(model, place):
    words = ("-m", model, "-s", "nightly", "--user", "bob", "-t", str(place / "shop.py"))
    done = toolhand("chat", *words, typed="please pay\n\nnext\nlast\n")
    assert done.returncode == 3, done.stderr
    assert "2 more lines were not sent" in done.stderr
    assert "message 2" not in done.stdout
    command = shlex.split(re.search(r"`toolhand chat (.*)` in a terminal asks", done.stderr)[1])
    assert toolhand("chat", *command, typed="next\n").returncode == 3  # it waits still
    chat = Terminal(*command)
    chat.until("[y/N]")
    chat.type("y\n")
    chat.until("The tool says: paid 5")
    chat.until("> ")
    chat.type("\x04")
    chat.until("kept as")
    assert chat.end() == 0


def test_lines_that_are_still_to_come_are_not_waited_for(model, place):
    words = ("-m", model, "-s", "a", "-t", str(place / "shop.py"))
    chat = subprocess.Popen(
        [sys.executable, "-m", "toolhand.cli", "chat", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    chat.stdin.write(b"please pay\nnext\n")
    chat.stdin.flush()
    assert chat.wait(90) == 3  # the pipe is still open
    assert b"1 more line was not sent" in chat.stderr.read()
    chat.stdin.close()
    chat.stderr.close()


def test_a_password_is_not_in_the_command():
    given = words_given(
        {"--store": "postgresql://a:secret@host/db", "--user": "", "--permission": ["a", "b"]}
    )
    assert given == ("--store", "postgresql://a@host/db", "--permission", "a", "--permission", "b")


@pytest.mark.parametrize("command", ["run", "chat"])
def test_permissions_are_given_on_the_command_line(model, place, command):
    words = [command, "-m", model, "-t", str(place / "shop.py"), "--user", "alice"]
    words, typed = (words, "please audit\n") if command == "chat" else ([*words, "please audit"], "")
    refused = toolhand(*words, typed=typed)
    assert "--permission books:read gives it" in refused.stderr
    assert "all is well" not in refused.stdout
    done = toolhand(*words, "--permission", "other", "--permission", "books:read", typed=typed)
    assert "all is well in 2025" in done.stdout
    assert "--permission books:read gives it" not in done.stderr


def test_verbose_shows_a_part_of_a_long_result(model, place):
    words = [
        "run",
        "-v",
        "-m",
        model,
        "-t",
        str(place / "shop.py"),
        "--permission",
        "books:read",
        "please audit",
    ]
    line = next(line for line in toolhand(*words).stderr.splitlines() if line.startswith("←"))
    shown, _, rest = line.removeprefix("← ").partition("…")
    assert len(shown) == 2_000
    assert re.match(r" \(1,\d{3} more characters\)", rest), rest
