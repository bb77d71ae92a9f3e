from __future__ import annotations

import json

import pytest

from toolhand import Agent, Choose, Session, Tool, Toolset, tool
from toolhand.core.choice_events import ToolsChosen
from toolhand.core.errors import SettingsError
from toolhand.core.messages import RawCall
from toolhand.execution.layers import default_policies
from toolhand.policies.permission import AccessRule
from toolhand.testing import ScriptedModel
from toolhand.toolset import LiveToolset

from .tools import many


def offered(model: ScriptedModel, place: int = -1) -> list[str]:
    return [tool.name for tool in model.requests[place].tools]


def call(name: str, **arguments) -> RawCall:
    return RawCall(id=f"c{name}{len(json.dumps(arguments))}", name=name, arguments=json.dumps(arguments))


def agent_of(replies, tools=None, **options):
    model = ScriptedModel(replies)
    options.setdefault("protocol", "native")
    return Agent(model, many() if tools is None else tools, **options), model


def test_a_message_brings_the_tools_it_is_about():
    agent, model = agent_of([call("read_barn_register", number="7"), "barn 7 it is"], choose=5)
    events = []
    run = agent.run_sync("What does the register of barns say of 7?", on_event=events.append)
    assert run.output == "barn 7 it is"
    assert run.results[0].data == "barn 7"
    assert offered(model, 0)[:2] == ["search_tools", "read_barn_register"]
    assert len(offered(model, 0)) == 6
    assert offered(model, 0) == offered(model, 1)
    (chosen,) = [event for event in events if isinstance(event, ToolsChosen)]
    assert (chosen.reason, chosen.shown, chosen.among, chosen.is_new) == ("message", 5, 60, True)


def test_without_choose_all_are_shown_and_with_few_tools_too():
    agent, model = agent_of(["ok"])
    agent.run_sync("barns")
    assert len(offered(model)) == 60
    agent, model = agent_of(["ok"], many(6), choose=6)
    agent.run_sync("barns")
    assert len(offered(model)) == 6


def test_a_message_that_shares_no_word_with_a_tool_brings_the_first_ones():
    agent, model = agent_of(["?", "x"], choose=4)
    session = Session()
    agent.run_sync("17 * 23 = ?", session=session)
    assert offered(model) == ["search_tools", *(tool.name for tool in many(4))]
    agent.run_sync("nonsense", session=session)
    assert offered(model, 1) == offered(model, 0)


def test_within_a_session_the_list_only_grows_at_its_end():
    agent, model = agent_of(["a", "b", "c"], choose=Choose(k=3, most=20))
    session = Session()
    for question in ("barns please", "dolls please", "and the register of mists"):
        agent.run_sync(question, session=session)
    first, second, third = (offered(model, place) for place in range(3))
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert "read_doll_register" in second
    assert "read_mist_register" in third


def test_a_list_that_has_grown_too_long_begins_anew_with_what_was_called():
    questions = ["barn", "doll", "mist", "numb", "rent", "poll"]
    replies = [call("read_barn_register", number="1"), *["ok"] * 6]
    agent, model = agent_of(replies, choose=Choose(k=1, most=4, pinned=["read_kent_register"]))
    session = Session()
    for question in questions:
        agent.run_sync(f"only {question}s", session=session)
        assert len(offered(model)) <= 5
        assert f"read_{question}_register" in offered(model)
        assert "read_kent_register" in offered(model)
    assert "read_barn_register" in offered(model)
    assert "read_doll_register" not in offered(model)


def test_another_process_begins_with_what_was_called_before(tmp_path):
    store = tmp_path / "sessions.db"
    agent, _ = agent_of([call("read_barn_register", number="1"), "ok"], choose=2, store=store)
    agent.run_sync("the barns", session="s")
    agent, model = agent_of(["ok"], choose=2, store=store)
    agent.run_sync("and 8?", session="s")
    assert "read_barn_register" in offered(model)


def test_sessions_do_not_share_a_list():
    agent, model = agent_of(["a", "b"], choose=1)
    agent.run_sync("barns", session=Session())
    agent.run_sync("dolls", session=Session())
    assert offered(model) == ["search_tools", "read_doll_register"]


def test_the_model_looks_for_more_and_then_calls_it():
    replies = [call("search_tools", query="dolls"), call("read_doll_register", number="3"), "doll 3"]
    agent, model = agent_of(replies, choose=Choose(k=1))
    events = []
    run = agent.run_sync("barns", on_event=events.append)
    assert "read_doll_register" not in offered(model, 0)
    assert offered(model, 1)[:2] == offered(model, 0)
    assert "read_doll_register" in offered(model, 1)
    assert run.results[0].data["tools"][0]["name"] == "read_doll_register"
    assert run.results[1].data == "doll 3"
    assert [event.reason for event in events if isinstance(event, ToolsChosen)] == ["message", "search"]


@pytest.mark.parametrize(("question", "word"), [("barns", "other words"), ("谷仓", "换一种说法")])
def test_a_search_that_finds_nothing_says_so(question, word):
    agent, _ = agent_of([call("search_tools", query="zzz"), "no"], choose=1)
    run = agent.run_sync(question)
    assert run.results[0].data["tools"] == []
    assert word in run.results[0].data["note"]


