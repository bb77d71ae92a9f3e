"""`toolhand eval` as a person types it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli.test_cli import toolhand
from toolhand import Agent
from toolhand.cli.app import run_app
from toolhand.evals import read_suite
from toolhand.execution.running import run_blocking
from toolhand.load import load_tools

SHOP = Path(__file__).parents[1] / "cases" / "evals" / "shop.yaml"


class Server(BaseHTTPRequestHandler):
    """Plays a model that knows the price of tea and calls for everything else too."""

    slow = 0.0
    price = "3.5"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(self.slow)
        last = request["messages"][-1]
        asks = last["role"] == "user"
        call = {"name": "get_price", "arguments": '{"item": "tea"}'}
        message = {"role": "assistant", "content": None if asks else f"It costs {self.price}."}
        if asks:
            message["tool_calls"] = [{"id": "1", "type": "function", "function": call}]
        body = json.dumps(
            {"choices": [{"message": message}], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    kind = type("Its", (Server,), {})
    found = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield kind, f"http://127.0.0.1:{found.server_port}/v1#small"
    found.shutdown()
    found.server_close()


def test_run_record_replay_compare_and_judge(server, tmp_path):
    kind, model = server
    words = ("--model", model, "-p", "native", "--store", str(tmp_path / "e.db"))
    tape, html, junit = tmp_path / "t.jsonl", tmp_path / "out" / "r.html", tmp_path / "out" / "r.xml"
    first = toolhand(
        "eval", str(SHOP), *words, "--tag", "normal", "--tag", "chatter", "--record", str(tape),
        "--html", str(html), "--junit", str(junit), "--fail-under", "0.9",
    )  # fmt: skip
    assert first.returncode == 4, first.stderr
    assert "below 90 %" in first.stderr
    assert "✗ chat" in first.stdout
    assert html.read_text("utf-8").startswith("<!doctype html>")
    assert junit.read_text("utf-8").startswith("<?xml")
    kind.price = "9"  # a replay does not notice
    again = toolhand(
        "eval", "run", str(SHOP), *words, "--tag", "normal", "--tag", "chatter", "--replay", str(tape),
        "--compare", "last", "--max-drop", "0",
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert "+0.0" in again.stdout
    unproven = toolhand(
        "eval",
        "report",
        "last",
        "--store",
        str(tmp_path / "e.db"),
        "-c",
        "last",
        "--max-drop",
        "0.1",
        "--prove",
    )
    assert unproven.returncode == 4
    assert "not proven" in unproven.stderr
    changed = toolhand(
        "eval", str(SHOP), *words, "--case", "asks", "--replay", str(tape), "--fail-under", "0.1"
    )
    assert changed.returncode == 4
    assert "no record" in changed.stdout
    listed = toolhand("eval", "list", "--store", str(tmp_path / "e.db"))
    assert listed.stdout.count("shop") == 3


def test_a_failure_becomes_a_case(server, tmp_path):
    _, model = server
    store = ("--store", str(tmp_path / "e.db"))
    toolhand("eval", str(SHOP), "-m", model, "-p", "native", "--case", "chat", *store)
    out = tmp_path / "ours.yaml"
    added = toolhand("eval", "add", "last", "chat", "--to", str(out), *store)
    assert added.returncode == 0, added.stderr
    assert "unexpected call: get_price" in out.read_text("utf-8")
    done = toolhand("eval", str(out), "-m", model, "-p", "native", *store)
    assert "✗ chat" in done.stdout


def test_a_session_becomes_a_case(server, tmp_path):
    _, model = server
    tools = ("--tools", str(SHOP.with_name("shop_tools.py")))
    sessions = tmp_path / "sessions.db"
    agent = Agent(model, load_tools(tools[1]), protocol="native", store=sessions)
    agent.run_sync("What does tea cost?", session="s1")
    run_blocking(agent.close())
    out = tmp_path / "ours.yaml"
    done = toolhand("eval", "add", "session", "s1", *tools, "--sessions", str(sessions), "--to", str(out))
    assert done.returncode == 0, done.stderr
    (case,) = read_suite(out).cases
    assert case.questions[0].text == "What does tea cost?"
    assert case.fixtures["get_price"][0].result["price"] == 3.5
    missing = toolhand("eval", "add", "session", "s2", *tools, "--sessions", str(sessions))
    assert missing.returncode == 1
    assert "no session 's2'" in missing.stderr


def test_a_starter_suite(tmp_path, here):
    out = tmp_path / "cases.yaml"
    words = ("eval", "init", str(SHOP.with_name("shop_tools.py")), "--out", str(out))
    done = toolhand(*words)
    assert done.returncode == 0, done.stderr
    assert "order" in done.stdout
    assert here(*words).returncode == 1
    assert here(*words, "--force", "-l", "zh").returncode == 0
    assert "闲聊" in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.yaml",), "nothing.yaml"),
        ((str(SHOP), "--case", "nothing"), "no case 'nothing'"),
        ((str(SHOP), "-p", "nativ"), "no protocol 'nativ'"),
        ((str(SHOP), "--max-drop", "0"), "needs --compare"),
        ((str(SHOP), "--compare", "last"), "no evaluations"),
        ((str(SHOP), "--replay", "nothing.jsonl"), "--record"),
        (("bfcl:simple",), "simple_python"),
        (("report",), "no evaluations"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(words, said, tmp_path, here):
    store = ("--store", str(tmp_path / "e.db"))
    model = () if words == ("report",) else ("-m", "http://127.0.0.1:9/v1#x")
    done = here("eval", *words, *model, *store)
    assert done.returncode == 1, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_key_that_is_missing_leaves_no_evaluation_behind(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    store = ("--store", str(tmp_path / "e.db"))
    assert run_app(["eval", str(SHOP), "-m", "deepseek:x", *store]) == 1
    assert "DEEPSEEK_API_KEY" in capsys.readouterr().err
    assert run_app(["eval", "report", "last", *store]) == 1
    assert "no evaluations" in capsys.readouterr().err


def test_ctrl_c_keeps_what_was_finished(server, tmp_path):
    kind, model = server
    kind.slow = 0.4
    command = [
        sys.executable,
        "-m",
        "toolhand.cli",
        "eval",
        str(SHOP),
        "-m",
        model,
        "-p",
        "native",
        "--store",
        str(tmp_path / "e.db"),
        "-n",
        "9",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 50
    while time.monotonic() < deadline:
        listed = toolhand("eval", "list", "--store", str(tmp_path / "e.db"))
        if "/2" in listed.stdout or "/3" in listed.stdout or "/4" in listed.stdout:
            break
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "kept" in err or "已保存" in err
    assert "shop" in out
    assert "stopped" in toolhand("eval", "list", "--store", str(tmp_path / "e.db")).stdout
