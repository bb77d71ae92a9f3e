"""The way of a call through the dispatcher when something around the tool goes wrong, and what a call leaves behind."""

from __future__ import annotations

import asyncio
import contextvars
import json
import sys
from pathlib import Path

import pytest

from tests.test_agent import assert_valid
from toolhand import Agent, ErrorCode, FatalError, RunContext, ToolCall, Toolset, parse, tool
from toolhand.core.errors import SettingsError, ToolDefinitionError
from toolhand.core.events import CallFailed
from toolhand.core.jsonable import result_text
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.core.tools import Tool
from toolhand.execution.layers import default_policies
from toolhand.policies.permission import AccessRule
from toolhand.testing import ScriptedModel


def calls(*names: str) -> ModelOutput:
    raw = tuple(
        RawCall(id=f"c{number}", name=name, arguments={"x": number}) for number, name in enumerate(names)
    )
    return ModelOutput(calls=raw, finish_reason="tool_calls")


@tool
async def quick(x: int) -> int:
    """Gives it back."""
    return x


@tool(effect="writes")
async def write(x: int) -> int:
    """Writes it."""
    return x


class Broken:
    """A policy of somebody's with a fault."""

    async def __call__(self, call, context, proceed):
        result = await proceed(call, context)
        if call.tool.name != "quick":
            raise KeyError("a fault in the policy, with pa$$word")
        return result


async def test_a_policy_that_raises_costs_its_call_alone():
    toolset = Toolset([quick, write, tool(quick, name="other")], policies=[Broken()])
    run = await Agent(ScriptedModel([calls("quick", "write", "other"), "done"]), toolset).run("?")
    assert [result.ok for result in run.results] == [True, False, False]
    assert [result.error and result.error.code for result in run.results] == [
        None,
        ErrorCode.OUTCOME_UNKNOWN,  # nobody can say whether the write had happened
        ErrorCode.EXECUTION,
    ]
    assert "pa$$word" not in str(run.messages)
    assert run.output == "done"


async def test_a_policys_fault_is_told_to_whoever_listens():
    events = []
    result = await Toolset([write], policies=[Broken()]).call(
        "write", {"x": 1}, context=RunContext(emit=events.append)
    )
    assert not result.ok
    assert [type(event.exception) for event in events if isinstance(event, CallFailed)] == [KeyError]


