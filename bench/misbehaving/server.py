"""A server that speaks OpenAI's chat completions, whole and streamed, and says what the row of its address says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.misbehaving.rows import ROWS

DONE = "The weather is fine."


class ScriptedServer(ThreadingHTTPServer):
    """Answers under `/ROW/v1`; keeps the requests by row."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.requests: dict[str, list[dict[str, Any]]] = {name: [] for name in ROWS}

    @property
    def root(self) -> str:
        """Where it is; a row's base URL is `{root}/ROW/v1`."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reply(self, row: str, body: dict[str, Any]) -> dict[str, Any]:
        """What the model says now: first what the row says, then that all is done."""
        self.requests[row].append(body)
        said = ROWS[row]
        may_call = bool(body.get("tools")) and body.get("tool_choice") != "none"
        if len(self.requests[row]) > said.get("again", 1) or (len(self.requests[row]) > 1 and not may_call):
            return _ending(body)
        if "text" in said:
            return {"role": "assistant", "content": said["text"]}
        number = f"-{len(self.requests[row])}" if "again" in said else ""
        calls = [
            {"id": id_ + number, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in said["calls"]
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}


@contextmanager
def serving() -> Iterator[ScriptedServer]:
    """A server in a thread, while the block runs."""
    with ScriptedServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Answers(BaseHTTPRequestHandler):
    server: ScriptedServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        row = self.path.split("/")[1]
        message = self.server.reply(row, body)
        streams = bool(body.get("stream"))
        sent = _streamed(message, ROWS[row]) if streams else _whole(message)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if streams else "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *words: Any) -> None:
        """Says nothing."""


def _ending(body: dict[str, Any]) -> dict[str, Any]:
    """That all is done: in words, or by the tool that a framework has for it."""
    if "final_answer" in {tool["function"]["name"] for tool in body.get("tools") or ()}:
        function = {"name": "final_answer", "arguments": json.dumps({"answer": DONE})}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "end", "type": "function", "function": function}],
        }
    return {"role": "assistant", "content": DONE}


def _finish(message: dict[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _whole(message: dict[str, Any]) -> bytes:
    return json.dumps({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(message)}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }).encode()  # fmt: skip


def _streamed(message: dict[str, Any], row: dict[str, Any]) -> bytes:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": message["content"] or ""}]
    for place, call in enumerate(message.get("tool_calls", ())):
        index = place if call["id"] == "end" else row.get("index", place)
        deltas.append({"tool_calls": [call if index is None else {"index": index, **call}]})
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks.append({"index": 0, "delta": {}, "finish_reason": _finish(message)})
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    lines = [f"data: {json.dumps({**head, 'choices': [chunk]})}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()
