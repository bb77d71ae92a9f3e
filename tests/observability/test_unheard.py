"""A program without logging: its author's own mistakes are told on stderr, a model's and passing ones are not."""

from __future__ import annotations

import inspect
import logging

import pytest

from toolhand import RunContext, Toolset, tool
from toolhand.core.errors import FatalError
from toolhand.observability import listening
from toolhand.observability.defaults import default_sinks
from toolhand.observability.unheard import unheard

STOCK = {"main": 1}


@tool(sensitive=["phone"])
def look_up(item: str, phone: str = "") -> int:
    """How many there are."""
    if item == "own words":
        raise ValueError("there is no such item")
    if item == "away":
        raise ConnectionRefusedError("nobody there")
    if item == "end":
        raise FatalError("enough")
    return STOCK[f"{item}\x1b[2J {phone}"]


async def told(capsys, item="durian", **more):
    await Toolset([look_up]).call(
        "look_up", {"item": item, **more}, context=listening(RunContext(), [unheard])
    )
    return capsys.readouterr().err


async def test_a_tools_exception_is_told_once_with_its_place_and_masked(capsys, monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    said = await told(capsys, phone="ext-qz81")
    lines, first = inspect.getsourcelines(look_up.function)
    assert said.count("\n") == 1
    assert said.startswith("the tool 'look_up' raised KeyError")
    assert f"test_unheard.py:{first + len(lines) - 1})" in said
    assert "durian" in said
    assert "qz81" not in said
    assert "\x1b" not in said
    monkeypatch.setenv("TOOLHAND_LANG", "zh")
    assert (await told(capsys)).startswith("工具“look_up”抛出 KeyError（")


@pytest.mark.parametrize("arguments", [{"item": "own words"}, {"item": "away"}, {"nothing": 1}])
async def test_what_a_model_got_wrong_and_what_may_pass_is_quiet(capsys, arguments):
    await Toolset([look_up]).call("look_up", arguments, context=listening(RunContext(), [unheard]))
    assert capsys.readouterr().err == ""


async def test_what_ends_the_run_is_raised_and_not_told_as_well(capsys):
    with pytest.raises(FatalError):
        await told(capsys, "end")
    assert capsys.readouterr().err == ""


async def test_it_can_be_silenced_as_the_standard_library_says(capsys, monkeypatch):
    monkeypatch.setattr(logging, "lastResort", None)
    assert await told(capsys) == ""
    monkeypatch.undo()
    monkeypatch.setattr(logging.getLogger("toolhand.calls"), "disabled", True)
    assert await told(capsys) == ""


def test_it_listens_only_where_no_handler_does(monkeypatch):
    with monkeypatch.context() as patch:
        for name in (None, "toolhand"):
            patch.setattr(logging.getLogger(name), "handlers", [logging.NullHandler()])
        assert unheard in default_sinks()
        patch.setattr(logging.root, "handlers", [logging.StreamHandler()])
        assert unheard not in default_sinks()
