"""A value that only describes what another tool would find is sent back; names, and a person's own words, are not."""

from __future__ import annotations

import pytest

from toolhand import Toolset
from toolhand.arguments.grounding import checked_values
from toolhand.arguments.grounds import Grounds
from toolhand.core.messages import ToolCall, user
from toolhand.core.tools import Rules, Tool


def made(name, description, /, effect="reads", **properties):
    schemas = {key: {"type": "string", "description": value} for key, value in properties.items()}
    parameters = {"type": "object", "properties": schemas, "required": list(properties)}
    return Tool(name=name, description=description, parameters=parameters, rules=Rules(effect=effect))


TOOLS = Toolset(
    [
        made("meetings_of", "Lists the meetings of a person with their rooms.", person="Name"),
        made("room_equipment", "Tells what equipment a room has.", room="Name of the room"),
        made("next_port", "Tells the next port of a ship.", ship_name="The ship"),
        made("port_weather", "Gives the weather at a port.", port="Name of the port"),
        made("team_captain", "Names the captain of a team.", team="Name of the team"),
        made("player_goals", "Tells how many goals a player has scored.", player="Name of the player"),
        made("search_web", "Searches the web.", query="What to search for"),
        made("gauge_of_tank", "Gives the id of the gauge in a tank.", tank="Name"),
        made("read_gauge", "Reads a gauge.", gauge_id="Id of the gauge"),
        made("class_teacher", "查询一个班级的班主任", class_name="班级"),
        made("teacher_phone", "查询老师的电话", teacher="老师姓名"),
    ]
)


def sent_back(said, *calls, language="en"):
    made_calls = [
        ToolCall(id=str(number), name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(calls)
    ]
    good, bad = checked_values(made_calls, Grounds([user(said)]), TOOLS, language, checks_steps=True)
    assert len(good) + len(bad) == len(calls)
    return [(call.name, call.problem.details["tools"]) for call in bad]


@pytest.mark.parametrize(
    ("said", "calls", "back"),
    [
        (
            "Has the room of Ann's meeting a projector?",
            [("room_equipment", {"room": "Ann's meeting"})],
            "room_equipment",
        ),
        (
            "The weather at the next port of the ship Aurelia?",
            [("port_weather", {"port": "Aurelia"})],
            "port_weather",
        ),
        (
            "How many goals has the captain of the Foxes?",
            [("team_captain", {"team": "Foxes"}), ("player_goals", {"player": "captain of the Foxes"})],
            "player_goals",
        ),
        (
            "三年二班班主任的电话",
            [("class_teacher", {"class_name": "三年二班"}), ("teacher_phone", {"teacher": "班主任"})],
            "teacher_phone",
        ),
        (
            "What does the gauge in the north tank show?",
            [("read_gauge", {"gauge_id": "gauge_in_north_tank"})],
            "read_gauge",
        ),
        (
            "What does the newest gauge of tank 4 show?",
            [("gauge_of_tank", {"tank": "4"}), ("read_gauge", {"gauge_id": "newest"})],
            "read_gauge",
        ),
        ("Has Ann's room a projector?", [("room_equipment", {"room": "Name of the room"})], "room_equipment"),
        (
            "The weather where the Aurelia goes next?",
            [("next_port", {"ship_name": "Aurelia"}), ("port_weather", {"port": "Lisbon"})],
            "port_weather",
        ),
        (
            "三年二班班主任的电话",
            [("class_teacher", {"class_name": "三年二班"}), ("teacher_phone", {"teacher": "三年二班班主任"})],
            "teacher_phone",
        ),
        (
            "The weather where the Aurelia goes?",
            [("port_weather", {"port": "where the Aurelia goes"})],
            "port_weather",
        ),
    ],
)
def test_a_description_is_sent_back(said, calls, back):
    assert [name for name, _ in sent_back(said, *calls)] == [back]


def test_it_is_told_what_to_call_first():
    (back,) = sent_back("The room of Ann's meeting?", ("room_equipment", {"room": "Ann's meeting"}))
    assert back == ("room_equipment", ["meetings_of"])


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ("What is in the room Copper?", [("room_equipment", {"room": "Copper"})]),
        ("The weather at the port Aurelia?", [("port_weather", {"port": "Aurelia"})]),
        ("The weather at the Port of Spain", [("port_weather", {"port": "Port of Spain"})]),
        ("What has Men's Lounge?", [("room_equipment", {"room": "Men's Lounge"})]),
        (
            "Who leads the Foxes, and the goals of Ines Quist?",
            [("team_captain", {"team": "Foxes"}), ("player_goals", {"player": "Ines Quist"})],
        ),
        (
            "Who leads the Foxes? Search for the captain of the Foxes too",
            [("team_captain", {"team": "Foxes"}), ("search_web", {"query": "captain of the Foxes"})],
        ),
        ("Read gauge main-inlet", [("read_gauge", {"gauge_id": "main-inlet"})]),
        ("林老师的电话", [("teacher_phone", {"teacher": "林老师"})]),
    ],
)
def test_a_name_is_not(said, calls):
    assert sent_back(said, *calls) == []


def test_in_chinese_the_error_is_too():
    calls = [ToolCall(id="1", name="room_equipment", arguments={"room": "Ann's meeting"})]
    _, (bad,) = checked_values(calls, Grounds([user("Ann's meeting")]), TOOLS, "zh", checks_steps=True)
    assert "只是描述" in bad.problem.message
