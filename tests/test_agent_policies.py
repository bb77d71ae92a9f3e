"""The loop and the layers around its calls: approval and resuming, circles, large results, who may what."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest

from toolhand import Agent, ErrorCode, Limits, RunContext, Session, ToolFailure, ToolResult, Toolset, tool
from toolhand.core.approvals import Approve, Deny, Edit, PendingCall, decision_from_json, decision_to_json
from toolhand.core.errors import SettingsError
from toolhand.core.events import TextDelta
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.execution.layers import default_policies
from toolhand.policies.approval import Approval
from toolhand.policies.conditions import requires
from toolhand.policies.permission import AccessRule, Permission
from toolhand.testing import FakeClock, ScriptedModel

from .test_agent import asks, assert_valid

ran: list[int] = []


@tool(effect="destroys", approval=True)
def delete_order(number: int) -> str:
    """Deletes an order."""
    ran.append(number)
    return f"{number} is gone"


@tool
def look(number: int) -> str:
    """Looks at an order."""
    return f"order {number}"


@pytest.fixture(autouse=True)
def _nothing_ran():
    ran.clear()


def script() -> list[ModelOutput | str]:
    return [asks(("c1", "look", '{"number": 1}'), ("c2", "delete_order", '{"number": 7}')), "done"]


async def test_a_run_stops_for_approval_and_is_resumed():
    session = Session("s")
    agent = Agent(ScriptedModel(script()), tools=[look, delete_order])
    run = await agent.run("delete order 7", session=session)
    assert run.stopped == "approval"
    assert ran == []
    assert [pending.name for pending in run.pending] == ["delete_order"]
    assert [result.data for result in run.messages[-1].results] == ["order 1"]
    told = json.loads(
        json.dumps([pending.to_json() for pending in run.pending])
    )  # to another process and back
    pending = PendingCall.from_json(told[0])
    decision = decision_from_json(json.loads(json.dumps(decision_to_json(Approve()))))
    resumed = await agent.resume(session, {pending.approval_id: decision})
    assert (resumed.stopped, resumed.output) == ("answered", "done")
    assert ran == [7]


def test_a_run_is_resumed_from_code_that_is_not_async():
    session = Session("s")
    agent = Agent(ScriptedModel(script()), tools=[look, delete_order])
    run = agent.run_sync("delete order 7", session=session)
    assert (run.stopped, ran) == ("approval", [])
    again = agent.resume_sync(session)  # nobody has decided: it waits on
    assert (again.stopped, [pending.call_id for pending in again.pending], ran) == ("approval", ["c2"], [])
    seen: list[str] = []
    resumed = agent.resume_sync(
        session, {"c2": Approve()}, on_event=lambda event: seen.append(type(event).__name__)
    )
    assert (resumed.stopped, resumed.output, ran) == ("answered", "done", [7])
    assert seen[-1] == "RunFinished"
    assert [r.call_id for message in session.messages for r in message.results] == ["c1", "c2"]
    with pytest.raises(SettingsError, match="nothing to resume"):
        agent.resume_sync(session, {"c2": Approve()})


def waiting_for_permission() -> tuple[Agent, list[str]]:
    done: list[str] = []

    @tool(permission="orders:write", effect="writes", approval=True)
    def place_order(item: str, pieces: int = 1) -> str:
        """Places an order."""
        done.append(item)
        return f"ordered {item}"

    reply = asks(("c1", "place_order", '{"item": "x", "pieces": "2"}'))
    return Agent(ScriptedModel([reply, "done"]), tools=[place_order, look]), done


@pytest.mark.parametrize("by_call_id", [True, False])
@pytest.mark.parametrize("decision", [Approve(), Edit({"item": "y"})])
async def test_an_agreement_is_not_lost_when_the_permission_is_not_given_again(by_call_id, decision):
    agent, done = waiting_for_permission()
    session = Session("s")
    run = await agent.run("order", session=session, permissions=["orders:write"])
    decisions = {run.pending[0].call_id if by_call_id else run.pending[0].approval_id: decision}
    with pytest.raises(SettingsError, match="orders:write"):
        await agent.resume(session, decisions)
    assert done == []
    with pytest.raises(SettingsError, match="orders:write"):
        await agent.resume(session)
    waits = await agent.resume(session, permissions=["orders:write"])  # nothing has counted
    assert (waits.stopped, waits.pending[0].approval_id) == ("approval", run.pending[0].approval_id)
    resumed = await agent.resume(session, decisions, permissions=["orders:write"])
    assert (resumed.stopped, len(done)) == ("answered", 1)


async def test_a_role_that_is_not_given_again_loses_no_agreement():
    rules = [AccessRule(access="ask", roles="clerk")]
    policies = [Permission(rules, default="deny"), Approval()]
    agent = Agent(ScriptedModel(script()), tools=[look, delete_order], policies=policies)
    run = await agent.run("delete order 7", session="s", roles=["clerk"])
    decisions = {pending.approval_id: Approve() for pending in run.pending}
    with pytest.raises(SettingsError, match="roles="):
        await agent.resume("s", decisions)
    assert (await agent.resume("s", decisions, roles=["clerk"])).stopped == "answered"
    assert ran == [7]


async def test_a_denial_needs_no_permission():
    agent, done = waiting_for_permission()
    run = await agent.run("order", session="s", permissions=["orders:write"])
    assert (await agent.resume("s", {run.pending[0].approval_id: Deny()})).output == "done"
    assert done == []


async def test_a_decision_about_no_call_is_named_with_those_that_wait():
    session = Session("s")
    agent = Agent(ScriptedModel(script()), tools=[look, delete_order])
    run = await agent.run("delete order 7", session=session)
    pending = run.pending[0]
    with pytest.raises(SettingsError) as caught:
        await agent.resume(session, {"delete_order": Approve()})
    assert "'delete_order'" in str(caught.value)
    assert pending.approval_id in str(caught.value)
    assert "c1" not in str(caught.value).replace(pending.approval_id, "")
    with pytest.raises(SettingsError, match="decision_from_json"):
        await agent.resume(session, {pending.approval_id: decision_to_json(Approve())})
    assert ran == []
    assert (await agent.resume(session, {pending.approval_id: Approve()})).output == "done"


@pytest.mark.parametrize(("arguments", "said"), [({"number": "many"}, "number"), ({}, "number")])
async def test_arguments_that_a_person_changed_wrongly_use_no_decision_up(arguments, said):
    session = Session("s")
    agent = Agent(ScriptedModel(script()), tools=[look, delete_order])
    await agent.run("delete order 7", session=session)
    with pytest.raises(SettingsError, match="do not fit 'delete_order', and nothing was decided") as caught:
        await agent.resume(session, {"c2": Edit(arguments)})
    assert said in str(caught.value)
    assert ran == []
    assert (await agent.resume(session, {"c2": Edit({"number": 8})})).output == "done"
    assert ran == [8]


async def test_decisions_given_once_more_are_no_mistake():
    both = asks(("c1", "delete_order", '{"number": 7}'), ("c2", "delete_order", '{"number": 8}'))
    session = Session("s")
    agent = Agent(ScriptedModel([both, "done"]), tools=[delete_order])
    run = await agent.run("delete both", session=session)
    first, second = (pending.approval_id for pending in run.pending)
    assert (await agent.resume(session, {first: Approve()})).stopped == "approval"
    done = await agent.resume(session, {first: Approve(), second: Approve()})
    assert (done.stopped, ran) == ("answered", [7, 8])


async def test_a_denial_and_an_edit_are_understood():
    for decision, effects in ((Deny("too expensive"), []), (Edit({"number": 8}), [8])):
        ran.clear()
        session = Session("s")
        model = ScriptedModel(script())
        agent = Agent(model, tools=[look, delete_order])
        run = await agent.run("delete order 7", session=session)
        await agent.resume(session, {run.pending[0].approval_id: decision})
        assert ran == effects
        last = model.requests[-1].messages[-1].results[0]
        assert "too expensive" in last.error.message if last.error else "8" in last.remark


async def test_without_a_decision_it_waits_again_and_nothing_is_lost():
    session = Session("s")
    agent = Agent(ScriptedModel(script()), tools=[look, delete_order])
    first = await agent.run("delete order 7", session=session)
    again = await agent.resume(session, {})
    assert again.stopped == "approval"
    assert again.pending[0].approval_id == first.pending[0].approval_id
    assert ran == []


async def test_a_new_message_lets_a_waiting_call_go():
    session = Session("s")
    agent = Agent(ScriptedModel([*script(), "fine"]), tools=[look, delete_order])
    await agent.run("delete order 7", session=session)
    run = await agent.run("never mind", session=session)
    assert run.output == "done"
    assert ran == []
    with pytest.raises(SettingsError, match="nothing to resume"):
        await agent.resume(session, {})


async def test_a_person_may_be_asked_at_once():
    async def ask(call, context):
        return Approve() if call.call.arguments["number"] == 7 else Deny()

    agent = Agent(ScriptedModel(script()), tools=[look, delete_order], policies=default_policies(ask=ask))
    assert (await agent.run("delete order 7")).stopped == "answered"
    assert ran == [7]


async def test_forty_equal_calls_run_twice_and_the_run_ends():
    times: list[str] = []

    @tool
    def search(query: str) -> str:
        """Searches."""
        times.append(query)
        return "nothing"

    def reply(request):
        return "I give up" if request.tool_choice.mode == "none" else asks(("c", "search", '{"query": "x"}'))

    run = await Agent(ScriptedModel(reply), tools=[search], limits=Limits(turns=40)).run("?")
    assert len(times) == 2
    assert run.stopped == "loop"
    assert run.output == "I give up"
    assert len(run.calls) == 3
    assert_valid(run.messages)


@pytest.mark.parametrize("seconds", [4, 14, 25, 70])
async def test_equal_calls_of_a_slow_model_end_the_run_too(seconds):
    clock, times = FakeClock(), []

    @tool
    def search(query: str) -> str:
        """Searches."""
        times.append(query)
        return "nothing"

    def reply(request):
        clock.advance(seconds)
        return "I give up" if request.tool_choice.mode == "none" else asks(("c", "search", '{"query": "x"}'))

    agent = Agent(
        ScriptedModel(reply),
        tools=[search],
        policies=default_policies(clock=clock),
        limits=Limits(turns=40),
    )
    run = await agent.run("?")
    assert run.stopped == "loop"
    looks_again = seconds > 60
    assert len(run.calls) == (5 if looks_again else 3)
    assert len(times) == (5 if looks_again else 2)


async def test_unknown_tools_again_and_again_end_the_run():
    def reply(request):
        return "sorry" if request.tool_choice.mode == "none" else asks(("c", "no_such_thing", "{}"))

    run = await Agent(ScriptedModel(reply), tools=[look], limits=Limits(turns=40)).run("?")
    assert run.stopped in ("loop", "repair_limit")
    assert len(run.calls) <= 6


async def test_polling_is_no_circle():
    states = iter(["waiting"] * 12 + ["ready"])

    @tool(poll=True)
    def status() -> str:
        """The job's status."""
        return next(states)

    def reply(request):
        results = request.messages[-1].results
        return "ready" if results and results[0].data == "ready" else asks(("c", "status", "{}"))

    run = await Agent(ScriptedModel(reply), tools=[status]).run("?")
    assert (run.stopped, run.output) == ("answered", "ready")