def test_without_the_search_tool():
    agent, model = agent_of(["ok"], choose=Choose(k=2, searches=False))
    agent.run_sync("barns")
    assert "search_tools" not in offered(model)


def sale_tools(done: list[str]) -> list[Tool]:
    @tool(effect="writes")
    def sell_shares(symbol: str) -> str:
        """Sells shares."""
        done.append(symbol)
        return "sold"

    return [*many(), sell_shares]


def test_a_writing_tool_that_was_never_shown_is_shown_before_it_runs():
    done: list[str] = []
    replies = [call("sell_shares", symbol="X"), call("sell_shares", symbol="Y"), "sold Y"]
    agent, model = agent_of(replies, sale_tools(done), choose=1)
    run = agent.run_sync("barns")
    assert done == ["Y"]
    assert run.results[0].error.code == "doubtful"
    assert "did not run" in run.results[0].error.message
    assert "sell_shares" not in offered(model, 0)
    assert "sell_shares" in offered(model, 1)


def test_a_reading_tool_that_was_never_shown_runs():
    agent, model = agent_of([call("read_doll_register", number="3"), "ok"], choose=1)
    run = agent.run_sync("barns")
    assert run.results[0].data == "doll 3"
    assert "read_doll_register" in offered(model, 1)


def test_a_tool_that_the_user_may_not_call_is_neither_shown_nor_found():
    policies = default_policies(access=[AccessRule(access="deny", tools="read_barn*")])
    replies = [call("search_tools", query="barns"), call("read_barn_register", number="1"), "no"]
    agent, model = agent_of(replies, choose=2, policies=policies)
    run = agent.run_sync("the register of barns")
    assert all("read_barn_register" not in offered(model, place) for place in range(3))
    assert "read_barn_register" not in str(run.results[0].data)
    assert not run.results[1].ok


def test_a_named_tool_choice_is_shown():
    agent, model = agent_of([call("read_doll_register", number="1"), "ok"], choose=1)
    agent.run_sync("barns", tool_choice="read_doll_register")
    assert "read_doll_register" in offered(model, 0)
    assert model.requests[0].tool_choice.names == ("read_doll_register",)


@pytest.mark.parametrize("protocol", ["json", "react", "template", "constrained", "plan", "code"])
def test_in_every_protocol_only_chosen_tools_are_described(protocol):
    agent, model = agent_of(["fine"], choose=2, protocol=protocol)
    agent.run_sync("the register of barns")
    request = model.requests[0]
    written = " ".join(message.text for message in request.messages) + json.dumps(request.grammar or {})
    assert "read_barn_register" in written + str([t.name for t in request.tools])
    assert "read_tumb_register" not in written
    assert len(written) < 6_000


class Growing:
    """A source whose list grows from one look at it to the next."""

    def __init__(self) -> None:
        self.version = 1
        self.found = many(3)

    def tools(self) -> list[Tool]:
        return self.found

    async def open(self) -> None: ...

    async def close(self) -> None: ...


@pytest.mark.parametrize("beside", [False, True])
def test_a_list_that_changes_is_chosen_from_anew(beside):
    source = Growing()
    live = LiveToolset(source)
    agent, model = agent_of(["a", "b", "c"], [live, *many(61)[60:]] if beside else live, choose=4)
    session = Session()
    agent.run_sync("barns", session=session)
    assert len(offered(model)) == 3 + beside
    source.found, source.version = many(50), 2
    agent.run_sync("fists", session=session)
    assert "read_fist_register" in offered(model)
    assert "search_tools" in offered(model)
    assert len(offered(model)) < 12
    source.found, source.version = many(2), 3
    agent.run_sync("barns", session=session)
    assert set(offered(model)) == {tool.name for tool in many(2)} | ({many(61)[60].name} if beside else set())


def test_with_an_answer_of_a_type():
    agent, model = agent_of([call("final_answer", answer=4)], choose=1, output=int)
    assert agent.run_sync("barns").output == 4
    assert offered(model) == ["search_tools", "final_answer", "read_barn_register"]


def test_policies_keep_what_they_counted():
    done: list[str] = []
    tools = Toolset(sale_tools(done))
    agent, _ = agent_of([call("search_tools", query="sell shares"), "x"], tools, choose=1)
    assert "search_tools" not in tools
    assert agent.setup.chooser.ready(tools).dispatch.policies == tools.dispatch.policies


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"choose": 0}, "choose is a number"),
        ({"choose": "ten"}, "choose is a number"),
        ({"choose": True}, "choose is a number"),
    ],
)
def test_a_choice_that_cannot_be_is_named(options, said):
    with pytest.raises(SettingsError, match=said):
        agent_of([], **options)


def test_what_choose_refuses():
    with pytest.raises(SettingsError, match="k is a number"):
        Choose(k=0)
    with pytest.raises(SettingsError, match="no room"):
        Choose(k=5, most=3)
    with pytest.raises(SettingsError, match="no tool 'x' to pin"):
        agent_of([], choose=Choose(k=1, pinned="x"))
    named = Tool(name="search_tools", description="mine")
    with pytest.raises(SettingsError, match="rename"):
        agent_of([], [*many(), named], choose=1)
