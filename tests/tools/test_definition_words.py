"""What is said of a function that cannot be a tool: in both languages, with its place and the cure."""

from __future__ import annotations

import pytest

from toolhand import Agent, tool
from toolhand.core.errors import SettingsError, ToolDefinitionError
from toolhand.load import load_tools
from toolhand.testing import ScriptedModel
from toolhand.tools.signature import ToolWarning


def wrong(x: any):
    """Has a function for a type."""


def unknown(x: NoSuchType):  # noqa: F821 - that is what is tested
    """Has a type that is not there."""


@pytest.mark.parametrize(("language", "word"), [("en", "of tool 'wrong'"), ("zh", "工具“wrong”")])
def test_it_names_the_parameter_the_cure_and_the_place(language, word, monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", language)
    line = wrong.__code__.co_firstlineno
    with pytest.raises(
        ToolDefinitionError, match=rf"typing\.Any.*test_definition_words\.py:{line}\)$"
    ) as found:
        tool(wrong)
    assert word in str(found.value)
    line = unknown.__code__.co_firstlineno
    with pytest.raises(ToolDefinitionError, match=rf"NoSuchType.*test_definition_words\.py:{line}\)$"):
        tool(unknown)


def test_what_a_tool_gave_is_no_tool(monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    with pytest.raises(ToolDefinitionError, match="leave out the parentheses"):
        Agent(ScriptedModel(["x"]), tools=[3.5])


@pytest.mark.parametrize("text", [None, "", " \n", 3])
def test_what_is_no_message_is_refused(text):
    with pytest.raises(SettingsError):
        Agent(ScriptedModel(["x"])).run_sync(text)


def test_a_tool_without_a_docstring_is_warned_of_where_it_stands(tmp_path, monkeypatch):
    path = tmp_path / "silent_tools.py"
    path.write_text("from toolhand import tool\n\n@tool\ndef get(x: int) -> int:\n    return x\n")
    with pytest.warns(ToolWarning, match="get") as found:
        load_tools(str(path))
    assert (found[0].filename, found[0].lineno) == (str(path), 3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [one for one in __import__("sys").path if one])
    with pytest.raises(SettingsError, match=r"silent_tools\.py"):
        load_tools("silent_tools")
