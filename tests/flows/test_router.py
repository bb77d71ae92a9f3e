from __future__ import annotations

import json

import pytest

from tests.choosing.tools import chinese_tools
from toolhand import Agent, Router, Session, tool
from toolhand.core.errors import SettingsError
from toolhand.flows import Chain, Route
from toolhand.testing import ScriptedModel


@tool(category="weather")
def get_weather(city: str) -> str:
    """Gives today's weather in a city: rain, sun, temperature."""
    return f"sunny in {city}"


@tool(category="orders")
def get_order(number: str) -> str:
    """Gives the state of an order, and when its parcel arrives."""
    return "sent"


@tool
def current_time() -> str:
    """Gives the time."""
    return "noon"


def agents():
    models = {name: ScriptedModel(lambda request, name=name: name) for name in ("weather", "orders")}
    made = {
        "weather": Agent(models["weather"], [get_weather], protocol="native"),
        "orders": Agent(models["orders"], [get_order], protocol="native"),
    }
    return made, models


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("Will it rain today?", "weather"),
        ("Where is my parcel?", "orders"),
        ("What is the state of A-1?", "orders"),
    ],
)
def test_by_words(text, route):
    made, models = agents()
    run = Router(made).run_sync(text)
    assert (run.output, run.steps[0].name, run.steps[0].reason) == (route, route, "words")
    assert len(models[route].requests) == 1


def test_by_rule_also_async():
    made, _ = agents()
    rule = lambda text: "orders" if text.startswith("#") else None  # noqa: E731
    router = Router(made, by=rule, otherwise="weather")
    assert router.run_sync("#17").steps[0].reason == "rule"
    assert router.run_sync("17").steps[0].reason == "otherwise"

    async def slow(text):
        return "orders"

    assert Router(made, by=slow).run_sync("x").output == "orders"
    with pytest.raises(SettingsError, match="gave 'nowhere'"):
        Router(made, by=lambda text: "nowhere").run_sync("x")


def test_by_model():
    made, _ = agents()
    judge = ScriptedModel(
        [json.dumps({"answer": "orders"}), '"weather"', "the weather", "no idea", "still", "none"]
    )
    router = Router(made, by=judge)
    assert router.run_sync("zzz").steps[0].reason == "model"
    assert "Gives the state of an order" in judge.requests[0].messages[-1].text
    assert router.run_sync("zzz").output == "weather"


def test_a_message_that_decides_nothing_goes_where_the_last_one_went():
    made, _ = agents()
    router = Router(made)
    session = Session()
    assert router.run_sync("rain in Rome?", session=session).output == "weather"
    again = router.run_sync("und Paris?", session=session)
    assert (again.output, again.steps[0].reason) == ("weather", "session")
    assert len(session.messages) == 4
    lost = router.run_sync("und Paris?")
    assert (lost.stopped, lost.error.code) == ("error", "precondition_failed")
    assert "weather, orders" in lost.text
    assert "没有适合" in router.run_sync("你好").text


def test_tools_and_chains_are_routes_too():
    router = Router({"time": current_time, "price": Route(Chain([get_order]), "what an order is doing")})
    assert router.run_sync("what is the time?").output == "noon"
    assert router.run_sync("how is the order doing").output == "sent"


def test_by_category_each_agent_has_its_tools_and_those_of_none():
    model = ScriptedModel(lambda request: ", ".join(tool.name for tool in request.tools))
    router = Router.by_category(
        model, [get_weather, get_order, current_time], otherwise="orders", protocol="native"
    )
    assert router.run_sync("rain?").output == "get_weather, current_time"
    assert router.run_sync("hm").output == "get_order, current_time"
    assert router.run_sync("rain?", session="s").ok
    assert router.run_sync("my parcel", session="s").ok


def test_chinese_categories():
    model = ScriptedModel(lambda request: "ok")
    router = Router.by_category(model, chinese_tools(), protocol="native")
    for text, route in {
        "明天要带伞吗，会下雨吗": "天气",
        "我的快递到哪里了": "物流",
        "帮我请一天年假": "人事",
        "去医院看医生，挂皮肤科的号": "医疗",
    }.items():
        assert router.run_sync(text).steps[0].name == route


def test_what_a_router_refuses():
    with pytest.raises(SettingsError, match="at least one route"):
        Router({})
    with pytest.raises(SettingsError, match="otherwise='x' is no route"):
        Router({"time": current_time}, otherwise="x")
    with pytest.raises(SettingsError, match="no tool has a category"):
        Router.by_category(ScriptedModel([]), [current_time])
