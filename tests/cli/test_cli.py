"""The command as a person types it, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import pytest

from tests.mcp.conftest import State, is_gone, raw
from toolhand.builtin.sample import make_sample
from toolhand.cli.app import _HELP, COMMANDS, _help_of, run_app
from toolhand.cli.demo import QUESTIONS


def toolhand(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {
        k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and not k.startswith("TOOLHAND_M")
    }
    return subprocess.run(
        [sys.executable, "-m", "toolhand.cli", *words],
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={**clean, "TOOLHAND_LANG": "en", "COLUMNS": "200", **environment},
        check=False,
        timeout=110,  # a start takes a second, and many on a machine that is busy
    )


class Server(BaseHTTPRequestHandler):
    """Plays a model: first a call in a fence, as small models write it, then the answer."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results = [message for message in request["messages"] if message["role"] == "tool"]
        text = (
            f"The result is {results[-1]['content']}."
            if results
            else '```json\n{"name": "calculate", "arguments": {"expression": "6*7"}}\n```'
        )
        piece = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def model():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1#small"
    server.shutdown()
    server.server_close()


def test_a_question_is_answered_and_its_calls_shown(model):
    done = toolhand("run", "What is six times seven?", "--model", model)
    assert done.returncode == 0, done.stderr
    assert "42" in done.stdout
    assert "→ calculate" in done.stderr
    assert "6*7" in done.stderr


def test_the_whole_run_as_json(model):
    done = toolhand("run", "What is six times seven?", "--model", model, "--json")
    run = json.loads(done.stdout)
    assert run["stopped"] == "answered"
    assert run["calls"][0]["name"] == "calculate"
    assert run["calls"][0]["ok"] is True
    assert "42" in run["output"]


def test_the_question_may_come_from_standard_input(model):
    done = subprocess.run(
        [sys.executable, "-m", "toolhand.cli", "run", "-", "--model", model],
        input="six times seven?", text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert "42" in done.stdout


TOOLS = '''
from toolhand import tool

@tool
def get_stock(item: str) -> int:
    """How many pieces of an item there are."""
    return 42
'''


def test_tools_are_listed_and_shown(tmp_path):
    (tmp_path / "my_tools.py").write_text(TOOLS)
    listed = toolhand("tools", "list", "--tools", f"builtin,{tmp_path / 'my_tools.py'}")
    assert "get_stock" in listed.stdout
    assert "calculate" in listed.stdout
    shown = json.loads(
        toolhand("tools", "show", "get_stock", "--tools", str(tmp_path / "my_tools.py")).stdout
    )
    assert shown["function"]["parameters"]["required"] == ["item"]


def mistakes(tmp_path):
    (tmp_path / "broken.py").write_text("x = 1\nimport nothing_such_as_this\n")
    (tmp_path / "syntax.py").write_text("def f(:\n")
    (tmp_path / "raises.py").write_text("raise ValueError('no')\n")
    (tmp_path / "exits.py").write_text("raise SystemExit(4)\n")
    (tmp_path / "ends.py").write_text("class Stop(BaseException): ...\nraise Stop('a\\nb')\n")
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "undescribed.py").write_text(
        "import socket\nfrom toolhand import tool\n@tool\ndef f(s: socket.socket) -> str:\n    '''F.'''\n"
    )
    (tmp_path / "text.db").write_text("this is no database, and it is long enough to be read as one" * 20)
    run = ("run", "?", "--model", "http://127.0.0.1:9/v1#x")
    return {
        "unknown model": (("run", "?", "--model", "nothing-such:x"), "nothing-such"),
        "no weights": (("run", "?", "--model", "local"), "toolhand models pull"),
        "unknown entry": (("models", "pull", "nothing-such"), "nothing-such"),
        "refused connection": (run, "127.0.0.1:9"),
        "file does not exist": ((*run, "--tools", str(tmp_path / "none.py")), "none.py"),
        "file does not import": ((*run, "--tools", str(tmp_path / "broken.py")), "line 2"),
        "syntax error": ((*run, "--tools", str(tmp_path / "syntax.py")), "line 1"),
        "file raises": ((*run, "--tools", str(tmp_path / "raises.py")), "ValueError: no"),
        "file ends the program": ((*run, "--tools", str(tmp_path / "ends.py")), "line 2: Stop"),
        "a folder": ((*run, "--tools", str(tmp_path)), "is a folder"),
        "no tools": ((*run, "--tools", ""), "no tools are named"),
        "only commas": ((*run, "--tools", " , "), "no tools are named"),
        "empty database": ((*run, "--db", ""), "--db is empty"),
        "empty folder": ((*run, "--root", " "), "--root is empty"),
        "empty model": (("run", "?", "--model", ""), "--model is empty"),
        "long database": ((*run, "--db", "x" * 5_000), "there is no database"),
        "long folder": ((*run, "--root", "x" * 5_000), "there is no folder"),
        "long file": ((*run, "--tools", "x" * 5_000 + ".py"), "there is no file"),
        "file exits": ((*run, "--tools", str(tmp_path / "exits.py")), "SystemExit"),
        "no module": ((*run, "--tools", "nothing_such_module"), "nothing_such_module"),
        "no tool in it": ((*run, "--tools", str(tmp_path / "empty.py")), "@tool"),
        "cannot be described": ((*run, "--tools", str(tmp_path / "undescribed.py")), "'s' of tool 'f'"),
        "no database": ((*run, "--db", str(tmp_path / "text.db")), "text.db"),
        "database does not exist": ((*run, "--db", str(tmp_path / "none.db")), "none.db"),
        "no folder": ((*run, "--root", str(tmp_path / "nowhere")), "nowhere"),
        "unknown tool": (("tools", "show", "nothing_such"), "nothing_such"),
        "unknown provider": (("tools", "show", "calculate", "--provider", "x"), "'x'"),
    }


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_persons_mistake_is_one_sentence(tmp_path, language, monkeypatch, capsys):
    monkeypatch.setenv("TOOLHAND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TOOLHAND_LANG", language)
    for name, (words, mention) in mistakes(tmp_path).items():
        code = run_app(list(words))
        done = capsys.readouterr()
        assert code == 1, (name, done)
        assert done.out == "", name
        assert len(done.err.strip().splitlines()) == 1, (name, done.err)
        assert done.err.startswith("error: " if language == "en" else "错误: "), name
        if language == "en":
            assert mention in done.err, (name, done.err)
    assert not (tmp_path / "none.db").exists()


