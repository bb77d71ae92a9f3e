"""The contract of every file in the folder: what it offers is a tool that a model can understand, and that says what it does."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import pytest

from toolhand.builtin import BuiltinSettings, MailSettings, Service, WebSettings, builtin_tools, offered
from toolhand.builtin.sample import make_sample
from toolhand.core.errors import MissingExtraError, SettingsError
from toolhand.core.plugins import load, names


@pytest.fixture
def settings(tmp_path):
    return BuiltinSettings(
        database=make_sample(tmp_path / "shop.db"),
        root=tmp_path,
        web=WebSettings(variables={}),
        services=(Service(url="https://api.example.com", methods=("GET", "POST", "DELETE")),),
        mail=MailSettings(host="localhost", sender="a@b.example"),
    )


def test_time_and_calculator_are_always_there():
    assert [tool.name for tool in builtin_tools()] == ["calculate", "current_time"]


def test_sql_comes_with_a_database_and_files_with_a_root(settings):
    found = [tool.name for tool in builtin_tools(settings.database, str(settings.root))]
    assert sorted(found) == [
        "calculate", "current_time", "list_files", "list_tables", "query_database", "read_file", "search_files",
    ]  # fmt: skip


def test_the_internet_services_and_mail_come_where_they_are_given(settings):
    always = ["calculate", "current_time"]
    for given, more in (
        ({"web": True}, ["fetch_page", "get_weather", "search_web"]),
        ({"services": ["https://api.example.com"]}, ["http_request"]),
        ({"mail": settings.mail}, ["send_email"]),
    ):
        assert sorted(tool.name for tool in builtin_tools(**given)) == sorted([*always, *more])


EFFECTS = {"http_send": "writes", "http_delete": "destroys", "send_email": "writes"}


@pytest.mark.parametrize("name", names("builtin"))
def test_every_tool_of_every_file_is_described(name, settings):
    offer = getattr(load("builtin", name), "offer", None)
    for tool in offer(settings) if offer else []:
        assert tool.rules.effect == EFFECTS.get(tool.name, "reads")
        assert tool.rules.untrusted == (tool.rules.category in ("web", "weather", "services"))
        assert tool.rules.timeout
        assert len(tool.description) > 30
        assert any("\u4e00" <= character <= "\u9fff" for character in tool.description)
        for parameter, schema in tool.properties.items():
            assert schema.get("description"), f"{tool.name}.{parameter} has no description"
            kinds = [one.get("type") for one in schema.get("anyOf", [schema])]
            assert set(kinds) <= {"string", "integer", "boolean", "array", "object", "null"}


def test_a_clock_can_be_given():
    clock = dt.datetime(2026, 3, 8, 4, 5, 6, tzinfo=dt.UTC)
    tools = {tool.name: tool for tool in offered(BuiltinSettings(now=lambda: clock))}
    assert tools["current_time"](timezone="UTC")["time"] == "2026-03-08T04:05:06+00:00"


@pytest.mark.parametrize("setting", ["database", "root"])
def test_what_is_missing_is_said_in_one_sentence(tmp_path, setting):
    with pytest.raises(SettingsError, match="there is no") as caught:
        builtin_tools(**{setting: tmp_path / "nothing"})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("package", ["trafilatura", "protego", "ddgs"])
def test_a_missing_extra_names_the_command_that_installs_it(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'toolhand\[web\]'"):
        builtin_tools(web=WebSettings(variables={}))


def test_tools_of_the_web_load_no_network_library_before_they_are_wanted():
    code = "import sys, toolhand.builtin as b; b.builtin_tools(); print('aiohttp' in sys.modules, 'smtplib' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], check=True, text=True, capture_output=True).stdout
    assert told.split() == ["False", "False"]


def test_settings_are_refused_in_the_language_of_the_person(monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", "zh")
    with pytest.raises(SettingsError, match="需要密钥"):
        builtin_tools(web=WebSettings(search="bocha", variables={}))