async def test_a_large_result_is_shrunk_and_can_be_paged_through():
    @tool
    def report() -> str:
        """A long report."""
        return "\n".join(f"line {number}: {'x' * 80}" for number in range(4_000))

    def reply(request):
        tools = {made.name for made in request.tools}
        last = request.messages[-1].results
        if not last:
            assert "read_result" not in tools
            return asks(("c1", "report", "{}"))
        if last[0].name == "report":
            assert "read_result" in tools
            assert len(str(last[0].data)) <= 16_000
            handle = last[0].notes["handle"]
            return [
                RawCall(
                    id="c2", name="read_result", arguments=json.dumps({"handle": handle, "start": 200_000})
                )
            ]
        assert last[0].ok, last[0].error
        return "read"

    run = await Agent(ScriptedModel(reply), tools=[report]).run("?")
    assert run.output == "read"
    assert len(run.calls) == 2


async def test_secrets_in_results_reach_neither_model_nor_history():
    @tool
    def environment() -> str:
        """The environment."""
        return "OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuvwx1234 PATH=/bin"

    model = ScriptedModel([asks(("c1", "environment", "{}")), "ok"])
    run = await Agent(model, tools=[environment]).run("?")
    assert "abcdefghijklmnopqrstuvwx" not in repr(run) + repr(model.requests)
    assert "PATH=/bin" in run.results[0].data


