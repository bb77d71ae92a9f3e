"""The public double of a model."""

from __future__ import annotations

import pytest

from toolhand.core.errors import ModelError
from toolhand.core.events import TextDelta
from toolhand.core.messages import ModelOutput, ModelRequest, RawCall, user
from toolhand.models import Model
from toolhand.testing import ScriptedModel

REQUEST = ModelRequest(messages=(user("q"),))


async def test_every_kind_of_reply() -> None:
    call = RawCall(id="a", name="f", arguments="{}")
    whole = ModelOutput(text="x", finish_reason="length")
    model = ScriptedModel(["text", whole, call, [call, call], lambda request: request.messages[0].text])
    assert isinstance(model, Model)
    outputs = [await model.complete(REQUEST) for _ in range(5)]
    assert [o.text for o in outputs] == ["text", "x", "", "", "q"]
    assert [len(o.calls) for o in outputs] == [0, 0, 1, 2, 0]
    assert [o.finish_reason for o in outputs] == ["stop", "length", "tool_calls", "tool_calls", "stop"]
    assert model.requests == [REQUEST] * 5
    assert model.replies_left == 0


async def test_exceptions_are_raised_and_count_as_asked() -> None:
    model = ScriptedModel([ModelError("down", retryable=True), lambda _: ModelError("again"), "up"])
    for words in ("down", "again"):
        with pytest.raises(ModelError, match=words):
            await model.complete(REQUEST)
    assert (await model.complete(REQUEST)).text == "up"


async def test_a_script_that_runs_out_says_so() -> None:
    model = ScriptedModel(["one"], name="short")
    await model.complete(REQUEST)
    with pytest.raises(AssertionError, match="'short' has 1 replies, but it was asked 2 times"):
        await model.complete(REQUEST)


async def test_a_function_answers_for_ever() -> None:
    model = ScriptedModel(lambda request: "x")
    assert [(await model.complete(REQUEST)).text for _ in range(20)] == ["x"] * 20
    assert model.replies_left is None


async def test_streaming_in_pieces_of_a_settable_size() -> None:
    model = ScriptedModel(["一二三四五"], chunk_size=2)
    items = [item async for item in model.stream(REQUEST)]
    assert items[:-1] == [TextDelta(text="一二"), TextDelta(text="三四"), TextDelta(text="五")]
    assert isinstance(items[-1], ModelOutput)
    assert items[-1].text == "一二三四五"
    with pytest.raises(ValueError, match="chunk_size"):
        ScriptedModel([], chunk_size=0)


async def test_one_text_is_a_script_of_one_reply_and_closing_is_noted() -> None:
    model = ScriptedModel("only")
    assert (await model.complete(REQUEST)).text == "only"
    assert not model.is_closed
    await model.close()
    assert model.is_closed
