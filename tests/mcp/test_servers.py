"""What a user may name, in the forms that other clients have."""

from __future__ import annotations

import json
import sys

import pytest

from toolhand.core.errors import SettingsError
from toolhand.mcp.servers import servers_of


@pytest.mark.parametrize(
    ("source", "name", "command"),
    [
        ("npx -y @modelcontextprotocol/server-everything", "server_everything", ("npx", "-y", "@modelcontextprotocol/server-everything")),
        ("uvx mcp-server-git@1.2 --repository .", "mcp_server_git", ("uvx", "mcp-server-git@1.2", "--repository", ".")),
        ("python -m weather.server", "weather_server", ("python", "-m", "weather.server")),
        (["node", "dist/天气.js"], "天气", ("node", "dist/天气.js")),
        ("tools.py", "tools", (sys.executable, "tools.py")),
    ],
)  # fmt: skip
def test_commands(source, name, command):
    (server,) = servers_of(source)
    assert (server.name, server.command) == (name, command)


def test_addresses():
    (server,) = servers_of("https://mcp.example.com/mcp", headers={"Authorization": "Bearer abc-def-12345"})
    assert (server.name, server.transport) == ("mcp_example_com", "http")
    assert server.secrets == ("abc-def-12345",)
    assert "abc-def" not in repr(server)


def test_a_configuration_file(tmp_path, monkeypatch):
    monkeypatch.setenv("WORK_TOKEN", "t0ken-from-here")
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {
        "git": {"command": "uvx", "args": ["mcp-server-git", "${HOME}"], "env": {"TOKEN": "${WORK_TOKEN}", "LEVEL": "${NO_LEVEL:-3}"}},
        "web": {"type": "sse", "url": "https://a.test/sse", "headers": {"X-Key": "${env:WORK_TOKEN}"}},
        "off": {"command": "x", "disabled": True},
    }}))  # fmt: skip
    git, web = servers_of(file)
    assert git.env == {"TOKEN": "t0ken-from-here", "LEVEL": "3"}
    assert "${" not in git.command[2]
    assert (web.name, web.transport, web.headers) == ("web", "sse", {"X-Key": "t0ken-from-here"})
    monkeypatch.delenv("WORK_TOKEN")
    with pytest.raises(SettingsError, match="'git' asks for the variable 'WORK_TOKEN'"):
        servers_of(file)
    with pytest.raises(SettingsError, match="cannot be read"):
        servers_of(tmp_path / "absent.json")


def test_several_by_name_and_servers_of_one_name():
    assert [server.name for server in servers_of({"a": "x", "b": ["y"], "c": "http://c.test/mcp"})] == [
        "a",
        "b",
        "c",
    ]


def test_variables_are_handed_on_only_by_name(monkeypatch):
    monkeypatch.setenv("SHOP_KEY", "k1")
    (server,) = servers_of("x", env=["SHOP_KEY"])
    assert server.env == {"SHOP_KEY": "k1"}
    (server,) = servers_of("x", env={"OTHER": "v"}, cwd="/tmp")
    assert (server.env, server.cwd) == ({"OTHER": "v"}, "/tmp")
