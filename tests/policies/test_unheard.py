"""A program without logging: its author's own mistakes are told on stderr, a model's and passing ones are not."""

from __future__ import annotations

import inspect
import io
import logging

import pytest

from toolhand import Toolset, tool
from toolhand.core.errors import FatalError

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


async def told(arguments, capsys, handler=None):
    """What a call writes to stderr in a program that has that handler only: pytest's own are there from a test's first line on."""
    with pytest.MonkeyPatch.context() as patch:
        for name in (None, "toolhand", "toolhand.calls"):
            patch.setattr(logging.getLogger(name), "handlers", [handler or logging.NullHandler()])
        await Toolset([look_up]).call("look_up", arguments)
    return capsys.readouterr().err


async def test_a_tools_exception_is_told_once_with_its_place_and_masked(capsys, monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    said = await told({"item": "durian", "phone": "ext-qz81"}, capsys)
    lines, first = inspect.getsourcelines(look_up.function)
    assert said.count("\n") == 1
    assert said.startswith("the tool 'look_up' raised KeyError")
    assert f"test_unheard.py:{first + len(lines) - 1})" in said
    assert "durian" in said
    assert "qz81" not in said
    assert "\x1b" not in said
    monkeypatch.setenv("TOOLHAND_LANG", "zh")
    assert (await told({"item": "durian"}, capsys)).startswith("工具“look_up”抛出 KeyError（")


@pytest.mark.parametrize("arguments", [{"item": "own words"}, {"item": "away"}, {"nothing": 1}])
async def test_what_a_model_got_wrong_and_what_may_pass_is_quiet(capsys, arguments):
    assert await told(arguments, capsys) == ""


async def test_what_ends_the_run_is_raised_and_not_told_as_well(capsys):
    with pytest.raises(FatalError):
        await told({"item": "end"}, capsys)
    assert capsys.readouterr().err == ""


async def test_it_is_quiet_where_a_handler_listens_or_the_last_resort_is_taken_away(capsys, monkeypatch):
    arguments = {"item": "durian"}
    assert await told(arguments, capsys, logging.StreamHandler(io.StringIO())) == ""
    monkeypatch.setattr(logging, "lastResort", None)
    assert await told(arguments, capsys) == ""
