"""The loop, with a scripted model for what a real one does not do on demand."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from typing import Annotated

import pytest
from pydantic import AfterValidator

from toolhand import Agent, Limits, RunContext, Session, ToolFailure, Toolset, tool
from toolhand.core.errors import ModelError, SessionError, SettingsError, UnknownToolError
from toolhand.core.events import (
    CallFailed,
    CallFinished,
    CallStarted,
    ModelReplied,
    RunFinished,
    TextDelta,
    TurnStarted,
)
from toolhand.core.messages import Message, ModelOutput, Note, Opaque, RawCall, Text
from toolhand.testing import ScriptedModel


@tool
def get_weather(city: str, days: int = 1) -> str:
    """The weather of a city.

    Args:
        city: the city's name.
        days: how many days.
    """
    return f"{city}: 21 °C for {days}"


def asks(*calls: tuple[str, str, str], text: str = "") -> ModelOutput:
    raw = tuple(RawCall(id=id_, name=name, arguments=arguments) for id_, name, arguments in calls)
    return ModelOutput(text=text, calls=raw, finish_reason="tool_calls")


def weather(city: str, id_: str = "c1") -> ModelOutput:
    return asks((id_, "get_weather", f'{{"city": "{city}"}}'))


def assert_valid(messages: tuple[Message, ...]) -> None:
    """Every call has exactly one result, in the message behind it, and ids are unique."""
    seen: set[str] = set()
    for message, following in zip(messages, (*messages[1:], None), strict=True):
        ids = [call.id for call in message.calls]
        assert all(ids)
        assert len(set(ids)) == len(ids)
        assert not seen & set(ids)
        seen |= set(ids)
        if ids:
            assert following is not None
            assert following.role == "tool"
            assert [result.call_id for result in following.results] == ids
        if message.role == "tool":
            assert message.results


async def test_a_call_is_run_and_its_result_answered():
    model = ScriptedModel([weather("北京"), "北京 21 度。"])
    run = await Agent(model, tools=[get_weather]).run("北京天气？")
    assert run.output == "北京 21 度。"
    assert run.stopped == "answered"
    assert [dict(call.arguments) for call in run.calls] == [{"city": "北京"}]
    assert [result.data for result in run.results] == ["北京: 21 °C for 1"]
    assert [message.role for message in run.messages] == ["user", "assistant", "tool", "assistant"]
    assert model.requests[1].messages[-1].results[0].data == "北京: 21 °C for 1"
    assert_valid(run.messages)


def test_the_synchronous_face_does_the_same():
    run = Agent(ScriptedModel([weather("上海"), "好"]), tools=[get_weather]).run_sync("上海天气？")
    assert (run.output, run.stopped, len(run.calls)) == ("好", "answered", 1)


async def test_the_synchronous_face_works_inside_a_running_loop():
    assert Agent(ScriptedModel(["好"])).run_sync("在吗？").output == "好"


@pytest.mark.parametrize(
    "text",
    [
        'I will check.\n```json\n{"name": "get_weather", "arguments": {"city": "北京"}}\n```',
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "北京"}}\n</tool_call>',
        '{"tool": "get_weather", "args": {"city": "北京"}}',
    ],
)
async def test_a_call_that_the_server_left_in_the_text_is_run(text):
    run = await Agent(ScriptedModel([text, "21 度"]), tools=[get_weather]).run("北京天气？")
    assert [dict(call.arguments) for call in run.calls] == [{"city": "北京"}]
    assert run.output == "21 度"
    assert_valid(run.messages)


async def test_a_quoted_example_is_not_run():
    text = 'You could configure it like this, for example: {"name": "get_weather", "arguments": {"city": "北京"}}. That is all.'
    run = await Agent(ScriptedModel([text]), tools=[get_weather]).run("How do calls look?")
    assert run.calls == ()
    assert run.stopped == "answered"


async def test_an_unknown_tool_is_answered_with_what_there_is():
    model = ScriptedModel([asks(("c1", "launch_rocket", "{}")), "sorry"])
    run = await Agent(model, tools=[get_weather]).run("?")
    error = run.results[0].error
    assert error is not None
    assert error.code == "unknown_tool"
    assert "get_weather" in error.sentence
    assert run.output == "sorry"
    assert_valid(run.messages)


async def test_bad_arguments_are_answered_in_words_that_teach():
    model = ScriptedModel(
        [asks(("c1", "get_weather", '{"city": "京", "days": "很多"}')), weather("京", "c2"), "ok"]
    )
    run = await Agent(model, tools=[get_weather]).run("?")
    error = run.results[0].error
    assert error is not None
    assert error.code == "invalid_argument"
    for word in ("days", "integer", "很多"):
        assert word in error.message
    assert run.results[1].ok
    assert_valid(run.messages)


async def test_arguments_that_are_not_json_are_answered():
    model = ScriptedModel([asks(("c1", "get_weather", '{"days": 2, "city": }')), "ok"])
    run = await Agent(model, tools=[get_weather]).run("?")
    assert run.results[0].error is not None
    assert "city" in run.results[0].error.message
    assert_valid(run.messages)


async def test_a_cut_call_is_not_run():
    cut = ModelOutput(
        calls=(RawCall(id="c1", name="get_weather", arguments='{"city": "北'),), finish_reason="length"
    )
    run = await Agent(ScriptedModel([cut, "ok"]), tools=[get_weather]).run("?")
    assert run.results[0].error is not None
    assert run.results[0].error.code == "truncated"


@pytest.mark.parametrize("ids", [("c1", "c1"), ("", ""), ("c1", "")])
async def test_equal_and_empty_ids_become_unique(ids):
    first = asks(*((id_, "get_weather", f'{{"city": "{n}"}}') for n, id_ in enumerate(ids)))
    model = ScriptedModel([first, weather("again", ids[0]), "ok"])
    run = await Agent(model, tools=[get_weather]).run("?")
    assert [result.data for result in run.results] == [
        "0: 21 °C for 1",
        "1: 21 °C for 1",
        "again: 21 °C for 1",
    ]
    assert len({call.id for call in run.calls}) == 3
    assert_valid(run.messages)


async def test_the_text_of_a_tools_exception_is_not_shown_but_logged():
    @tool
    def broken() -> str:
        """Breaks."""
        raise ValueError("db down: password=hunter2")

    events = []
    run = await Agent(ScriptedModel([asks(("c1", "broken", "{}")), "ok"]), tools=[broken]).run(
        "?", on_event=events.append
    )
    error = run.results[0].error
    assert error is not None
    assert error.code == "execution"
    assert "hunter2" not in repr(run)
    failed = [event for event in events if isinstance(event, CallFailed)]
    assert "hunter2" in str(failed[0].exception)
    assert failed[0].exception.__traceback__ is not None


async def test_a_tools_own_failure_is_shown_in_its_words():
    @tool
    def closed() -> str:
        """Closed."""
        raise ToolFailure("The shop is closed.", hint="Ask again on Monday.", retryable=True)

    run = await Agent(ScriptedModel([asks(("c1", "closed", "{}")), "ok"]), tools=[closed]).run("?")
    assert run.results[0].error is not None
    assert run.results[0].error.sentence == "The shop is closed. Ask again on Monday."


@pytest.mark.parametrize(
    "raised", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), StopIteration(), MemoryError()]
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_nothing_that_a_tool_raises_ends_the_run(raised, is_async):
    def plain() -> str:
        """Raises."""
        raise raised

    async def coroutine() -> str:
        """Raises."""
        raise raised

    made = tool(name="raises")(coroutine if is_async else plain)
    run = await Agent(ScriptedModel([asks(("c1", "raises", "{}")), "ok"]), tools=[made]).run("?")
    assert run.output == "ok"
    assert not run.results[0].ok


async def test_parallel_calls_run_side_by_side_and_one_failure_does_not_sink_the_others():
    together = threading.Barrier(3, timeout=10)

    @tool
    def meet(n: int) -> int:
        """Waits for the two others."""
        together.wait()
        if n == 1:
            raise RuntimeError("only me")
        return n

    model = ScriptedModel([asks(*((f"c{n}", "meet", f'{{"n": {n}}}') for n in range(3))), "ok"])
    run = await Agent(model, tools=[meet]).run("?")
    assert [result.data for result in run.results] == [0, None, 2]
    assert_valid(run.messages)


async def test_at_the_turn_limit_the_model_is_asked_for_its_best_answer():
    model = ScriptedModel(
        lambda request: "as far as I know" if request.tool_choice.mode == "none" else weather("京")
    )
    run = await Agent(model, tools=[get_weather], limits=Limits(turns=3)).run("?")
    assert run.stopped == "turn_limit"
    assert run.output == "as far as I know"
    assert len(run.calls) == 3
    assert isinstance(model.requests[-1].messages[-1].parts[0], Note)
    assert_valid(run.messages)


async def test_calls_in_the_forced_answer_are_refused_not_run():
    ran = []

    @tool
    def touch() -> str:
        """Touches."""
        ran.append(1)
        return "done"

    model = ScriptedModel(lambda _: asks(("c1", "touch", "{}"), text="almost"))
    run = await Agent(model, tools=[touch], limits=Limits(turns=2)).run("?")
    assert run.stopped == "turn_limit"
    assert len(ran) == 2
    assert run.results[-1].error is not None
    assert run.results[-1].error.code == "not_allowed"
    assert run.output == "almost"
    assert_valid(run.messages)


async def test_other_limits():
    def script(request):
        return "best" if request.tool_choice.mode == "none" else weather("京")

    agent = Agent(ScriptedModel(script), tools=[get_weather])
    assert (await agent.run("?", limits=Limits(calls=2))).stopped == "call_limit"
    assert (await agent.run("?", limits=Limits(seconds=0))).stopped == "time_limit"
    empty = Agent(
        ScriptedModel(lambda request: "best" if request.tool_choice.mode == "none" else ""),
        tools=[get_weather],
    )
    run = await empty.run("?")
    assert (run.stopped, run.output) == ("repair_limit", "best")


async def test_required_and_named_choices():
    model = ScriptedModel(["I would rather talk", weather("京"), "ok"])
    run = await Agent(model, tools=[get_weather], tool_choice="required").run("?")
    assert len(run.calls) == 1
    assert run.output == "ok"
    assert model.requests[0].tool_choice.mode == "required"

    @tool
    def other() -> str:
        """Other."""
        return "other"

    model = ScriptedModel([asks(("c1", "other", "{}")), "ok"])
    run = await Agent(model, tools=[get_weather, other]).run("?", tool_choice=["get_weather"])
    assert run.results[0].error is not None
    assert run.results[0].error.code == "not_allowed"
    with pytest.raises(UnknownToolError, match="nothing_such"):
        Agent(model, tools=[get_weather], tool_choice="nothing_such")


async def test_sessions_remember_and_users_never_meet():
    model = ScriptedModel(lambda request: str(sum(message.role == "user" for message in request.messages)))
    agent = Agent(model)
    assert [(await agent.run("?", session="s", user="甲")).output for _ in range(2)] == ["1", "2"]
    with pytest.raises(SessionError, match="another user"):
        await agent.run("?", session="s", user="乙")
    with pytest.raises(SessionError, match="another user"):
        await agent.run("?", session="s")
    assert (await agent.run("?", session="乙/s", user="乙")).output == "1"
    assert (await agent.run("?")).output == "1"


async def test_runs_of_one_session_follow_one_another():
    agent = Agent(ScriptedModel(lambda _: "答"))
    await asyncio.gather(*(agent.run(f"问{n}", session="s") for n in range(8)))
    roles = [message.role for message in agent.session("s").messages]
    assert roles == ["user", "assistant"] * 8


async def test_a_plain_tool_does_not_block_the_loop():
    release = threading.Event()

    @tool
    def wait() -> str:
        """Waits."""
        return str(release.wait(10))

    running = asyncio.ensure_future(
        Agent(ScriptedModel([asks(("c1", "wait", "{}")), "ok"]), tools=[wait]).run("?")
    )
    await asyncio.sleep(0.05)
    release.set()
    assert (await running).results[0].data == "True"


async def test_a_timeout_ends_the_call_and_the_model_is_told():
    release = threading.Event()

    @tool(timeout=0.05)
    def hang() -> str:
        """Hangs."""
        return str(release.wait(10))

    @tool(timeout=0.05, effect="writes")
    async def write() -> str:
        """Hangs."""
        await asyncio.sleep(10)
        return ""

    started = time.monotonic()
    model = ScriptedModel([asks(("c1", "hang", "{}"), ("c2", "write", "{}")), "ok"])
    run = await Agent(model, tools=[hang, write]).run("?")
    assert time.monotonic() - started < 5
    assert [result.error.code for result in run.results if result.error] == ["timeout", "outcome_unknown"]
    release.set()


async def test_cancelling_leaves_a_valid_history():
    started = asyncio.Event()

    @tool(effect="writes")
    async def slow() -> str:
        """Slow."""
        started.set()
        await asyncio.sleep(10)
        return ""

    session = Session("s")
    model = ScriptedModel([asks(("c1", "slow", "{}"), ("c2", "get_weather", '{"city": "京"}')), "later"])
    agent = Agent(model, tools=[slow, get_weather])
    running = asyncio.ensure_future(agent.run("?", session=session))
    await started.wait()
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert_valid(session.messages)
    first, second = session.messages[-1].results
    assert first.error is not None
    assert first.error.code == "outcome_unknown"
    assert second.ok
    assert (await agent.run("and now?", session=session)).output == "later"


async def test_events_stream_in_order():
    model = ScriptedModel(
        [
            "好的，我来查。" + '<tool_call>{"name": "get_weather", "arguments": {"city": "京"}}</tool_call>',
            "21 度。",
        ]
    )
    events = [event async for event in Agent(model, tools=[get_weather]).stream("京？")]
    kinds = [type(event) for event in events if not isinstance(event, TextDelta)]
    assert [kind for kind in kinds if kind in (TurnStarted, ModelReplied, CallStarted, CallFinished, RunFinished)] == [
        TurnStarted, ModelReplied, CallStarted, CallFinished, TurnStarted, ModelReplied, RunFinished,
    ]  # fmt: skip
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert text.replace("\n", "") == "好的，我来查。21 度。"


async def test_a_stream_that_is_left_early_is_cancelled():
    session = Session("s")
    agent = Agent(ScriptedModel(lambda _: weather("京")), tools=[get_weather])
    stream = agent.stream("?", session=session)
    async for event in stream:
        if isinstance(event, CallFinished):
            break
    await stream.aclose()
    assert_valid(session.messages)


async def test_a_failing_server_is_an_exception_and_the_session_lives_on():
    session = Session("s")
    agent = Agent(ScriptedModel([ModelError("the server is down", status=500), "ok"]))
    with pytest.raises(ModelError, match="the server is down"):
        await agent.run("?", session=session)
    assert (await agent.run("?", session=session)).output == "ok"


async def test_a_call_inside_reasoning_is_never_silent():
    text = '<think>I need it. <tool_call>{"name": "get_weather", "arguments": {"city": "贵阳"}}</tool_call></think>'
    model = ScriptedModel([text, weather("贵阳"), "好"])
    run = await Agent(model, tools=[get_weather]).run("贵阳？")
    assert run.output == "好"
    assert len(run.calls) == 1
    assert isinstance(model.requests[1].messages[-1].parts[0], Note)


async def test_one_agent_serves_many_users_with_injected_facts():
    @tool
    def whoami(context: RunContext) -> str:
        """Who asks."""
        return f"{context.user}/{context.session_id}"

    def script(request):
        return (
            request.messages[-1].results[0].data
            if request.messages[-1].results
            else asks(("c", "whoami", "{}"))
        )

    agent = Agent(ScriptedModel(script), tools=[whoami])
    runs = await asyncio.gather(*(agent.run("?", user=f"u{n}", session=f"u{n}/s{n % 5}") for n in range(50)))
    assert [run.output for run in runs] == [f"u{n}/u{n}/s{n % 5}" for n in range(50)]


def test_unknown_settings_are_named():
    with pytest.raises(SettingsError, match="no protocol 'nothing'"):
        Agent(ScriptedModel([]), protocol="nothing")
    with pytest.raises(SettingsError):
        Agent("nothing-such:model")


@pytest.mark.parametrize("protocol", ["native", "json", "react", "template"])
async def test_every_protocol_carries_a_whole_run(protocol):
    texts = {
        "native": '```json\n{"name": "get_weather", "arguments": {"city": "长沙"}}\n```',
        "json": '{"tool": "get_weather", "args": {"city": "长沙"}}',
        "react": 'Thought: 要查天气\nAction: get_weather\nAction Input: {"city": "长沙"}',
        "template": "[TOOL: get_weather]\ncity = 长沙\n[/TOOL]",
    }
    answer = "Thought: 知道了\nFinal Answer: 21 度" if protocol == "react" else "21 度"
    model = ScriptedModel([texts[protocol], answer])
    run = await Agent(model, tools=[get_weather], protocol=protocol).run("长沙天气？")
    assert run.output == "21 度"
    assert [dict(call.arguments) for call in run.calls] == [{"city": "长沙"}]


def test_a_toolset_combines_filters_and_prefixes_without_leaking():
    base = Toolset([get_weather])
    prefixed = base.prefix("cn_")
    assert prefixed.names == ("cn_get_weather",)
    assert base.names == ("get_weather",)
    assert (base + prefixed).names == ("get_weather", "cn_get_weather")
    assert len((base + prefixed).filter(lambda made: made.name.startswith("cn_"))) == 1
    assert prefixed.call_sync("cn_get_weather", {"city": "x"}).data == "x: 21 °C for 1"


async def test_a_plan_runs_only_the_steps_that_need_no_other():
    seen = []

    @tool
    def find(name: str) -> str:
        """Finds an id."""
        seen.append(name)
        return "id-7"

    plan = 'find(name="wrench") -> w\nfind(name=$w)'
    model = ScriptedModel([plan, asks(("c1", "find", '{"name": "id-7"}')), "done"])
    run = await Agent(model, tools=[find]).run("?")
    assert seen == ["wrench", "id-7"]
    assert run.output == "done"
    assert isinstance(model.requests[1].messages[-1].parts[0], Note)
    assert_valid(run.messages)


def test_an_exit_in_the_midst_of_a_run_reaches_the_caller_and_the_next_run_works():
    def reply(request):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        Agent(ScriptedModel(reply)).run_sync("?")
    assert Agent(ScriptedModel(["ok"])).run_sync("?").output == "ok"


async def test_a_listener_that_raises_does_not_end_the_run():
    def listen(event):
        raise ZeroDivisionError

    run = await Agent(ScriptedModel([weather("京"), "ok"]), tools=[get_weather]).run("?", on_event=listen)
    assert run.output == "ok"


async def test_a_type_whose_validator_raises_does_not_end_the_run():
    @tool
    def pick(x: Annotated[int, AfterValidator(lambda value: {}[value])]) -> int:
        """Picks."""
        return x

    run = await Agent(ScriptedModel([asks(("c1", "pick", '{"x": 1}')), "ok"]), tools=[pick]).run("?")
    assert run.results[0].error is not None
    assert run.results[0].error.code == "execution"


async def test_the_limit_of_calls_holds_inside_one_reply():
    ran = []

    @tool
    def note(n: int) -> int:
        """Notes."""
        ran.append(n)
        return n

    many = asks(*((f"c{n}", "note", f'{{"n": {n}}}') for n in range(50)))
    run = await Agent(ScriptedModel([many, "ok"]), tools=[note], limits=Limits(calls=10)).run("?")
    assert sorted(ran) == list(range(10))
    assert run.stopped == "call_limit"
    assert_valid(run.messages)


def test_a_tool_may_call_itself_deeper_than_its_threads():
    made = {}

    def factorial(n: int) -> int:
        """Factorial."""
        return 1 if n < 2 else n * made["set"].call_sync("factorial", {"n": n - 1}).data

    made["set"] = Toolset([tool(factorial)])
    assert made["set"].call_sync("factorial", {"n": 20}).data == 2432902008176640000


async def test_a_tool_that_asks_its_own_runs_session_gets_an_error_instead_of_waiting():
    made = {}

    @tool
    def ask(question: str) -> str:
        """Asks."""
        return made["agent"].run_sync(question, session="s").output

    made["agent"] = Agent(ScriptedModel([asks(("c1", "ask", '{"question": "x"}')), "ok"]), tools=[ask])
    run = await asyncio.wait_for(made["agent"].run("?", session="s"), 10)
    assert run.results[0].error is not None
    assert run.output == "ok"


@pytest.mark.parametrize(
    "second", ["pay(amount=p*2)", "pay(amount='p*2')", 'pay(amount="${p}")', "pay(amount=str(p))"]
)
async def test_a_step_with_a_formula_over_another_does_not_run(second):
    paid = []

    @tool
    def price(item: str) -> int:
        """Price."""
        return 7

    @tool(effect="writes")
    def pay(amount: str) -> str:
        """Pays."""
        paid.append(amount)
        return "paid"

    model = ScriptedModel([f"p = price(item='a')\n{second}", "ok"])
    await Agent(model, tools=[price, pay]).run("?")
    assert paid == []


async def test_what_a_provider_wants_back_stays_in_the_history() -> None:
    signed = Opaque(source="scripted", data={"signature": "abc"})
    asked = replace(weather("Paris"), opaque=signed)
    model = ScriptedModel([asked, replace(ModelOutput(text=""), opaque=signed), "Sunny."])
    run = await Agent(model, [get_weather]).run("?")
    assert run.messages[1].parts[0] == signed
    assert run.messages[1].calls[0].name == "get_weather"
    assert run.messages[3].parts == (signed, Text(""))
    assert model.requests[-1].messages[2].parts[0] is run.messages[1].parts[0]
