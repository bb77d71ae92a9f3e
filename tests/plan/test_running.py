"""Check, interpreter, order and the way back, on real tools through the real dispatcher."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.plan.shop import shop
from toolhand import RunContext, Toolset, tool
from toolhand.core.errors import ToolDefinitionError
from toolhand.core.events import Event
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.core.plan_events import PlanFinished, PlanStarted, StepFinished
from toolhand.plan import Checked, Interpreter, Outcome, Rules, check, explain, mermaid, read
from toolhand.plan.order import needed
from toolhand.policies.conditions import requires


class Ran:
    """A plan's run with everything that came of it."""

    def __init__(self, source: str, tools: Toolset | None = None, **rules: Any) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.tools = tools if tools is not None else shop(self.calls)
        self.events: list[Event] = []
        self.context = RunContext()
        self.waves: list[list[str]] = []
        self.interpreter = Interpreter(
            read(source),
            self.tools,
            self.dispatch,
            plan_id="p",
            rules=Rules(**rules),
            emit=self.events.append,
        )

    async def dispatch(self, calls: Any) -> Any:
        self.waves.append([call.id for call in calls])
        return await self.tools.dispatch.each(calls, self.context)

    def run(self) -> Outcome:
        return asyncio.run(self.interpreter.run())


def checked(source: str, **options: Any) -> Checked:
    tools = shop([])
    context = RunContext()
    return check(read(source), tools, lambda call: tools.dispatch.rebind(call, context), **options)


# ---------------------------------------------------------------------- check
def test_everything_wrong_is_reported_before_the_first_call():
    problems = checked(
        'get_weather(colour="x")\nsend_message(to=$u, text="a")\nremind(message="a", after_minutes="soon")\n'
        'nothing_like_it(x=1)\npay(order="A")\nif $gone == 1: log_in()'
    ).problems
    assert [problem.details["line"] for problem in problems] == [1, 2, 3, 4, 5, 6]
    assert [str(problem.code) for problem in problems] == [
        "missing_argument", "invalid_argument", "invalid_argument", "unknown_tool", "precondition_failed", "invalid_argument",
    ]  # fmt: skip


def test_a_precondition_names_the_tool_that_meets_it_and_what_was_done_before_counts():
    (problem,) = checked('pay(order="A1")').problems
    assert problem.details["first"] == "log_in"
    assert "log_in(…)" in problem.message
    assert not checked('pay(order="A1")', met=["log_in"]).problems
    assert not checked('log_in()\npay(order="A1")').problems
    assert checked('if $x: log_in()\npay(order="A1")', known=["x"]).problems == ()


def test_a_chain_of_preconditions_comes_in_order():
    @tool
    def connect() -> str:
        """a"""
        return ""

    @tool(before=requires("connect"))
    def log_in() -> str:
        """b"""
        return ""

    @tool(before=requires("log_in"))
    def pay() -> str:
        """c"""
        return ""

    tools = Toolset([pay, connect, log_in])
    assert needed(tools["pay"], tools, set()) == ("connect", "log_in")
    assert needed(tools["pay"], tools, {"connect"}) == ("log_in",)


def test_arguments_that_hang_on_results_are_not_missing_and_the_others_are_typed():
    found = checked(
        'find_user(name="Ann") -> u\nweigh(grams="2", label=$u.name)\nsend_message($u.email, "x {$u.id}")'
    )
    assert not found.problems
    assert [dict(call.arguments) for call in found.calls] == [
        {"name": "Ann"},
        {"grams": 2.0, "label": "$u.name"},
        {"to": "$u.email", "text": "x {$u.id}"},
    ]


def test_a_variable_of_one_branch_may_exist_afterwards_and_one_of_none_does_not():
    assert not checked("if 1 == 1: log_in() -> a\nremind(message=$a)").problems
    assert checked("remind(message=$a)\nlog_in() -> a").unknown == {"a"}


# ---------------------------------------------------------------------- running
def test_steps_run_in_order_with_their_values_and_events():
    ran = Ran(
        'get_weather(city="北京") -> w\nif $w.temperature > 30:\n    remind(message="a")\nelse:\n    judge_rain(report=$w.condition)'
    )
    outcome = ran.run()
    assert outcome.ending == "done"
    assert [done.path for done in outcome.done] == ["1", "2b.1"]
    assert ran.waves == [["p.1"], ["p.2b.1"]]
    first, *steps, last = ran.events
    assert isinstance(first, PlanStarted)
    assert isinstance(last, PlanFinished)
    assert [
        (event.path, event.line, event.call.name, event.result.ok)
        for event in steps
        if isinstance(event, StepFinished)
    ] == [
        ("1", 1, "get_weather", True),
        ("2b.1", 5, "judge_rain", True),
    ]
    assert outcome.variables["w"]["condition"] == "雨"