class Fatal:
    """Tools of which one ends the run."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.is_running = 0

    def tools(self, **options):
        @tool(**options)
        async def slow(x: int) -> str:
            self.is_running += 1
            try:
                await asyncio.sleep(5)
                self.done.append(x)
            finally:
                self.is_running -= 1
            return "x"

        @tool(**options)
        async def fatal(x: int) -> str:
            await asyncio.sleep(0.02)
            raise FatalError("the disk is full")

        return [slow, fatal]


@pytest.mark.parametrize("options", [{}, {"timeout": 5}, {"retries": 2}])
async def test_a_fatal_error_ends_the_run_and_leaves_nothing_running(options):
    fatal = Fatal()
    model = ScriptedModel([calls("slow", "fatal", "slow"), "never asked"])
    agent = Agent(model, fatal.tools(**options))
    session = agent.session("s")
    with pytest.raises(FatalError, match="disk"):
        await agent.run("?", session="s")
    assert fatal.is_running == 0
    assert fatal.done == []
    assert len(model.requests) == 1
    assert_valid(session.messages)
    assert len(session.messages[-1].results) == 3


def test_a_plain_tool_may_raise_it_too_in_a_thread_and_in_a_process():
    @tool
    def fatal(x: int) -> int:
        """Ends the run."""
        raise FatalError("enough")

    for made in (fatal, tool(fatal, isolation="process")):
        with pytest.raises(FatalError, match="enough"):
            Toolset([made]).call_sync("fatal", {"x": 1})


VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="untouched")


async def set_in_a_coroutine(x: int) -> str:
    """Sets."""
    before = VARIABLE.get()
    VARIABLE.set("async")
    await asyncio.sleep(0)
    return before + VARIABLE.get()


def set_in_a_thread(x: int) -> str:
    """Sets."""
    before = VARIABLE.get()
    VARIABLE.set("thread")
    return before + VARIABLE.get()


async def set_in_a_generator(x: int):
    """Sets."""
    yield VARIABLE.get()
    VARIABLE.set("generator")
    yield VARIABLE.get()


@pytest.mark.parametrize("function", [set_in_a_coroutine, set_in_a_thread, set_in_a_generator])
@pytest.mark.parametrize("options", [{}, {"timeout": 5}])
async def test_what_a_tool_sets_stays_in_its_call(function, options):
    VARIABLE.set("outer ")
    toolset = Toolset([tool(function, **options)])
    for number in (1, 2):
        result = await toolset.call(function.__name__, {"x": number})
        assert str(result.data).count("outer ") == 1, "each call sees what is set around it, and nothing else"
        assert VARIABLE.get() == "outer "


async def test_in_a_context_of_its_own_a_tool_can_still_be_cancelled_and_use_its_task():
    seen = []

    @tool
    async def waits(x: int) -> int:
        """Waits."""
        seen.append(asyncio.current_task())
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(5)
        except TimeoutError:
            seen.append("timeout")
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return x

    task = asyncio.create_task(Toolset([waits]).call("waits", {"x": 1}))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [task, "timeout", "cancelled"]


def guarded():
    @tool(category="secret", permission="vault")
    def open_vault(code: str) -> str:
        """Opens it."""
        return "open"

    return Toolset([quick, open_vault], policies=default_policies(access=[AccessRule(access="allow")]))


@pytest.mark.parametrize("name", ["open_the_vault", "nothing", "Open-Vault", "open_vaul"])
async def test_an_unknown_name_is_not_told_of_hidden_tools(name):
    run = await Agent(ScriptedModel([calls(name), "ok"]), guarded()).run("?", user="guest")
    assert run.results[0].error.code is ErrorCode.UNKNOWN_TOOL
    told = result_text(run.results[0]) + json.dumps(dict(run.results[0].error.details))
    assert "quick" in told
    assert "open_vault" not in told
    assert "1" not in told.replace("-32", "") or '"count": 1' in told
    alone = await guarded().call(name, {})
    assert "open_vault" not in str(alone.error)


async def test_whoever_may_is_told_and_the_exact_name_says_why_not():
    run = await Agent(ScriptedModel([calls("open_the_vault"), "ok"]), guarded()).run(
        "?", permissions=["vault"]
    )
    assert "open_vault" in result_text(run.results[0])
    refused = await guarded().call("open_vault", {"code": "1"}, user="guest")
    assert refused.error.code is ErrorCode.NOT_PERMITTED


async def test_an_exceptions_text_is_told_where_the_tool_says_so_and_masked():
    def edit(path: str) -> str:
        """Edits."""
        raise RuntimeError(
            "file too large: 41000 characters, api_key=sk-proj-abcdefghijklmnopqrstuvwx1234\n" + "x" * 2000
        )

    for hides in (None, False):
        hidden = (await Toolset([tool(edit, shows_errors=hides)]).call("edit", {"path": "a"})).error
        assert "41000" not in hidden.sentence
    told = (await Toolset([tool(edit, shows_errors=True)]).call("edit", {"path": "a"})).error
    assert "41000" in told.message
    assert "abcdefghij" not in told.message
    assert len(told.message) < 700


SAID = "41000"


def own(path: str) -> str:
    """Its author's sentence."""
    raise ValueError(f"file too large: {SAID} characters")


def careless(path: str) -> str:
    """Its author's sentence with something in it that has to be masked."""
    raise ValueError(f"too large: {SAID}, password=hunter2")


class NoSuchCityError(LookupError):
    pass


def own_kind(path: str) -> str:
    """A kind of its own, in place of another."""
    try:
        return {}[path]
    except KeyError:
        raise NoSuchCityError(f"no city of that name, {SAID}") from None


def conversion(path: str) -> str:
    """The interpreter's words, which hold the value."""
    return str(int(f"{SAID}x"))


def library(path: str) -> str:
    """A library's words."""
    return json.loads(f'{{"{SAID}": ')


def wrapped(path: str) -> str:
    """Another's words in its own."""
    try:
        return Path(f"/nowhere/{SAID}").read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"it failed: {error}") from error


def passed_on(path: str) -> str:
    """Another's exception, raised again."""
    try:
        return conversion(path)
    except ValueError as error:  # noqa: TRY203 - what many do
        raise error  # noqa: TRY201