async def test_permissions_hide_and_refuse():
    @tool(permission="orders:write", effect="writes")
    def place_order(item: str) -> str:
        """Places an order."""
        return f"ordered {item}"

    model = ScriptedModel([asks(("c1", "place_order", '{"item": "x"}')), "ok"] * 2)
    agent = Agent(model, tools=[place_order, look])
    refused = await agent.run("?")
    assert refused.results[0].error is not None
    assert refused.results[0].error.code == "not_permitted"
    assert [made.name for made in model.requests[0].tools] == ["look"]
    allowed = await agent.run("?", permissions=["orders:write"])
    assert allowed.results[0].data == "ordered x"


async def test_access_rules_stop_for_approval():
    rules = [AccessRule(access="ask", effects=["reads"])]
    agent = Agent(
        ScriptedModel([asks(("c1", "look", '{"number": 1}')), "ok"]),
        tools=[look],
        policies=default_policies(access=rules),
    )
    run = await agent.run("?", session="s")
    assert run.stopped == "approval"
    assert (await agent.resume("s", {run.pending[0].call_id: Approve()})).output == "ok"


async def test_a_tool_that_is_called_alone_goes_through_the_same_layers():
    toolset = Toolset([delete_order])
    result = await toolset.call("delete_order", {"number": 7})
    assert result.error is not None
    assert result.error.code == "approval_required"
    assert ran == []


