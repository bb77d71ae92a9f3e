"""What was sent under a sensitive name comes back in no other words, whoever sent it and however it was spelled."""

from __future__ import annotations

import json

import pytest

from toolhand import RunContext, ToolCall, Toolset, tool
from toolhand.core.approvals import Edit, decide
from toolhand.core.jsonable import result_text
from toolhand.policies.redaction.echoes import close_names, echoes_of


async def test_what_a_person_put_in_is_masked_as_what_the_model_sent():
    @tool(effect="writes", approval=True, sensitive=["alias"])
    def greet(alias: str, note: dict) -> str:
        return f"Hello {alias}, and {note}"

    toolset, context = Toolset([greet]), RunContext()
    decide(context, {"c1": Edit({"alias": "moonlight", "note": {"alias": "sunbeams"}})})
    call = ToolCall(id="c1", name="greet", arguments={"alias": "old-name", "note": {}})
    result = await toolset.dispatch(call, context)
    told = result_text(result)
    assert "moonlight" not in told
    assert "sunbeams" not in told
    remark = json.loads(result.remark.partition(": ")[2])
    assert remark == {"alias": "[masked]", "note": {"alias": "[masked]"}}


@pytest.mark.parametrize(
    ("arguments", "spelled"),
    [
        ({"guest": {"alias": "moonlight"}}, "deep"),
        ({"guest": {"ALIAS": ["moonlight"]}}, "in a list, in capitals"),
        ({"guest": {"alias": {"inner": "moonlight"}}}, "deeper still"),
    ],
)
async def test_values_deep_in_the_arguments_are_masked_in_results(arguments, spelled):
    @tool(sensitive=["alias"])
    def greet(guest: dict) -> dict:
        return {"said": "Hello moonlight"}

    result = await Toolset([greet]).call("greet", arguments)
    assert result.data == {"said": "Hello [masked]"}, spelled


async def test_a_refusal_masks_what_was_sent_under_an_alias_or_a_close_spelling():
    @tool(sensitive=["passport"], aliases={"passport": ["travel_paper"]})
    def check_in(passport: int, seat: str) -> str:
        return "ok"

    toolset = Toolset([check_in])
    for name in ("passport", "travel_paper", "pasport", "Passport"):
        result = await toolset.call("check_in", {name: "moonlight"})
        assert result.error is not None
        assert "moonlight" not in str(result.error), name


def test_echoes_are_found_at_any_depth_and_in_json_text():
    names = ["phone"]
    assert echoes_of({"a": [{"Phone": "12345"}], "phone": {"x": 67890}}, names) == (
        "12345",
        "67890",
        "67,890",
    )
    assert echoes_of('{"phone": "12345"}', names) == ("12345",)
    assert echoes_of('{"phone": "123', names) == ()
    assert echoes_of({"phone": "1", "city": "Rome"}, names) == ()


def test_close_spellings():
    assert close_names(["phnoe", "phone_", "fone", "city", "手机"], ["phone", "手机号"]) == {
        "phnoe",
        "phone_",
        "手机",
    }
    assert close_names(["x" * 1000], ["phone"]) == frozenset()


async def test_a_number_that_comes_back_with_separators():
    def charge(pin: int) -> str:
        return f"pin {pin}, {pin:,}, {float(pin)}"

    result = await Toolset([tool(charge, sensitive=["pin"])]).call("charge", {"pin": 948271})
    assert result.data == "pin [masked], [masked], [masked].0"