def other_kind(path: str) -> str:
    """A kind that says nothing of the arguments."""
    raise RuntimeError(f"connect to {SAID}")


async def own_async(path: str) -> str:
    """Its author's sentence."""
    raise ValueError(f"too large: {SAID}")


@pytest.mark.parametrize("isolation", [None, "thread", "process"])
@pytest.mark.parametrize(
    ("function", "is_told"),
    [
        (own, True), (own_kind, True), (careless, False), (own_async, True), (conversion, False), (library, False), (wrapped, False),
        (passed_on, False), (other_kind, False),
    ],
)  # fmt: skip
async def test_of_itself_only_the_authors_own_sentence_is_told(function, is_told, isolation):
    given = {} if isolation is None else {"isolation": isolation}
    if (function is own_async and isolation) or (isolation == "process" and sys.platform != "linux"):
        pytest.skip("not for this")
    error = (await Toolset([tool(function, **given)]).call(function.__name__, {"path": "a"})).error
    assert (SAID in error.sentence) is is_told
    for options in ({"effect": "writes"}, {"shows_errors": False}):
        hidden = (
            await Toolset([tool(function, **given, **options)]).call(function.__name__, {"path": "a"})
        ).error
        assert SAID not in hidden.sentence


def test_reasoning_is_taken_out_of_what_a_user_sees():
    def send(text: str, notes: list[str] = []) -> str:  # noqa: B006
        """Sends."""
        return text

    sent = "<think>is she angry?</think>Dear Ann, done."
    call = json.dumps({"name": "send", "arguments": {"text": sent, "notes": ["a</think>b", "1 < 2 > 0"]}})
    reply = parse(call, [tool(send, user_visible=True)])
    assert reply.calls[0].arguments == {"text": "Dear Ann, done.", "notes": ["b", "1 < 2 > 0"]}
    assert [fix.kind for fix in reply.calls[0].fixes].count("reasoning_dropped") == 2
    assert parse(call, [tool(send)]).calls[0].arguments["text"] == sent
    for text in ("about the <think> mark", "a <b>bold</b> word", "x"):
        assert Toolset([tool(send, user_visible=True)]).call_sync("send", {"text": text}).data == text
    assert Toolset([tool(send, user_visible=True)]).call_sync("send", {"text": "<Thinking>only"}).data == ""


WRONG = [
    {"reveals": "phones"}, {"reveals": ["email", "street"]}, {"cost": "3"}, {"cost": float("nan")}, {"cost": -1},
    {"longest_wait": "60"}, {"longest_wait": -1}, {"timeout": "5"}, {"timeout": True}, {"timeout": 0}, {"retries": 1.5},
    {"retries": True}, {"concurrency": 0}, {"max_result": "16k"}, {"approval": "yes"}, {"idempotent": 1}, {"poll": None},
    {"before": "always"}, {"after": [1]}, {"breaker": 3}, {"fallback": "other"}, {"idempotency_key": "order"},
    {"sensitive": 3}, {"sensitive": [1]}, {"tags": None}, {"permission": ["a"]}, {"upstream": 1}, {"category": None},
    {"rate_limit": 10}, {"rate_limit": "many"}, {"effect": "read"}, {"isolation": "container"}, {"user_visible": 1},
]  # fmt: skip


@pytest.mark.parametrize("options", WRONG, ids=str)
def test_an_option_that_cannot_be_is_named_when_the_tool_is_made(options):
    (name,) = options
    with pytest.raises(ToolDefinitionError, match=f"option {name} of tool 'quick'"):
        tool(quick, **options)


@pytest.mark.parametrize("decision", [True, None, "approve", {"decision": "approve"}])
async def test_what_is_no_decision_is_refused_before_anything_runs(decision):
    ran = []

    @tool(approval=True)
    def delete(x: int) -> str:
        """Deletes."""
        ran.append(x)
        return "gone"

    from toolhand.core.approvals import Edit, decide  # noqa: PLC0415

    agent = Agent(ScriptedModel([calls("delete"), "ok"]), [delete])
    run = await agent.run("?", session="s")
    assert run.stopped == "approval"
    for wrong in (decision, Edit(decision)):
        if wrong != Edit({"decision": "approve"}):
            with pytest.raises(SettingsError, match="the decision about"):
                await agent.resume("s", {run.pending[0].approval_id: wrong})
    with pytest.raises(SettingsError):
        decide(RunContext(), {"c": decision})
    assert ran == []
    toolset = Toolset([delete], policies=default_policies(ask=lambda call, context: decision))
    result = await toolset.dispatch(ToolCall(id="c", name="delete", arguments={"x": 1}), RunContext())
    assert result.error.code is ErrorCode.APPROVAL_REQUIRED
    assert ran == []


