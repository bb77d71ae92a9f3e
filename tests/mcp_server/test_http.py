"""The server over HTTP, with the official SDK's client and with ours."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from tests.openapi.conftest import Running
from toolhand import Toolset, tool
from toolhand.core.errors import SettingsError
from toolhand.mcp_server import Serving
from toolhand.mcp_server.http import app_of

TOKEN = "a-token-of-some-length"


@tool
def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


@tool(rate_limit="3/minute")
def scarce() -> str:
    """Not often."""
    return "here"


def served(**options):
    return Running(app_of(Serving(Toolset([add, scarce]), name="计算"), **options), lifespan="on")


async def test_the_sdks_client_and_ours_call_it_at_once():
    with served() as url:
        async with Client(f"{url}/mcp") as one, Toolset.from_mcp(f"{url}/mcp") as ours:
            assert [entry.name for entry in (await one.list_tools()).tools] == ["add", "scarce"]
            assert ours.names == ("add", "scarce")
            results = await asyncio.gather(*(ours.call("add", {"a": n}) for n in range(20)))
            assert [result.data for result in results] == list(range(1, 21))
            outcomes = [(await one.call_tool("scarce", {})).is_error for _ in range(2)]
            outcomes += [not (await ours.call("scarce", {})).ok for _ in range(2)]
            assert sorted(outcomes) == [False, False, False, True]
        async with Client(f"{url}/mcp", mode="legacy") as older:
            assert (await older.call_tool("add", {"a": 1})).structured_content == {"result": 2}


async def test_a_server_that_was_started_anew_is_found_again():
    with served() as url:
        tools = Toolset.from_mcp(f"{url}/mcp")
        await tools.source.open()
        assert (await tools.call("add", {"a": 1})).data == 2
    gone = await tools.call("add", {"a": 1})
    assert gone.error.code == "network"
    port = int(url.rpartition(":")[2])
    with Running(app_of(Serving(Toolset([add]))), lifespan="on", port=port):
        assert (await tools.call("add", {"a": 2})).data == 3
    await tools.close()


async def test_a_server_with_a_token_lets_nobody_else_in():
    with served(token=TOKEN) as url:
        request = urllib.request.Request(f"{url}/mcp", data=b"{}", headers={"Authorization": "Bearer wrong"})
        with pytest.raises(urllib.error.HTTPError, match="401"):
            await asyncio.to_thread(urllib.request.urlopen, request)
        with pytest.raises(SettingsError, match="did not start"):
            await Toolset.from_mcp(f"{url}/mcp").source.open()
        async with Toolset.from_mcp(f"{url}/mcp", headers={"Authorization": f"Bearer {TOKEN}"}) as tools:
            assert (await tools.call("add", {"a": 1})).data == 2
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as one,
        ):
            assert (await one.call_tool("add", {"a": 1})).structured_content == {"result": 2}


async def test_a_page_that_has_its_name_lead_here_is_refused():
    with served() as url:
        request = urllib.request.Request(
            f"{url}/mcp", data=b"{}", headers={"Host": "evil.test", "Content-Type": "application/json"}
        )
        with pytest.raises(urllib.error.HTTPError, match="421"):
            await asyncio.to_thread(urllib.request.urlopen, request)


def test_others_get_in_only_with_a_token_that_cannot_be_guessed():
    with pytest.raises(SettingsError, match="anybody could call"):
        app_of(Serving(Toolset([add])), host="0.0.0.0")
    with pytest.raises(SettingsError, match="could be guessed"):
        app_of(Serving(Toolset([add])), token="short")


async def test_the_command_serves_and_ends_at_ctrl_c():
    words = [sys.executable, "-m", "toolhand.cli", "mcp", "builtin", "--http", "--port", "0"]
    server = subprocess.Popen(words, stderr=subprocess.PIPE, env={**os.environ, "TOOLHAND_LANG": "en"})  # noqa: ASYNC220
    assert server.stderr is not None
    said = (await asyncio.to_thread(server.stderr.readline)).decode()
    async with Toolset.from_mcp(said.split()[-1]) as tools:
        assert (await tools.call("calculate", {"expression": "6*7"})).data["result"] == 42
        server.send_signal(signal.SIGINT)
        await asyncio.to_thread(server.wait, 60)
    server.stderr.close()
    assert server.returncode in (0, 130)