def test_ids_follow_from_the_place_and_are_unique():
    source = (
        'for o in ["a", "b"]:\n    remind(message=$o)\n    parallel weigh(grams=1), weigh(grams=2)\nlog_in()'
    )
    ids = [call for wave in Ran(source).run().done for call in [wave.call.id if wave.call else ""]]
    assert ids == ["p.1[1].1", "p.1[1].2.1", "p.1[1].2.2", "p.1[2].1", "p.1[2].2.1", "p.1[2].2.2", "p.2"]


def test_independent_calls_run_side_by_side():
    running, most = 0, 0

    @tool
    async def slow(n: int) -> int:
        """a"""
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return n

    outcome = Ran(
        "parallel slow(n=1) -> a, slow(n=2) -> b, slow(n=3)\nreturn [$a, $b]", Toolset([slow])
    ).run()
    assert outcome.answer == [1, 2]
    assert most == 3


def test_what_hangs_on_another_waits_for_it_whatever_the_order_on_the_line():
    ran = Ran('parallel judge_rain(report=$w.condition) -> r, get_weather(city="北京") -> w, log_in()')
    assert ran.run().ending == "done"
    assert ran.waves == [["p.1.2", "p.1.3"], ["p.1.1"]]


def test_preconditions_order_what_was_left_open():
    ran = Ran('pay(order="A1"); log_in()')
    assert ran.run().ending == "done"
    assert [name for name, _ in ran.calls] == ["log_in", "pay"]


def test_the_rounds_of_a_loop_are_bounded_before_it_begins():
    ran = Ran("list_orders() -> l\nfor o in $l:\n    remind(message=$o.id)", rounds=2)
    outcome = ran.run()
    assert outcome.ending == "failed"
    assert "3" in outcome.error.message
    assert [name for name, _ in ran.calls] == ["list_orders"]


def test_the_calls_of_a_plan_are_bounded():
    ran = Ran("for o in [1, 2, 3, 4]:\n    weigh(grams=$o)", calls=3)
    assert ran.run().ending == "failed"
    assert len(ran.calls) == 3


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('find_user(name="A") -> u\nremind(message=$u.phone)', "id, name, email, tags"),
        ("list_orders() -> l\nremind(message=$l.id)", "$l[0].id"),
        ("list_orders() -> l\nremind(message=$l[9].id)", "3"),
        ("log_in() -> t\nremind(message=$t.x)", "$t"),
        ("if 1 == 2: log_in() -> a\nremind(message=$a)", "$a"),
        ('get_weather(city="x") -> w\nif $w.condition > 3: log_in()', "fog"),
        ("log_in() -> t\nfor x in $t: log_in()", "$t"),
    ],
)
def test_what_a_result_does_not_have_ends_the_plan_with_a_sentence_that_helps(source, said):
    outcome = Ran(source).run()
    assert outcome.ending == "failed"
    assert said in outcome.error.message
    assert outcome.error.details["line"] == 2


def test_conditions_compare_as_people_do():
    true = [
        '"Rain " == "rain"', '"3" == 3', "3 > 2.5", '"10" > "9"', 'true == "true"', '"a" in ["A", "b"]', '["x", "y"] contains "y"',
        '{"k": "小雨"} contains "雨"', '"abc" contains "B"', 'not "false"', "not []", "null == null", '"2026-01-02" < "2026-02-01"',
        '1 == 1 and ("a" == "b" or not "a" == "b")', "1 < 2 < 3",
    ]  # fmt: skip
    for test in true:
        assert Ran(f'if {test}: return "yes"').run().answer == "yes", test
        assert Ran(f'if not ({test}): return "yes"').run().answer is None, test


def test_a_failing_step_ends_the_plan_after_its_neighbours_have_ended():
    ran = Ran('parallel break_down(), log_in()\nremind(message="never")')
    outcome = ran.run()
    assert outcome.ending == "failed"
    assert outcome.error.message == "Line 1: the machine is broken"
    assert sorted(name for name, _ in ran.calls) == ["break_down", "log_in"]


def test_it_can_be_stopped_between_two_steps():
    ran = Ran('log_in()\nremind(message="never")')
    plain = ran.dispatch

    async def dispatch(calls: Any) -> Any:
        ran.interpreter.stop()
        return await plain(calls)

    ran.interpreter._dispatch = dispatch
    assert ran.run().ending == "stopped"
    assert [name for name, _ in ran.calls] == ["log_in"]


