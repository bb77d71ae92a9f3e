"""A server in plain JSON-RPC over its standard streams that misbehaves as its one argument, a JSON object, says."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

plan = json.loads(sys.argv[1])
state = Path(plan["state"]) if "state" in plan else None


def note(what: str) -> None:
    if state is not None:
        with state.open("a", encoding="utf-8") as file:
            file.write(f"{what}\n")


def send(message: dict) -> None:
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n")
    sys.stdout.buffer.flush()


def tool(name: str | dict) -> dict:
    return name if isinstance(name, dict) else {"name": name, "inputSchema": {"type": "object"}}


note(f"start {os.getpid()}")
if "says" in plan:
    sys.stderr.write(f"{plan['says']}\n")
if "exit" in plan:
    sys.exit(plan["exit"])
for line in plan.get("noise", ()):
    sys.stdout.write(f"{line}\n")

calls = lists = 0
changed = False
for line in sys.stdin:
    request = json.loads(line)
    method, number = request.get("method", ""), request.get("id")
    note(method)
    if plan.get("silent"):
        time.sleep(3600)
    if number is None:
        if method == "notifications/cancelled":
            note(f"cancelled {request['params'].get('requestId')}")
        continue
    if method == "initialize":
        capabilities = {"tools": {"listChanged": True}}
        send({"id": number, "result": {"protocolVersion": "2025-06-18", "capabilities": capabilities,
                                       "serverInfo": {"name": "raw", "version": "1"}}})  # fmt: skip
    elif method == "tools/list":
        pages, cursors = plan.get("pages", [["echo"]]), plan.get("cursors", [None])
        if changed:
            pages, cursors = [plan["changes_to"]], [None]
        cursor = (request.get("params") or {}).get("cursor")
        index = 0 if cursor is None else min(cursors.index(cursor) + 1, len(pages) - 1)
        result = {"tools": [tool(name) for name in pages[index]]}
        if cursors[index] is not None:
            result["nextCursor"] = cursors[index]
        send({"id": number, "result": result})
    elif method == "tools/call":
        calls += 1
        name = request["params"]["name"]
        if "changes_to" in plan and not changed:
            changed = True
            send({"method": "notifications/tools/list_changed"})
        if name == "hang":
            continue
        if name == "die":
            os._exit(3)
        if name == "die_once" and state is not None and "died" not in state.read_text():
            note("died")
            os._exit(3)
        if "error" in plan:
            send({"id": number, "error": plan["error"]})
            continue
        said = {"type": "text", "text": json.dumps(request["params"], ensure_ascii=False)}
        send({"id": number, "result": plan.get("result", {"content": [said]})})
    else:
        send({"id": number, "error": {"code": -32601, "message": f"no {method}"}})
