"""When a model fails for good, the next one is asked: visibly, and in mid-run."""

from __future__ import annotations

from typing import Any

import pytest

from toolhand import Agent, tool
from toolhand.core.errors import ModelError, ModelFault, SettingsError, WeightsError
from toolhand.core.events import ModelReplaced, TextDelta
from toolhand.core.messages import ModelOutput, ModelRequest, Opaque, RawCall, user
from toolhand.models.announcing import heard_by
from toolhand.models.fallbacks import FallbackModel
from toolhand.models.resolve import resolve
from toolhand.testing import FakeClock, ScriptedModel

REQUEST = ModelRequest(messages=(user("q"),))
DOWN = ModelError("down", fault=ModelFault.FAILED, retryable=True)


@tool
def get_stock(item: str) -> int:
    """How many pieces there are."""
    return len(item)


def scripted(name: str, *replies: Any) -> ScriptedModel:
    return ScriptedModel(list(replies), name=name)


async def test_the_next_one_is_asked_and_it_is_announced():
    first, second = scripted("a", DOWN), scripted("b", "fine")
    heard: list[Any] = []
    with heard_by(heard.append):
        assert (await FallbackModel([first, second]).complete(REQUEST)).text == "fine"
    assert heard == [ModelReplaced(model="a", error=DOWN, fallback="b")]


async def test_a_run_goes_on_in_the_middle_with_what_was_done():
    call = RawCall(id="c1", name="get_stock", arguments='{"item": "abc"}')
    mine = Opaque(source="a", data={"signature": "s"})
    first = scripted(
        "a", ModelOutput(calls=(call,), opaque=mine), ModelError("no money", fault=ModelFault.QUOTA)
    )
    second = scripted("b", "Three.")
    events: list[Any] = []
    run = await Agent(first, [get_stock], fallbacks=[second]).run("How many?", on_event=events.append)
    assert run.text == "Three."
    assert [result.data for result in run.results] == [3]
    replaced = [event for event in events if isinstance(event, ModelReplaced)]
    assert [(event.model, event.fallback, event.error.fault) for event in replaced] == [
        ("a", "b", ModelFault.QUOTA)
    ]
    assert second.requests[0].messages[-1].results[0].data == 3


async def test_a_list_of_models():
    run = await Agent([scripted("a", DOWN), scripted("b", WeightsError("gone")), scripted("c", "ok")]).run(
        "?"
    )
    assert run.text == "ok"


async def test_the_last_failure_is_the_callers():
    last = ModelError("key", fault=ModelFault.KEY)
    with pytest.raises(ModelError) as caught:
        await FallbackModel([scripted("a", DOWN), scripted("b", last)]).complete(REQUEST)
    assert caught.value is last


class Breaking(ScriptedModel):
    """Streams a piece of text and breaks off."""

    async def stream(self, request):
        yield TextDelta(text="half")
        raise ModelError("cut", fault=ModelFault.CUT, retryable=True)


async def test_a_stream_that_has_begun_is_not_begun_again_by_another():
    second = scripted("b", "whole")
    shown: list[str] = []

    async def read() -> None:
        async for piece in FallbackModel([Breaking([], name="a"), second]).stream(REQUEST):
            shown.extend([getattr(piece, "text", "")])

    with pytest.raises(ModelError, match="cut"):
        await read()
    assert (shown, second.requests) == (["half"], [])


async def test_a_stream_that_has_not_begun_is_taken_over():
    pieces = [
        piece async for piece in FallbackModel([scripted("a", DOWN), scripted("b", "whole")]).stream(REQUEST)
    ]
    assert pieces[-1].text == "whole"


async def test_a_model_that_failed_rests_and_comes_back():
    clock = FakeClock()
    first, second = scripted("a", DOWN, "back"), scripted("b", "one", "two")
    model = FallbackModel([first, second], rest_seconds=60, clock=clock.now)
    texts = [(await model.complete(REQUEST)).text for _ in range(2)]
    assert texts == ["one", "two"]
    assert len(first.requests) == 1
    clock.advance(61)
    assert (await model.complete(REQUEST)).text == "back"


async def test_a_server_may_ask_for_a_longer_rest():
    clock = FakeClock()
    busy = ModelError("busy", fault=ModelFault.RATE_LIMITED, retryable=True, retry_after=600)
    first, second = scripted("a", busy, "back"), scripted("b", "one", "two")
    model = FallbackModel([first, second], rest_seconds=60, clock=clock.now)
    await model.complete(REQUEST)
    clock.advance(61)
    assert (await model.complete(REQUEST)).text == "two"


async def test_a_failure_of_one_request_says_nothing_about_the_next():
    refused = ModelError("bad", fault=ModelFault.REFUSED)
    model = FallbackModel([scripted("a", refused, "again"), scripted("b", "one")])
    assert [(await model.complete(REQUEST)).text for _ in range(2)] == ["one", "again"]


async def test_when_all_rest_the_first_is_asked_all_the_same():
    clock = FakeClock()
    model = FallbackModel([scripted("a", DOWN, "up"), scripted("b", DOWN)], clock=clock.now)
    with pytest.raises(ModelError):
        await model.complete(REQUEST)
    assert (await model.complete(REQUEST)).text == "up"


async def test_what_is_no_failure_of_a_model_is_not_covered_up():
    with pytest.raises(ZeroDivisionError):
        await FallbackModel([scripted("a", ZeroDivisionError()), scripted("b", "x")]).complete(REQUEST)


async def test_closing_closes_all():
    models = [scripted("a"), scripted("b")]
    await FallbackModel(models).close()
    assert all(model.is_closed for model in models)


def test_what_fallbacks_cannot_be():
    one = scripted("a")
    with pytest.raises(SettingsError, match="two different models"):
        FallbackModel([one, one])
    with pytest.raises(SettingsError):
        resolve([])
    with pytest.raises(SettingsError, match="there is no model 'nonsense:x'"):
        Agent(["local", "nonsense:x"])


def test_options_go_to_the_first():
    model = resolve("http://127.0.0.1:1/v1#m", ["http://127.0.0.1:2/v1#n"], api_key="k")
    assert [one.name for one in model.models] == ["http://127.0.0.1:1/v1#m", "http://127.0.0.1:2/v1#n"]
    assert [one._api_key for one in model.models] == ["k", ""]
