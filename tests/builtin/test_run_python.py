"""`run_python`: the sandbox as one tool among others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.places import place
from toolhand import Toolset, tool
from toolhand.builtin import BuiltinSettings, offered
from toolhand.builtin.run_python import python_tool
from toolhand.sandbox import Limits


@pytest.fixture(autouse=True)
def _there() -> None:
    place("monty")


async def test_it_runs_a_program_and_tells_its_error() -> None:
    tools = Toolset([python_tool(limits=Limits(seconds=20))])
    result = await tools.call("run_python", {"code": "print('a')\n1 + 1"})
    assert result.data == {"output": "a\n", "value": 2}
    result = await tools.call("run_python", {"code": "x = 1\nx / 0"})
    assert "line 2" in result.data["error"]


async def test_its_programs_call_tools_through_their_policies() -> None:
    ran: list[Any] = []

    @tool(effect="writes", permission="orders:write")
    def order(item: str) -> str:
        """Orders an item."""
        ran.append(item)
        return "ordered"

    made = python_tool([order])
    assert made.rules.effect == "writes"
    assert "def order(item: str) -> str" in made.description
    tools = Toolset([made])
    refused = await tools.call("run_python", {"code": "order(item='tea')"})
    assert "error" in refused.data
    assert not ran
    done = await tools.call("run_python", {"code": "order(item='tea')"}, permissions=["orders:write"])
    assert (done.data["value"], ran) == ("ordered", ["tea"])


def test_it_is_offered_where_limits_are_given() -> None:
    assert "run_python" not in [one.name for one in offered(BuiltinSettings())]
    (made,) = [one for one in offered(BuiltinSettings(python=Limits())) if one.name == "run_python"]
    assert made.rules.effect == "reads"
    assert list(made.properties) == ["code"]
