"""Tools as functions without bodies: always Python, with what a model needs to know."""

from __future__ import annotations

import ast
from typing import Annotated, Any, Literal, TypedDict

import pytest

from toolhand import Injected, Toolset, tool
from toolhand.tools.stubs import python_name, stub, stubs


class Weather(TypedDict):
    city: str
    temperatures: list[float]


@tool
def get_weather(city: str, unit: Literal["c", "f"] = "c", days: int | None = None) -> Weather:
    """The weather
    of a "city".

    Args:
        city: its name.
        days: how many.
    """
    return {"city": city, "temperatures": []}


@tool(name="odd-name.v2")
def odd(x: dict[str, Any], user: Annotated[str, Injected("user_id")]) -> None:
    """Odd \"\"\"."""


DECLARED = Toolset.from_openai(
    [{"name": "find", "parameters": {"type": "object", "properties": {"q": {"type": ["string", "null"]}}}}]
)


def test_a_stub_tells_types_defaults_and_results() -> None:
    text = stub(get_weather)
    assert text.startswith('def get_weather(city: str, unit: Literal["c", "f"] = "c", days: int = None) -> ')
    assert '{"city": str, "temperatures": list[float]}' in text
    assert "city: its name." in text


@pytest.mark.parametrize("one", [get_weather, odd, DECLARED["find"]])
def test_a_stub_is_python(one: Any) -> None:
    ast.parse(stub(one))
    assert "user" not in stub(odd)
    assert stubs(Toolset([one])) == stub(one)


def test_a_name_that_python_does_not_take_gets_one() -> None:
    assert python_name(odd) == "odd_name_v2"
    assert python_name(get_weather) == "get_weather"