async def test_a_hundred_parallel_calls_keep_their_order():
    @tool
    async def echo(n: int) -> int:
        """Echo."""
        await asyncio.sleep(0.001 * (n % 7))
        return n

    model = ScriptedModel([asks(*((f"c{n}", "echo", f'{{"n": {n}}}') for n in range(100))), "ok"])
    run = await Agent(model, tools=[echo]).run("?", limits=Limits(calls=200))
    assert [result.data for result in run.results] == list(range(100))


async def test_what_a_run_knew_survives_its_suspension():
    done: list[str] = []

    @tool
    def search_flights(to: str) -> str:
        """Searches."""
        return "F1"

    @tool(effect="writes", approval=True, before=requires("search_flights"))
    def book(flight: str) -> str:
        """Books."""
        done.append(flight)
        return "booked"

    script = [
        asks(("c1", "search_flights", '{"to": "X"}')),
        asks(("c2", "book", '{"flight": "F1"}')),
        "done",
    ]
    agent = Agent(ScriptedModel(script), tools=[search_flights, book])
    run = await agent.run("?", session="s")
    resumed = await agent.resume("s", {run.pending[0].approval_id: Approve()})
    assert resumed.output == "done"
    assert done == ["F1"]


async def test_a_failing_call_may_run_again_after_something_was_changed():
    broken = [True]

    @tool
    def run_tests() -> str:
        """Runs the tests."""
        if broken[0]:
            raise RuntimeError
        return "green"

    @tool(effect="writes")
    def edit(text: str) -> str:
        """Edits."""
        broken[0] = text != "3"
        return "edited"

    script = []
    for n in range(1, 4):
        script += [asks(("a", "run_tests", "{}")), asks(("b", "edit", f'{{"text": "{n}"}}'))]
    script += [asks(("a", "run_tests", "{}")), "ok"]
    run = await Agent(ScriptedModel(script), tools=[run_tests, edit]).run("?")
    assert run.results[-1].data == "green"


async def test_a_session_of_another_user_is_refused():
    with pytest.raises(SettingsError, match="another user"):
        await Agent(ScriptedModel(["x"])).run("?", session=Session("s", user="ann"), user="bob")


async def test_a_users_own_read_result_is_left_alone():
    @tool
    def read_result(handle: str) -> str:
        """Mine."""
        return "mine"

    @tool
    def report() -> str:
        """A report."""
        return "x" * 40_000

    run = await Agent(ScriptedModel([asks(("c", "report", "{}")), "ok"]), tools=[report, read_result]).run(
        "?"
    )
    assert run.output == "ok"


async def test_a_refusal_does_not_repeat_a_sensitive_value():
    @tool(sensitive=["badge"])
    def door(badge: int) -> str:
        """Opens a door."""
        return "open"

    result = await Toolset([door]).call("door", {"badge": "ZX-Secret-998"})
    assert result.error is not None
    assert "ZX-Secret-998" not in repr(result)
    assert "badge" in result.error.message


async def test_a_hidden_tool_is_not_chosen_on_the_wire():
    @tool(permission="orders:write")
    def order(item: str) -> str:
        """Orders."""
        return item

    model = ScriptedModel(["no", "no"])
    await Agent(model, tools=[order, look], tool_choice="order").run("?")
    assert "order" not in model.requests[0].tool_choice.names


async def test_a_tool_that_cancels_its_own_task_does_not_end_the_run():
    @tool
    async def quits() -> str:
        """Quits."""
        asyncio.current_task().cancel()
        await asyncio.sleep(0)
        return ""

    model = ScriptedModel([asks(("a", "quits", "{}"), ("b", "look", '{"number": 1}')), "ok"])
    run = await Agent(model, tools=[quits, look]).run("?")
    assert run.output == "ok"
    assert run.results[1].ok
    assert_valid(run.messages)