def test_a_dry_run_reads_and_writes_nothing():
    ran = Ran(
        'get_weather(city="北京") -> w\nsend_message(to="a", text=$w.condition) -> m\nif $m.message_id == 41:\n    log_in()\n'
        "remind(message=$m.message_id)\njudge_rain(report=$m.x)\nreturn $m.message_id",
        is_dry=True,
    )
    outcome = ran.run()
    assert [name for name, _ in ran.calls] == ["get_weather"]
    assert outcome.answer == "$m.message_id"
    assert [done.path for done in outcome.done] == ["1", "2", "3", "4", "5"]
    assert outcome.done[2].skipped
    assert outcome.done[1].call.arguments == {"to": "a", "text": "雨"}


# ---------------------------------------------------------------------- the way back
BOOKED = 'send_message(to="a", text="1") -> m\nget_weather(city="x")\nremind(message="r")\nsend_message(to="b", text="2")\nbreak_down()'


def test_a_failed_plan_undoes_its_writing_steps_the_last_first():
    ran = Ran(BOOKED, undo=True)
    outcome = ran.run()
    assert outcome.ending == "failed"
    assert [(one.path, one.result.ok if one.result else one.reason) for one in outcome.undone] == [
        ("4", True),
        ("3", "'remind' has no way back."),
        ("1", True),
    ]
    assert [arguments["message"] for name, arguments in ran.calls if name == "unsend"] == [42, 41]
    assert [call.id for done in outcome.undone if (call := done.call)] == ["p.4.undo", "p.1.undo"]


def test_nothing_is_undone_unasked_and_on_request_it_is():
    ran = Ran(BOOKED)
    assert ran.run().undone == ()
    assert not any(name == "unsend" for name, _ in ran.calls)
    undone = asyncio.run(ran.interpreter.undo())
    assert [one.path for one in undone] == ["4", "3", "1"]


def test_an_undo_that_fails_is_reported_and_the_others_go_on():
    @tool(effect="writes", undo="give_back")
    def take(n: int) -> int:
        """a"""
        return n

    @tool(effect="writes")
    def give_back(n: int) -> str:
        """b"""
        if n == 2:
            raise RuntimeError
        return "back"

    @tool(effect="writes")
    def fail() -> str:
        """c"""
        raise RuntimeError

    outcome = Ran("take(n=1)\ntake(n=2)\nfail()", Toolset([take, give_back, fail]), undo=True).run()
    assert [(one.path, one.result.ok) for one in outcome.undone if one.result] == [("2", False), ("1", True)]


def test_a_step_whose_outcome_is_unknown_is_not_undone_blindly():
    @tool(effect="writes", undo="give_back", timeout=0.05)
    async def take(n: int) -> int:
        """a"""
        await asyncio.sleep(5)
        return n

    @tool(effect="writes")
    def give_back(n: int) -> str:
        """b"""
        return "back"

    outcome = Ran("take(n=1)", Toolset([take, give_back]), undo=True).run()
    (undone,) = outcome.undone
    assert undone.call is None
    assert "may or may not" in undone.reason


def test_an_undo_must_be_a_tool_or_a_name():
    with pytest.raises(ToolDefinitionError, match="undo"):

        @tool(undo=3)  # type: ignore[arg-type]
        def odd() -> str:
            """a"""
            return ""


# ---------------------------------------------------------------------- resumed from recorded results
def test_a_plan_that_is_run_again_asks_by_the_same_ids():
    source = 'list_orders() -> l\nfor o in $l:\n    send_message(to=$o.id, text="x") -> m\n    if $o.total > 10 and $m.message_id > 1: remind(message=$o.id)'
    whole = Ran(source)
    whole.run()
    ids = [call for wave in whole.waves for call in wave]
    kept: dict[str, ToolResult] = {}
    for cut in range(len(ids)):
        kept = {
            done.call.id: done.result for done in whole.interpreter.done[:cut] if done.call and done.result
        }
        again = Ran(source)
        plain = again.dispatch

        async def dispatch(calls: list[ToolCall], kept: Any = kept, plain: Any = plain) -> Any:
            return [kept.get(call.id) or (await plain([call]))[0] for call in calls]

        again.interpreter._dispatch = dispatch
        assert again.run().ending == "done"
        assert [call for wave in again.waves for call in wave] == ids[cut:]


