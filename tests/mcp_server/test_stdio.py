"""`toolhand mcp` in a process of its own, with the official SDK's client and with bare lines."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters

from mcp import Client, types
from tests.mcp.conftest import is_gone
from toolhand import Toolset

FILE = str(Path(__file__).parent / "served_tools.py")
COMMAND = [sys.executable, "-m", "toolhand.cli", "mcp", FILE, "--user", "王芳"]
ENV = {"TOOLHAND_LANG": "en", "PYTHONPATH": os.pathsep.join(sys.path)}


@asynccontextmanager
async def client(**options):
    env = {**ENV, **options.pop("env", {})}
    server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:] + options.pop("words", []), env=env)
    async with Client(server, **options) as found:
        yield found


def text_of(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content)


async def test_the_sdks_client_lists_and_calls_with_every_policy_in_force():
    async with client() as served:
        tools = {tool.name: tool for tool in (await served.list_tools()).tools}
        assert "secret_door" not in tools  # not for this user
        assert "read_result" not in tools
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert (hints["add"].read_only_hint, hints["add"].destructive_hint) == (True, False)
        assert (hints["save"].read_only_hint, hints["save"].idempotent_hint) == (False, True)
        emptying = next(tool for tool in tools.values() if tool.title == "清空")
        assert emptying.annotations.destructive_hint
        assert tools["add"].input_schema["required"] == ["a"]
        assert "user" not in tools["whoami"].input_schema["properties"]

        nobody = await served.call_tool(emptying.name, {"name": "箱子"})
        assert nobody.is_error
        assert "this client cannot ask one" in text_of(nobody)
        added = await served.call_tool("add", {"a": "41"})
        assert (text_of(added), added.structured_content) == ("42", {"result": 42})
        assert text_of(await served.call_tool("whoami", {"user": "eve"})) == "王芳"
        saved = await served.call_tool("save", {"text": "x"})
        assert saved.structured_content == {"saved": "x"}
        await served.call_tool("save", {"text": "y"})
        limited = await served.call_tool("save", {"text": "z"})
        assert limited.is_error
        assert limited.meta["toolhand/error"]["code"] == "rate_limited"
        door = await served.call_tool("secret_door", {})
        assert door.meta["toolhand/error"]["code"] in ("not_permitted", "unknown_tool")
        unknown = await served.call_tool("ad", {})
        assert unknown.is_error
        assert "add" in text_of(unknown)
        wrong = await served.call_tool("add", {"a": "many"})
        assert "a" in text_of(wrong)
        fails = await served.call_tool("fails", {})
        assert "no disk" in text_of(fails)
        assert "abcdefghijklmnop" not in text_of(fails)
        late = await served.call_tool("stuck", {})
        assert late.meta["toolhand/error"]["code"] == "outcome_unknown"
        page = await served.call_tool("page", {})
        assert page.structured_content is None
        assert text_of(page).count("</untrusted_content>") == 1


async def test_a_large_result_can_be_read_on():
    changed = asyncio.Event()

    async def hear(message):
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()

    async with client(message_handler=hear, mode="legacy") as served:
        await served.list_tools()
        large = text_of(await served.call_tool("long_list", {}))
        assert len(large) < 20_000
        assert "read_result" in large
        await asyncio.wait_for(changed.wait(), 20)
        assert "read_result" in {tool.name for tool in (await served.list_tools()).tools}
        rest = await served.call_tool("read_result", {"handle": "r1", "start": 99_990})
        assert "99999" in text_of(rest)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_progress_reaches_the_client_and_a_cancelled_call_ends_in_the_tool(mode, tmp_path):
    file = tmp_path / "state"
    async with client(mode=mode) as served:
        for name in ("steps", "thread_steps"):
            heard = []

            async def hear(done, total, message, heard=heard):
                heard.append((done, total, message))

            assert text_of(await served.call_tool(name, {}, progress_callback=hear)) == "done"
            assert [(done, total) for done, total, _ in heard] == [(1, 3), (2, 3), (3, 3)], name
        call = asyncio.create_task(served.call_tool("sleeper", {"file": str(file)}))
        while not file.exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.02)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        async with asyncio.timeout(20):
            while file.read_text() != "cancelled":  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert text_of(await served.call_tool("add", {"a": 1})) == "2"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_person_is_asked_through_a_client_that_can(mode):
    asked, answers = [], ["accept", "decline"]

    async def ask(context, params):
        asked.append(params.message)
        return types.ElicitResult(action=answers[len(asked) - 1], content={})

    async with client(mode=mode, elicitation_callback=ask) as served:
        name = next(tool.name for tool in (await served.list_tools()).tools if tool.title == "清空")
        agreed = await served.call_tool(name, {"name": "箱子", "pin": "482913"})
        assert text_of(agreed) == "箱子 已清空"
        assert "箱子" in asked[0]
        assert "cannot be undone" in asked[0]
        assert "482913" not in asked[0]
        refused = await served.call_tool(name, {"name": "柜子"})
        assert refused.meta["toolhand/error"]["code"] == "approval_denied"


async def test_an_answer_counts_only_for_the_call_that_was_asked_about():
    async def never(context, params):
        raise AssertionError

    yes = {"approval": types.ElicitResult(action="accept", content={})}
    async with client(elicitation_callback=never) as served:
        name = next(tool.name for tool in (await served.list_tools()).tools if tool.title == "清空")

        async def call(arguments, **more):
            return await served.session.call_tool(name, arguments, allow_input_required=True, **more)

        question = await call({"name": "甲"})
        assert isinstance(question, types.InputRequiredResult)
        for arguments, state in (({"name": "甲"}, "0" * 64), ({"name": "乙"}, question.request_state)):
            forged = await call(arguments, input_responses=yes, request_state=state)
            assert isinstance(forged, types.InputRequiredResult)  # it is asked, not obeyed
        right = await call({"name": "甲"}, input_responses=yes, request_state=question.request_state)
        assert text_of(right) == "甲 已清空"


def lines_of(environment: dict[str, str], *calls: tuple[str, dict]) -> list[str]:
    """What the server writes on standard output for some calls, line by line."""
    first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    sent = [
        {"id": 1, "method": "initialize", "params": first},
        {"method": "notifications/initialized"},
        *(
            {"id": 2 + n, "method": "tools/call", "params": {"name": name, "arguments": a}}
            for n, (name, a) in enumerate(calls)
        ),
    ]
    server = subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **ENV, **environment},
    )
    assert server.stdin is not None
    assert server.stdout is not None
    for message in sent:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()
    lines, answered = [], 0
    while answered < 1 + len(calls):
        line = server.stdout.readline()
        assert line, server.stderr and server.stderr.read().decode()
        lines.append(line.decode("utf-8"))
        answered += "id" in json.loads(lines[-1])
    rest, said = server.communicate(timeout=60)
    assert server.returncode == 0, said.decode()
    return lines + rest.decode("utf-8").splitlines()


def test_nothing_but_messages_in_utf8_gets_onto_standard_output():
    environment = {"PYTHONIOENCODING": "gbk", "PYTHONUTF8": "0", "LC_ALL": "C"}
    lines = lines_of(environment, ("setup", {}), ("price", {}), ("add", {"a": 1}))
    messages = [json.loads(line) for line in lines]
    texts = {m["id"]: m["result"]["content"][0]["text"] for m in messages if m.get("id", 0) > 1}
    assert texts == {2: "好", 3: "价格 ￥30 ✓ 𠮷 👍\u00a0", 4: "2"}


async def test_our_own_client_gets_what_our_own_server_says():
    async with Toolset.from_mcp(COMMAND, env=ENV) as tools:
        assert tools["add"].rules.effect == "reads"
        assert tools["save"].rules.idempotent
        assert (await tools.call("add", {"a": 1, "b": "2"})).data == 3
        assert (await tools.call("save", {"text": "x"})).data == {"saved": "x"}
        await tools.call("save", {"text": "y"})
        limited = await tools.call("save", {"text": "z"})
        assert limited.error.code == "rate_limited"
        assert limited.error.details["retry_after"] > 0
        late = await tools.call("stuck")
        assert late.error.code == "outcome_unknown"
        pid = int((await tools.call("add", {"a": os.getpid(), "b": 0})).data)
        assert pid == os.getpid()


def test_a_server_ends_when_its_input_is_closed():
    server = subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **ENV},
    )
    assert server.stdin is not None
    server.stdin.close()
    server.wait(60)
    assert is_gone(server.pid)