async def test_a_fatal_error_among_those_of_a_task_group_ends_the_run():
    async def ends() -> None:
        raise FatalError("the disk is full")

    @tool
    async def several() -> str:
        async with asyncio.TaskGroup() as outer, asyncio.TaskGroup() as inner:
            outer.create_task(ends())
            inner.create_task(ends())
        return "done"

    failed = []
    with pytest.raises(FatalError, match="disk"):
        await Toolset([several]).call("several", {}, context=RunContext(emit=failed.append))
    assert len([event for event in failed if isinstance(event, CallFailed)]) == 1


async def test_writes_of_one_reply_run_one_after_the_other_as_written_and_reads_beside_them():
    said: list[str] = []
    has_read = asyncio.Event()

    @tool(effect="writes")
    async def write(n: int) -> int:
        said.append(f"begins {n}")
        if n == 0:
            await has_read.wait()  # by a read that was written behind it
        for _ in range(5 - n):
            await asyncio.sleep(0)
        said.append(f"ends {n}")
        if n == 1:
            raise RuntimeError("only me")
        return n

    @tool(effect="destroys")
    async def wipe() -> str:
        said.append("wiped")
        return "gone"

    @tool
    async def look() -> str:
        has_read.set()
        return "seen"

    calls = [ToolCall(id=f"w{n}", name="write", arguments={"n": n}) for n in range(3)]
    calls = [*calls, ToolCall(id="d", name="wipe"), ToolCall(id="r", name="look")]
    tools = Toolset([write, wipe, look])
    results = await asyncio.wait_for(tools.dispatch.each(calls, RunContext()), 30)
    assert said == ["begins 0", "ends 0", "begins 1", "ends 1", "begins 2", "ends 2", "wiped"]
    assert [result.data for result in results] == [0, None, 2, "gone", "seen"]


async def test_many_writes_that_wait_keep_no_read_out():
    order: list[str] = []
    is_read = asyncio.Event()

    @tool(effect="writes")
    async def write(n: int) -> int:
        await is_read.wait()
        order.append(f"w{n}")
        return n

    @tool
    async def look() -> str:
        is_read.set()
        return "seen"

    calls = [ToolCall(id=f"w{n}", name="write", arguments={"n": n}) for n in range(40)]
    await asyncio.wait_for(
        Toolset([write, look]).dispatch.each([*calls, ToolCall(id="r", name="look")], RunContext()), 30
    )
    assert order == [f"w{n}" for n in range(40)]


async def test_a_write_that_ends_the_run_lets_no_later_one_begin():
    began: list[int] = []

    @tool(effect="writes")
    async def write(n: int) -> int:
        began.append(n)
        await asyncio.sleep(0)
        raise FatalError("the disk is full")

    calls = [ToolCall(id=f"w{n}", name="write", arguments={"n": n}) for n in range(3)]
    with pytest.raises(FatalError):
        await Toolset([write]).dispatch.each(calls, RunContext())
    assert began == [0]


class Shy:
    """Hides one tool, and counts how often it is asked about any."""

    def __init__(self):
        self.asked = []

    def hides(self, tool):
        return tool.name == "hidden"

    def offers(self, tool, context):
        self.asked.append(tool.name)
        return False

    async def __call__(self, call, context, proceed):
        return await proceed(call, context)


def test_a_policy_is_asked_in_each_turn_only_about_the_tools_that_it_may_hide():
    policy = Shy()
    tools = Toolset([Tool(name="hidden"), Tool(name="seen")], policies=[policy])
    assert [tools.offered(RunContext()).names for _ in range(2)] == [("seen",), ("seen",)]
    assert policy.asked == ["hidden", "hidden"]