# ---------------------------------------------------------------------- for people
def test_it_is_explained_as_a_list_and_as_a_graph():
    plan = read(
        'a(x="1") -> w\nif $w == 1:\n    b()\nelif $w > 2:\n    c()\nelse:\n    return $w\nfor i in $w:\n    parallel d(), e()\nx = $w.k'
    )
    assert explain(plan).split("\n") == [
        '1. Call a(x="1"); its result is $w',
        "2a. If $w == 1:",
        "   2a.1. Call b()",
        "2b. Else, if $w > 2:",
        "   2b.1. Call c()",
        "2c. Else:",
        "   2c.1. Answer $w",
        "3. For each $i in $w:",
        "   3.1. Side by side:",
        "      3.1.1. Call d()",
        "      3.1.2. Call e()",
        "4. Let $x be $w.k",
    ]
    assert explain(plan, "zh").startswith('1. 调用 a(x="1")，结果记为 $w')
    graph = mermaid(plan)
    assert graph.startswith("flowchart TD\n")
    assert '{"$w #62; 2"}' in graph
    for line in graph.split("\n")[1:]:
        assert line.count('"') in (0, 2)


@pytest.mark.parametrize(
    "hostile",
    [
        "%%{init: {'theme': 'x'}}%%",
        '"]; click n1 href',
        "`bold`",
        "<img src=x>",
        "&lt;b&gt;",
        "a;end",
        "#quot;",
    ],
)
def test_a_text_in_a_graph_stays_a_text(hostile):
    graph = mermaid(read(f"a(x={json.dumps(hostile)})\nif $w == {json.dumps(hostile)}: b()"))
    for label in re.findall(r'n\d+[\[({]+"(.*)"[\])}]+$', graph, re.MULTILINE):
        assert not re.search(r'["<>%`&]|#(?!\d+;)|(?<!\d);', label), label
    assert len(graph.split("\n")) == 11


def test_an_object_where_a_text_is_wanted_gives_its_field_of_that_name_or_its_only_one():
    given: list[Any] = []

    @tool
    def find(name: str) -> dict[str, Any]:
        """a"""
        return {"Member-ID": "M1", "name": name}

    @tool
    def count() -> list[dict[str, Any]]:
        """b"""
        return [{"total": 3}]

    @tool
    def take(member_id: str, n: int = 0, whole: dict[str, Any] | None = None) -> str:
        """c"""
        given.append((member_id, n, whole))
        return "x"

    tools = Toolset([find, count, take])
    assert (
        Ran('find(name="Ann") -> m\ncount() -> c\ntake(member_id=$m, n=$c, whole=$m)', tools).run().ending
        == "done"
    )
    assert given == [("M1", 3, {"Member-ID": "M1", "name": "Ann"})]
    unclear = Ran('find(name="Ann") -> m\ntake(member_id="M1", n=$m)', tools).run()
    assert unclear.ending == "failed"
    assert Ran('count() -> c\nif $c[0] == 3: return "yes"', tools).run().answer == "yes"


CALLS = st.sampled_from([
    'get_weather(city="Oslo")', "remind(message=$w)", "wipe(disk='a')", "open('/etc/passwd')", "__import__('os').system('x')",
    "eval('1')", "delete_order(order=1)", "os.system('x')", "log_in()", "unsend(message=1)", "getattr(log_in, 'function')()",
])  # fmt: skip
AROUND = st.sampled_from(["{} -> w", "w = {}", "if {}: {}", "for x in [1, 2]: {}", "remind(message={})", "parallel {}, {}",
                          "return {}", "{}.x -> w", "{}", "while {}:\n    {}", "lambda: {}", "# {}", "if $w: {} else: {}"])  # fmt: skip


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(AROUND, CALLS), min_size=1, max_size=5))
def test_whatever_is_written_only_tools_run_and_only_by_dispatch(lines):
    source = "\n".join(around.replace("{}", call) for around, call in lines)
    ran = Ran(source)
    dispatched: list[str] = []
    plain = ran.dispatch

    async def dispatch(calls: Any) -> Any:
        dispatched.extend(call.name for call in calls)
        return await plain(calls)

    ran.interpreter._dispatch = dispatch
    plan = read(source)
    if plan.problems:
        return
    ran.run()
    assert {name for name, _ in ran.calls} <= set(dispatched)
    assert {name for name, _ in ran.calls} <= set(ran.tools.names)
    assert not {"wipe", "delete_order"} & {
        name for name, _ in ran.calls
    }  # they need a person, and a permission


def test_what_hangs_on_a_result_is_not_called_missing_beside_what_is():
    (problem,) = checked("find_user(name='Ann') -> u\nsend_message(to=$u.email)").problems
    assert "'text'" in problem.message
    assert "'to'" not in problem.message
    assert [
        call.name for call in checked("find_user(name='Ann') -> u\nsend_message(to=$u.email, text='x')").calls
    ] == [
        "find_user",
        "send_message",
    ]
