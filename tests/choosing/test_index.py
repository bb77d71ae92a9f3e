from __future__ import annotations

import pytest

from tests.timing import cpu_seconds
from toolhand import Tool
from toolhand.choosing.index import ToolIndex
from toolhand.choosing.words import words
from toolhand.core.tools import Rules

from .tools import CASES, chinese_tools, many


def test_names_in_any_spelling_are_the_same_words():
    assert words("getWeatherForecasts") == words("weather_forecast") == words("the Weather-Forecast")
    assert words("HTTPServer2Status") == ["http", "server", "2", "status"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("movie", "movies"),
        ("calculating", "calculation"),
        ("city", "cities"),
        ("planned", "plan"),
        ("orders", "ordering"),
    ],
)
def test_forms_of_a_word_meet(one, other):
    assert words(one) == words(other)


def test_chinese_is_found_by_characters_and_pairs():
    assert words("查天气") == ["查", "天", "气", "查天", "天气"]
    assert words("用API查") == ["用", "api", "查"]


def test_idle_words_say_nothing():
    assert words("Could you please tell me what this is?") == []


def test_every_field_is_looked_at():
    tools = [
        Tool(name="alpha", description="Reads rainfall."),
        Tool(name="beta", parameters={"properties": {"voltage": {"type": "number"}}}),
        Tool(name="gamma", parameters={"properties": {"x": {"description": "the vessel's draught"}}}),
        Tool(name="delta", parameters={"properties": {"x": {"enum": ["crimson", "teal"]}}}),
        Tool(name="epsilon", rules=Rules(category="payroll", tags=frozenset({"salary"}))),
        Tool(
            name="zeta",
            parameters={
                "properties": {
                    "rows": {"type": "array", "items": {"type": "object", "properties": {"isotope": {}}}}
                }
            },
        ),
    ]
    index = ToolIndex(tools)
    asked = {
        "rain rainfall": "alpha",
        "which voltage": "beta",
        "the draught of the ship": "gamma",
        "paint it teal": "delta",
        "payroll": "epsilon",
        "salary": "epsilon",
        "isotopes": "zeta",
    }
    for question, name in asked.items():
        assert [hit.name for hit in index.search(question)] == [name], question


def test_what_shares_no_word_is_not_found():
    index = ToolIndex(many())
    assert index.search("天气") == []
    assert index.search("") == []
    assert ToolIndex([]).search("anything") == []


def test_left_out_names_are_not_found_and_k_holds():
    index = ToolIndex(many())
    assert len(index.search("register", 7)) == 7
    first = index.search("the register of barns")[0].name
    assert first not in [hit.name for hit in index.search("the register of barns", without={first})]


def test_odd_schemas_do_no_harm():
    looping: dict = {"type": "object", "properties": {}}
    looping["properties"]["again"] = looping
    tools = [
        Tool(name="a", parameters={"properties": None}),
        Tool(name="b", parameters={"properties": {"x": True, "y": {"enum": 3, "description": None}}}),
        Tool(name="c", parameters=looping),
        Tool(name="\ud800", description="\x00"),
    ]
    assert len(ToolIndex(tools)) == 4


def test_nine_of_ten_chinese_questions_find_their_tool():
    index = ToolIndex([*chinese_tools(), *many()])
    questions = CASES["questions"]
    assert len(questions) == 60
    found = [
        question["tool"] in {hit.name for hit in index.search(question["question"])} for question in questions
    ]
    assert sum(found) >= 57


def test_a_long_question_costs_no_more_than_its_ends():
    index = ToolIndex(many())
    long = "register barn " * 200_000
    assert cpu_seconds(lambda: index.search(long)) < 1
