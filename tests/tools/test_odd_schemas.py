"""`true` and `false` are JSON Schemas, too: a tool that has them is shown, bound, run and remembered like any other."""

from __future__ import annotations

import dataclasses

import pytest

from toolhand import Agent, Tool, Toolset, tool
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.core.tools import Rules
from toolhand.testing import ScriptedModel

PARAMETERS = {
    "type": "object",
    "properties": {"any": True, "never": False, "n": {"type": "integer", "default": 2}},
    "required": ["any"],
}


@pytest.mark.parametrize("protocol", ["native", "json", "react", "template"])
async def test_with_every_protocol(protocol):
    seen = []
    rules = Rules(before=(lambda arguments, context: bool(seen.append(arguments)) or True,))
    declared = Tool(name="take", parameters=PARAMETERS, function=lambda **sent: sent, rules=rules)
    model = ScriptedModel([ModelOutput(calls=(RawCall(id="c", name="take", arguments={"any": [1]}),)), "ok"])
    run = await Agent(model, [declared], protocol=protocol).run("?")
    assert run.results[0].data == {"any": [1], "n": 2}
    assert seen == [{"any": [1], "n": 2}]


def test_parameters_with_the_names_of_schema_words_keep_no_dangling_reference():
    @dataclasses.dataclass
    class Place:
        city: str

    @tool
    def go(example: Place, enum: Place, default: Place, const: int = 1) -> str:
        return example.city + enum.city + default.city

    assert "$ref" not in str(go.parameters)
    place = {"city": "Rome"}
    assert (
        Toolset([go]).call_sync("go", {"example": place, "enum": place, "default": place}).data == "Rome" * 3
    )


def test_a_tool_that_is_made_anew_keeps_and_gets_aliases():
    @tool(aliases={"city": "town"})
    def weather(city: str, days: int = 1) -> str:
        return f"{city} {days}"

    again = tool(weather, aliases={"days": ["length"]})
    assert again.aliases == {"town": "city", "length": "days"}
    assert Toolset([again]).call_sync("weather", {"town": "Rome", "length": 3}).data == "Rome 3"
