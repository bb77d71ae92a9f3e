from __future__ import annotations

import pytest

from toolhand import ErrorCode, RunContext, ToolFailure
from toolhand.core.events import CallFailed
from toolhand.policies.conditions import conditions, requires

from .calls import Way, made


class Shop:
    def __init__(self):
        self.runs = 0

    def tool(self, **rules):
        async def book(flight: str, seats: int = 2) -> dict:
            self.runs += 1
            return {"flight": flight, "seats": seats}

        return made(book, **rules)


@pytest.fixture
def shop():
    return Shop()


async def _async_says(arguments, context):
    return "Log in first."


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        (lambda arguments, context: "Log in first.", "Log in first."),
        (_async_says, "Log in first."),
        (lambda arguments, context: False, "has to be done first"),
        (lambda arguments, context: 1 / 0, "could not be found out"),
        (lambda arguments: None, "could not be found out"),
    ],
)
async def test_a_condition_that_does_not_hold_stops_the_call(shop, condition, sentence):
    result = await Way(conditions)(shop.tool(before=(lambda a, c: None, condition)), flight="CA1")
    assert result.error.code is ErrorCode.PRECONDITION_FAILED
    assert sentence in result.error.message
    assert shop.runs == 0


async def test_a_condition_may_refuse_as_a_tool_does(shop):
    def condition(arguments, context):
        raise ToolFailure("The basket is empty.", hint="Add something first.")

    result = await Way(conditions)(shop.tool(before=(condition,)), flight="CA1")
    assert result.error.message == "The basket is empty. Add something first."


async def test_conditions_see_arguments_with_defaults_and_the_runs_facts(shop):
    seen = []

    def before(arguments, context):
        seen.append((arguments, context.user))
        return True

    def after(arguments, result, context):
        seen.append((arguments, result))

    way = Way(conditions, context=RunContext(user="ann"))
    assert (await way(shop.tool(before=(before,), after=(after,)), flight="CA1")).ok
    booked = {"flight": "CA1", "seats": 2}
    assert seen == [(booked, "ann"), (booked, booked)]


@pytest.mark.parametrize(("effect", "is_said"), [("writes", True), ("reads", False)])
async def test_a_result_that_is_not_what_it_has_to_be(shop, effect, is_said):
    def after(arguments, result, context):
        return None if result["seats"] == 4 else f"Only {result['seats']} seats were booked."

    way = Way(conditions)
    result = await way(shop.tool(after=(after,), effect=effect), flight="CA1")
    assert result.error.code is ErrorCode.POSTCONDITION_FAILED
    assert "Only 2 seats" in result.error.message
    assert ("has had its effect" in result.error.sentence) is is_said
    assert not result.error.retryable
    assert (await way(shop.tool(after=(after,)), flight="CA1", seats=4)).ok


async def test_a_check_that_raises_says_that_the_tool_ran(shop):
    way = Way(conditions)
    result = await way(shop.tool(after=(lambda a, r, c: 1 / 0,), effect="writes"), flight="CA1")
    assert result.error.code is ErrorCode.POSTCONDITION_FAILED
    assert "ran" in result.error.message
    assert len(way.of(CallFailed)) == 1


async def test_after_is_not_asked_about_an_error(shop):
    async def broken(x: int) -> str:
        raise ValueError

    result = await Way(conditions)(made(broken, after=(lambda a, r, c: "never",)), x=1)
    assert result.error.code is ErrorCode.EXECUTION


@pytest.mark.parametrize(("language", "words"), [("en", "Call 'search' first"), ("zh", "请先调用“search”")])
async def test_a_tool_can_require_another(shop, language, words):
    async def search(to: str) -> str:
        if to == "nowhere":
            raise ToolFailure("no flights")
        return "CA1"

    way = Way(conditions, context=RunContext(language=language))
    book = shop.tool(before=(requires("search"),))
    first = await way(book, flight="CA1")
    assert words in first.error.message
    assert first.error.details["first"] == "search"
    assert not (await way(made(search), to="nowhere")).ok
    assert not (await way(book, flight="CA1")).ok
    assert (await way(made(search), to="Rome")).ok
    assert (await way(book, flight="CA1")).ok
    assert not (await way(book, context=RunContext(), flight="CA1")).ok  # another run
