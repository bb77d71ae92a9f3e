"""The contract of every file in the folder: what it offers is a tool that a model can understand, and that says what it does."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import pytest

from toolhand.builtin import BuiltinSettings, MailSettings, Service, WebSettings, builtin_tools, offered
from toolhand.builtin.sample import make_sample
from toolhand.core import plugins
from toolhand.core.errors import MissingExtraError, SettingsError
from toolhand.parsing.programs.outcomes import Limits


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Whatever a built-in tool could need."""
    monkeypatch.setenv("TOOLHAND_CACHE", str(tmp_path / "cache"))
    return BuiltinSettings(
        database=make_sample(tmp_path / "shop.db"),
        root=tmp_path,
        documents=tmp_path,
        writes=True,
        python=Limits(),
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


def test_every_file_offers_something_but_for_what_the_tools_are_made_of():
    assert set(plugins.names("builtin")) - set(OFFERING) == {"settings", "sample"}


OFFERING = plugins.members("builtin", "offer")
EFFECTS = {
    "change_database": "writes",
    "delete_file": "destroys",
    "http_delete": "destroys",
    "http_send": "writes",
    "send_email": "writes",
    "write_file": "writes",
}
"""Of the tools that do more than read: what a new one does is said here, too."""

STRANGERS_WRITE = {"documents", "services", "weather", "web"}
"""The categories whose results are framed as data."""

KINDS = {"string", "integer", "number", "boolean", "array", "object", "null"}


@pytest.mark.parametrize("name", OFFERING)
def test_every_tool_of_every_file_is_described(name, settings):
    tools = plugins.member("builtin", name, "offer")(settings)
    assert tools, f"'{name}' offers nothing, so nothing of it is looked at: give `settings` what it needs"
    for tool in tools:
        assert tool.rules.effect == EFFECTS.get(tool.name, "reads")
        assert tool.rules.untrusted == (tool.rules.category in STRANGERS_WRITE)
        assert tool.rules.timeout
        assert len(tool.description) > 30
        assert any("\u4e00" <= character <= "\u9fff" for character in tool.description)
        for parameter, schema in tool.properties.items():
            assert schema.get("description"), f"{tool.name}.{parameter} has no description"
            kinds = [one.get("type") for one in schema.get("anyOf", [schema])]
            assert set(kinds) <= KINDS, f"{tool.name}.{parameter} does not say what it is"


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
    with pytest.raises(MissingExtraError, match=r"pip install .*\[web\]'"):
        builtin_tools(web=WebSettings(variables={}))


def test_tools_of_the_web_load_no_network_library_before_they_are_wanted():
    code = "import sys, toolhand.builtin as b; b.builtin_tools(); print('aiohttp' in sys.modules, 'smtplib' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], check=True, text=True, capture_output=True).stdout
    assert told.split() == ["False", "False"]


def test_settings_are_refused_in_the_language_of_the_person(monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", "zh")
    with pytest.raises(SettingsError, match="需要密钥"):
        builtin_tools(web=WebSettings(search="bocha", variables={}))
