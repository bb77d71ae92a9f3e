from __future__ import annotations

import json

from tests.lint.test_rules import made, text
from toolhand.confusions import choices
from toolhand.core.messages import ModelRequest, RawCall
from toolhand.testing import ScriptedModel

STATE = made(name="order_state", description="Gives the state of an order.", order=text())
BILL = made(name="order_bill", description="Gives what an order costs.", order=text())


def answered(request: ModelRequest):
    """Makes up questions, and mixes the tools up whenever it is asked about money."""
    said = request.messages[-1].text
    if "Here is a tool" in said or "JSON" in request.messages[0].text:
        about = "money" if "order_bill" in said else "delivery"
        return json.dumps([f"{about} of A-1?", f"{about} of A-2?", f"{about} of A-2?"])
    if "A-2" in said and "money" in said:
        return "I cannot tell."
    return [RawCall(id="c1", name="order_state", arguments=json.dumps({"order": "A-1"}))]


async def test_what_a_model_takes_for_one_another_is_told():
    heard = []
    found = await choices(ScriptedModel(answered), [STATE, BILL], questions=2, on_question=heard.append)
    assert len(found.asked) == len(heard) == 4
    assert found.right == 2
    assert [(one.wanted, one.called) for one in found.confusions] == [
        ("order_bill", ("order_state",)),
        ("order_bill", ()),
    ]
    assert found.to_json()["right"] == 2


async def test_a_tool_without_questions_is_named():
    found = await choices(ScriptedModel(lambda request: "no"), [STATE], questions=1)
    assert found.without == ("order_state",)
    assert found.asked == ()


async def test_a_call_that_lacks_arguments_is_a_choice_too():
    def model(request: ModelRequest):
        if "Here is a tool" in request.messages[-1].text:
            return '["delivery?"]'
        return [RawCall(id="c1", name="order_state", arguments="{}")]

    found = await choices(ScriptedModel(model), [STATE, BILL], questions=1)
    assert found.asked[0].called == ("order_state",)
