"""Options that do not exist or cannot be: a sentence that names them, before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from toolhand import Agent, Session
from toolhand.core.errors import SettingsError
from toolhand.protocols.parse import parse
from toolhand.testing import ScriptedModel


def made(**options: Any) -> Agent:
    return Agent(ScriptedModel(["x"]), [], **options)


@pytest.mark.parametrize(
    ("option", "meant"),
    [("sesion", "session"), ("sessions", "session"), ("toolchoice", "tool_choice"), ("limit", "limits")],
)
async def test_a_misspelt_option_of_a_run_is_refused_with_the_one_that_was_meant(option, meant):
    agent = made()
    with pytest.raises(SettingsError, match=f"no option '{option}'.*'{meant}'"):
        await agent.run("hi", **{option: "x"})
    with pytest.raises(SettingsError, match=f"no option '{option}'.*'{meant}'"):
        agent.run_sync("hi", **{option: "x"})
    with pytest.raises(SettingsError, match=f"no option '{option}'.*'{meant}'"):
        async for _ in agent.stream("hi", **{option: "x"}):
            pass
    with pytest.raises(SettingsError, match=f"no option '{option}'"):
        await agent.resume(Session(), **{option: "x"})
    assert agent.model.requests == []


async def test_an_option_like_no_other_is_refused_with_all_there_are():
    with pytest.raises(SettingsError, match="no option 'zzz': there is: facts, limits"):
        await made().run("hi", zzz=1)


@pytest.mark.parametrize(
    ("model", "option", "words"),
    [
        ("local", "instruction", "did you mean 'instructions'"),
        ("ollama:x", "protocl", "did you mean 'protocol'"),
        ("http://127.0.0.1:1/v1#m", "zzz", "the model 'http://127.0.0.1:1/v1#m' has no option 'zzz'"),
        ("ollama:x", "zzz", "the model 'ollama:x' has no option 'zzz'"),
        ("local", "zzz", "the model 'local' has no option 'zzz'"),
    ],
)
def test_a_misspelt_option_of_an_agent(model, option, words):
    with pytest.raises(SettingsError) as caught:
        Agent(model, [], **{option: "x"})
    assert words in str(caught.value)


def test_an_adapters_own_options_are_not_taken_for_misspelt_ones():
    options = {"base_url": "http://127.0.0.1:1/v1", "api_key": "k", "name": "n", "headers": {}}
    assert Agent("openai:x", [], **options).model.name == "n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("limits", 3), ("limits", {"turns": 1}), ("language", "fr"), ("sampling", {"temperature": 0}), ("protocol", 3),
        ("sinks", 3), ("sinks", [3]), ("policies", [3]), ("tool_choice", 3), ("tool_choice", [3]),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_what_an_agents_option_means(name, value):
    with pytest.raises(SettingsError, match=rf"{name} is .*and this is"):
        made(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("session", 3), ("user", 3), ("permissions", "orders:write"), ("permissions", 3), ("roles", "clerk"), ("facts", 3),
        ("on_event", 3), ("limits", 3), ("tool_choice", 3),
    ],
)  # fmt: skip
async def test_a_value_that_cannot_be_what_a_runs_option_means(name, value):
    agent = made()
    with pytest.raises(SettingsError, match=rf"{name} is .*and this is"):
        await agent.run("hi", **{name: value})
    assert agent.model.requests == []


async def test_a_message_that_is_no_string():
    with pytest.raises(SettingsError, match="text is a string that says something, and this is 3"):
        await made().run(3)


@pytest.mark.parametrize("name", ["parse", "prompting", "reading", "__init__", "jsn", "", "a.b", "../x"])
def test_only_protocols_are_protocols_and_the_lists_agree(name):
    with pytest.raises(SettingsError) as agents:
        made(protocol=name)
    with pytest.raises(SettingsError) as parses:
        parse("x", [], name)
    listed = str(agents.value).split("there is: ")[1].split(", ")
    assert set(listed) <= set(str(parses.value).split("there is: ")[1].split(", "))
    assert {"auto", "native", "json", "react", "template"} <= set(listed)
    assert not {"parse", "prompting", "reading"} & set(listed)
    for protocol in listed:
        made(protocol=protocol)
        parse("x", [], protocol)


@pytest.mark.parametrize("model", [None, 3, object()])
def test_what_is_no_model(model):
    with pytest.raises(SettingsError, match="neither"):
        Agent(model, [])


def test_a_misspelt_adapter_is_named_as_it_was_meant():
    with pytest.raises(SettingsError, match="did you mean 'ollama:x'"):
        Agent("olama:x")