def test_a_mistake_in_a_process_of_its_own(tmp_path):
    done = toolhand("run", "?", "--model", "nothing-such:x")
    assert done.returncode == 1
    assert done.stderr.startswith("error: there is no model 'nothing-such:x'")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [("run",), ("nothing-such",), ("run", "?", "--turns", "0"), ("run", " ")])
def test_wrong_words_on_the_command_line(words, here):
    done = here(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_wrong_words_are_said_in_chinese_too(monkeypatch, capsys):
    monkeypatch.setenv("TOOLHAND_LANG", "zh")
    for words, said in {
        ("rn",): "没有命令“rn”，是不是想写“run”、“runs”？",
        ("run",): "缺少“question”",
        ("run", "?", "--modl", "x"): "没有选项 --modl，是不是想写 --model",
        ("run", "?", "--turns", "0"): "--turns：应不小于 1",
        ("run", "?", "there"): "多余的参数：there",
        ("run", "?", "-m"): "选项 -m 需要一个值",
        ("run", " "): "问题是空的",
    }.items():
        assert run_app(list(words)) == 2
        assert said in capsys.readouterr().err.splitlines()[0]


def test_help_speaks_both_languages():
    assert "Answer a question" in toolhand("run", "--help").stdout
    assert "用工具回答一个问题" in toolhand("run", "--help", TOOLHAND_LANG="zh").stdout


def test_the_sample_database_has_what_the_demo_asks_for(tmp_path):
    make_sample(tmp_path / "shop.db")
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        for question in QUESTIONS:
            assert connection.execute(question.sql).fetchone()[0] > 0
    connection.close()


def test_the_providers_and_which_keys_are_set():
    done = toolhand("models", "providers", MISTRAL_API_KEY="k", AZURE_OPENAI_ENDPOINT="https://me.example")
    lines = {line.split(":")[0]: line.split() for line in done.stdout.splitlines()}
    assert lines["mistral"][1:3] == ["MISTRAL_API_KEY", "yes"]
    assert lines["deepseek"][1:3] == ["DEEPSEEK_API_KEY", "-"]
    assert lines["azure"][-1] == "https://me.example"
    assert {"openai", "anthropic", "gemini", "responses", "vllm"} <= lines.keys()
    assert "k" not in done.stdout.replace("key", "").replace("KEY", "").split()


def test_an_openapi_document_is_a_source_of_tools(tmp_path):
    document = {
        "openapi": "3.1.0",
        "servers": [{"url": "http://a.test"}],
        "paths": {"/a": {"get": {"operationId": "getA", "summary": "Gets an A."}}},
    }
    (tmp_path / "a.json").write_text(json.dumps(document))
    found = toolhand("tools", "list", "--tools", f"openapi:{tmp_path / 'a.json'}")
    assert "Gets an A." in found.stdout
    (tmp_path / "b.json").write_text("{}")
    refused = toolhand("tools", "list", "--tools", f"openapi:{tmp_path / 'b.json'}")
    assert refused.returncode == 1
    assert "no OpenAPI 3 document" in refused.stderr


def test_an_mcp_server_is_a_source_of_tools_and_is_ended_with_the_program(tmp_path):
    state = tmp_path / "state.txt"
    command = shlex.join(raw(pages=[["send_note"]], state=str(state)))
    (tmp_path / "servers.json").write_text(
        json.dumps({"mcpServers": {"notes": {"command": "sh", "args": ["-c", f"exec {command}"]}}})
    )
    found = toolhand("tools", "list", "--tools", f"mcp:{tmp_path / 'servers.json'}")
    assert "send_note" in found.stdout, found.stderr
    assert is_gone(State(state).pids[0])
    refused = toolhand("tools", "list", "--tools", "mcp:/no/such/server")
    assert refused.returncode == 1
    assert "cannot be run" in refused.stderr


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_commands_line_in_the_help_is_its_own(name, language, monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", language)
    assert _HELP.search(Path(import_module(f"toolhand.cli.{name}").__file__).read_text(encoding="utf-8"))
    said = _help_of(name)
    assert bool(re.search(r"[\u4e00-\u9fff]", said)) is (language == "zh")


def test_the_help_lists_every_command_and_loads_none():
    script = (
        "import sys; from toolhand.cli.app import run_app; code = run_app(['--help']); "
        "print([m for m in sys.modules if m in ('aiohttp', 'sqlite3', 'toolhand.agent', 'toolhand.cli.chat')]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    for name in COMMANDS:
        assert re.search(rf"\b{name}\b", done.stdout)
