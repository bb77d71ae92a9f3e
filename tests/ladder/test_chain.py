"""A chain of steps that a model left out is planned as a whole, and the ladder is where it was afterwards."""

from __future__ import annotations

import asyncio

import pytest

from toolhand import Agent, tool
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.ladder import Ladder, Profile
from toolhand.testing import ScriptedModel

RAN = []


@tool
def find_guest(name: str) -> dict[str, str]:
    """Finds a hotel guest by name. Returns guest_id."""
    RAN.append(("find_guest", name))
    return {"guest_id": "G-77"}


@tool
def guest_room(guest_id: str) -> dict[str, str]:
    """Tells the room of a guest. Returns room."""
    RAN.append(("guest_room", guest_id))
    return {"room": "R12"}


@tool
def room_heating(room_id: str) -> dict[str, int]:
    """Tells how warm a room is. Returns degrees."""
    RAN.append(("room_heating", room_id))
    return {"degrees": 21}


TOOLS = [find_guest, guest_room, room_heating]
PROFILE = Profile(rungs=("native",), checks_steps=True, plans_chains=True)
PLAN = 'find_guest(name="Mara Voss") -> a\nguest_room(guest_id=$a) -> b\nroom_heating(room_id=$b)'


def calling(name, arguments):
    return ModelOutput(calls=(RawCall(id="c1", name=name, arguments=arguments),), finish_reason="tool_calls")


def run(*replies, profile=PROFILE, tools=TOOLS):
    RAN.clear()
    model = ScriptedModel(list(replies))
    agent = Agent(model, tools, protocol=Ladder(profile))

    async def followed():
        return [event async for event in agent.stream("How warm is Mara Voss's room?")]

    events = asyncio.run(followed())
    return events[-1].run, model, events


INVENTED = calling("room_heating", '{"room_id": "MV-101"}')


def test_a_chain_that_was_left_out_is_planned_as_a_whole():
    done, model, events = run(INVENTED, PLAN, "It is 21 degrees.")
    assert RAN == [("find_guest", "Mara Voss"), ("guest_room", "G-77"), ("room_heating", "R12")]
    assert done.text == "It is 21 degrees."
    steps = [(e.protocol, e.next_protocol) for e in events if type(e).__name__.startswith("Stepped")]
    assert steps == [("native", "plan"), ("plan", "native")]
    asked = model.requests[1].messages
    assert "MV-101" not in "".join(message.text for message in asked)  # a plan begins anew


def test_calls_of_one_reply_that_need_one_another_are_planned_too():
    both = ModelOutput(
        calls=(
            RawCall(id="c1", name="guest_room", arguments='{"guest_id": "G-77"}'),
            RawCall(id="c2", name="find_guest", arguments='{"name": "Mara Voss"}'),
        ),
        finish_reason="tool_calls",
    )
    done, _, _ = run(both, PLAN, "It is 21 degrees.")
    assert [name for name, _ in RAN] == ["find_guest", "guest_room", "room_heating"]
    assert done.text == "It is 21 degrees."


def test_calls_of_one_reply_that_need_nothing_of_one_another_run():
    both = ModelOutput(
        calls=tuple(
            RawCall(id=f"c{at}", name="find_guest", arguments=f'{{"name": "{name}"}}')
            for at, name in enumerate(("Ann", "Bo"))
        ),
        finish_reason="tool_calls",
    )
    _, _, events = run(both, "Done.")
    assert sorted(RAN) == [("find_guest", "Ann"), ("find_guest", "Bo")]  # they run side by side
    assert not [event for event in events if type(event).__name__ == "SteppedDown"]


@pytest.mark.parametrize(
    ("profile", "tools", "reply"),
    [
        (Profile(rungs=("native",), checks_steps=True), TOOLS, INVENTED),  # not of this profile
        (
            PROFILE,
            [find_guest, guest_room],
            calling("guest_room", '{"guest_id": "MV-101"}'),
        ),  # one step is no chain
    ],
)
def test_other_calls_that_were_sent_back_are_asked_for_again(profile, tools, reply):
    _, _, events = run(reply, "I do not know.", profile=profile, tools=tools)
    assert not [e for e in events if type(e).__name__ == "SteppedDown"]


def test_a_model_that_cannot_plan_is_asked_as_before():
    _, _, events = run(INVENTED, *["find_guest(name=", "find_guest(name="] * 2, "I do not know.")
    steps = [e.next_protocol for e in events if type(e).__name__.startswith("Stepped")]
    assert steps == ["plan", "native"]