async def test_a_shrunk_result_may_be_read_on_under_a_choice_that_names_other_tools():
    @tool
    def all_orders() -> list[dict[str, str]]:
        """Every order."""
        return [{"number": str(i), "note": "x" * 50} for i in range(2_000)]

    def reads_on(request):
        assert "read_result" in [shown.name for shown in request.tools]
        handle = request.messages[-1].results[0].notes["handle"]
        return asks(("c2", "read_result", json.dumps({"handle": handle, "start": 1_500, "count": 1})))

    for choice in (["all_orders"], "all_orders"):
        model = ScriptedModel([asks(("c1", "all_orders", "{}")), reads_on, "done"])
        run = await Agent(model, tools=[all_orders, look]).run("orders?", tool_choice=choice)
        assert [result.ok for result in run.results] == [True, True]
        assert "1500" in json.dumps(run.results[1].data)
        assert all("look" not in request.tool_choice.names for request in model.requests)


async def test_what_was_required_is_done_after_one_call():
    model = ScriptedModel([asks(("c1", "look", '{"number": 1}')), "done"])
    run = await Agent(model, tools=[look]).run("look", tool_choice="required")
    assert run.output == "done"
    assert [request.tool_choice.mode for request in model.requests] == ["required", "auto"]


async def test_a_tool_that_says_approval_required_itself_does_not_suspend_the_run():
    @tool
    def asks_itself() -> str:
        """Asks."""
        raise ToolFailure(
            "My service wants approval.",
            code=ErrorCode.APPROVAL_REQUIRED,
            details={"pending": {"approval_id": "x"}},
        )

    model = ScriptedModel([asks(("c1", "asks_itself", "{}")), "ok"])
    run = await Agent(model, tools=[asks_itself]).run("?")
    assert (run.stopped, run.output, run.pending) == ("answered", "ok", ())
    assert_valid(run.messages)


async def test_a_call_inside_the_same_call_is_refused_and_does_not_wait_for_itself():
    made: dict[str, Toolset] = {}

    @tool
    async def again(context: RunContext) -> str:
        """Again."""
        inner = await made["set"].call("again", context=context)
        assert inner.error is not None
        return inner.error.code

    made["set"] = Toolset([again])
    result = await asyncio.wait_for(made["set"].call("again"), 10)
    assert result.data == "repeated_call"


def test_one_context_serves_calls_of_several_loops():
    @tool(poll=False)
    def slow(n: int) -> int:
        """Slow."""
        time.sleep(0.02)
        return n

    tools, context = Toolset([slow]), RunContext()
    results: list[ToolResult] = []

    def thread() -> None:
        results.append(asyncio.run(tools.call("slow", {"n": 1}, context=context)))

    threads = [threading.Thread(target=thread) for _ in range(4)]
    for started in threads:
        started.start()
    for started in threads:
        started.join(20)
    assert [result.data for result in results] == [1] * 4


class Slow(ScriptedModel):
    """Answers after a while: all of it, or in pieces."""

    async def complete(self, request):
        await asyncio.sleep(30)
        return await super().complete(request)

    async def stream(self, request):
        async for piece in super().stream(request):
            yield piece
            await asyncio.sleep(0.03)


@pytest.mark.parametrize(("text", "said"), [("在吗？", "已用完"), ("Hello?", "ran out")])
async def test_time_cuts_a_request_that_is_under_way_and_says_so(text, said):
    session = Session("s")
    agent = Agent(Slow(["never"]))
    started = time.monotonic()
    run = await agent.run(text, session=session, limits=Limits(seconds=0.1))
    assert time.monotonic() - started < 5
    assert run.stopped == "time_limit"
    assert said in run.output
    assert run.messages[-1].text == run.output
    assert_valid(run.messages)


async def test_time_cuts_a_stream_and_keeps_what_was_shown():
    model = Slow(["The first sentence was already there. " * 10], chunk_size=4)
    events = [event async for event in Agent(model).stream("?", limits=Limits(seconds=1.5))]
    shown = "".join(event.text for event in events if isinstance(event, TextDelta))
    run = events[-1].run
    assert run.stopped == "time_limit"
    assert run.output == shown
    assert shown.startswith("The first")
    assert "ran out" in shown


async def test_the_time_of_a_run_begins_when_it_is_its_turn():
    class Waits(ScriptedModel):
        async def complete(self, request):
            await asyncio.sleep(0.5)
            return await super().complete(request)

    agent, session = Agent(Waits(lambda _: "ok"), limits=Limits(seconds=2.0)), Session("s")
    runs = await asyncio.gather(*(agent.run("?", session=session) for _ in range(5)))
    assert [run.stopped for run in runs] == ["answered"] * 5
