"""Plans in an agent's run: approval, limits, later plans, other protocols, and a process that dies in the midst."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.plan.shop import shop
from toolhand import Agent, Limits, Toolset, tool
from toolhand.core import plugins
from toolhand.core.approvals import Approve, Deny
from toolhand.core.errors import MissingExtraError
from toolhand.core.events import ReadingMended
from toolhand.core.messages import Message, Note, ToolCall, ToolResult, Value
from toolhand.core.tools import ToolChoice
from toolhand.parsing.plans.words import said
from toolhand.plan import Rules
from toolhand.plan.language import grammar
from toolhand.plan_runs import resume_plan, run_plan
from toolhand.protocols.plan import PlanProtocol
from toolhand.sessions.trimming.summaries import shortened
from toolhand.testing import ScriptedModel


def agent(
    replies: list[Any], ran: list[Any], protocol: Any = "plan", **options: Any
) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(replies)
    return Agent(model, shop(ran), protocol=protocol, store="memory", **options), model


def names(ran: list[Any]) -> list[str]:
    return [name for name, _ in ran]


def test_the_run_counts_the_steps_and_the_history_holds_one_call_with_one_result():
    ran: list[Any] = []
    one, _ = agent(['log_in() -> t\nremind(message=$t)\nreturn "set for {$t}"'], ran)
    run = one.run_sync("?")
    assert run.output == "set for token"
    assert [call.name for call in run.calls] == ["log_in", "remind"]
    assert [result.data for result in run.results] == ["token", "ok"]
    calls = [call for message in run.messages for call in message.calls]
    results = [result for message in run.messages for result in message.results]
    assert [call.name for call in calls] == ["run_plan"]
    assert [result.call_id for result in results] == [calls[0].id]
    assert run.messages[-1].text == "set for token"


def test_a_failed_plan_tells_what_is_done_and_its_results_keep_their_names():
    ran: list[Any] = []
    one, model = agent(['log_in() -> t\nbreak_down()\nremind(message="x")', "remind(message=t)", "done"], ran)
    assert one.run_sync("?").output == "done"
    assert names(ran) == ["log_in", "break_down", "remind"]
    assert ran[-1][1]["message"] == "token"
    told = model.requests[1].messages[-1].text
    assert "$t = token" in told
    assert "Line 2: the machine is broken" in told


def test_undo_by_rule_is_told_to_the_model():
    ran: list[Any] = []
    one, model = agent(
        ['send_message(to="a", text="b")\nbreak_down()', "sorry"], ran, PlanProtocol(rules=Rules(undo=True))
    )
    one.run_sync("?")
    assert names(ran) == ["send_message", "break_down", "unsend"]
    assert "Undone: unsend(" in model.requests[1].messages[-1].text


def test_a_person_is_asked_in_the_midst_and_finished_steps_do_not_run_again():
    ran: list[Any] = []
    one, model = agent(['log_in() -> t\nwipe(disk="a")\nremind(message=$t)', "wiped"], ran)
    run = one.run_sync("?", session="s")
    assert run.stopped == "approval"
    assert names(ran) == ["log_in"]
    (pending,) = run.pending
    assert (pending.name, dict(pending.arguments)) == ("wipe", {"disk": "a"})
    done = one.resume_sync("s", {pending.approval_id: Approve()})
    assert done.output == "wiped"
    assert names(ran) == ["log_in", "wipe", "remind"]
    assert len(model.requests) == 2


def test_what_a_failed_plan_has_done_is_not_done_or_asked_for_again_by_the_next():
    ran: list[Any] = []
    one, _ = agent(
        [
            'wipe(disk="a") -> w\nbreak_down()',
            'wipe(disk="a") -> w\nwipe(disk="a")\nremind(message=$w)',
            "done",
        ],
        ran,
    )
    run = one.run_sync("?", session="s")
    run = one.resume_sync("s", {run.pending[0].approval_id: Approve()})
    assert names(ran) == ["wipe", "break_down"]
    assert run.stopped == "approval"  # the second of the same name is another effect
    assert run.pending[0].approval_id
    one.resume_sync("s", {run.pending[0].approval_id: Approve()})
    assert names(ran)[:3] == ["wipe", "break_down", "wipe"]
    assert ran[-1] == ("remind", {"message": "wiped", "after_minutes": 5})


def test_what_was_undone_is_done_again():
    ran: list[Any] = []
    sending = 'send_message(to="a", text="x")\n'
    protocol = PlanProtocol(rules=Rules(undo=True))
    agent([f"{sending}break_down()", f"{sending}", "done"], ran, protocol)[0].run_sync("?")
    assert names(ran) == ["send_message", "break_down", "unsend", "send_message"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_tool_is_given_a_mask_for_a_value(language):
    given: list[str] = []

    @tool
    def find_key(name: str) -> dict[str, str]:
        """Finds a key."""
        return {"name": name, "password": "hunter2-hunter2"}

    @tool(effect="writes")
    def use_key(key: str) -> str:
        """Uses a key."""
        given.append(key)
        return "ok"

    model = ScriptedModel(['find_key(name="a") -> k\nuse_key(key=$k.name)\nuse_key(key=$k.password)', "done"])
    one = Agent(model, [find_key, use_key], protocol="plan", store="memory", language=language)
    one.run_sync("?")
    assert given == ["a"]
    told = model.requests[1].messages[-1].text
    assert said("masked", language, name="use_key", key="key") in told
    assert "hunter2" not in told


def paying(ran: list[Any]) -> Toolset:
    """A tool that fails before it does anything, and one in its place that has to be agreed to."""

    @tool(effect="writes", approval=True)
    def pay_by_card(amount: int) -> str:
        """Pays by card."""
        ran.append(("pay_by_card", amount))
        return "paid"

    @tool(effect="writes", fallback=pay_by_card)
    def transfer(amount: int) -> str:
        """Transfers an amount."""
        raise ConnectionRefusedError

    return Toolset([transfer])


def test_a_fallback_in_the_midst_runs_once_a_person_has_agreed_to_it():
    ran: list[Any] = []
    model = ScriptedModel(["transfer(amount=3)", "paid"])
    one = Agent(model, paying(ran), protocol="plan", store="memory")
    run = one.run_sync("?", session="s")
    assert (run.stopped, ran) == ("approval", [])
    one.resume_sync("s", {run.pending[0].approval_id: Approve()})
    assert ran == [("pay_by_card", 3)]


def test_a_person_who_declines_ends_the_plan():
    ran: list[Any] = []
    one, model = agent(['log_in()\nwipe(disk="a")\nremind(message="x")', "not wiped"], ran)
    run = one.run_sync("?", session="s")
    assert one.resume_sync("s", {run.pending[0].approval_id: Deny("no")}).output == "not wiped"
    assert names(ran) == ["log_in"]
    assert "no" in model.requests[1].messages[-1].text


def test_a_new_message_instead_of_a_decision_tells_what_had_run():
    ran: list[Any] = []
    one, model = agent(['log_in() -> t\nwipe(disk="a")', "hello"], ran)
    one.run_sync("?", session="s")
    assert one.run_sync("never mind", session="s").output == "hello"
    assert names(ran) == ["log_in"]
    assert "log_in: token" in model.requests[1].messages[-1].text


def test_the_runs_limit_of_calls_holds_for_steps():
    ran: list[Any] = []
    one, _ = agent(["for i in [1, 2, 3, 4, 5]:\n    weigh(grams=$i)", "enough", "enough"], ran)
    one.run_sync("?", limits=Limits(calls=3))
    assert len(ran) == 3


def test_a_choice_of_tools_holds_for_steps():
    ran: list[Any] = []
    one, model = agent(['log_in()\nremind(message="x")', "ok"], ran)
    one.run_sync("?", tool_choice=["log_in"])
    assert ran == []
    assert "remind" in model.requests[1].messages[-1].text


def test_step_by_step_only_the_first_line_runs():
    ran: list[Any] = []
    replies = [
        'get_weather(city="北京") -> w\nremind(message="too early")',
        "judge_rain(report=w.condition) -> r",
        "有雨",
    ]
    one, model = agent(replies, ran, "plan_steps")
    assert one.run_sync("?").output == "有雨"
    assert names(ran) == ["get_weather", "judge_rain"]
    assert ran[1][1] == {"report": "雨"}
    assert "one call" in model.requests[0].messages[0].text


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("protocol", ["plan", "plan_steps"])
def test_the_prompt_is_made_of_the_users_tools(language, protocol):
    one, model = agent(["hello"], [], protocol, language=language)
    one.run_sync("?")
    prompt = model.requests[0].messages[0].text
    assert 'list_orders(status?: "open" | "shipped" | "all")' in prompt
    assert "send_message(to=" in prompt
    assert "run_plan" not in prompt
    assert ("你可以使用" in prompt) == (language == "zh")


@pytest.mark.parametrize("notation", ["-> 10", "$price * $count", "token -> ok", "→ 10"])
def test_the_language_of_plans_is_no_answer_to_results(notation):
    one, model = agent(["log_in() -> t", notation, "It is done."], [])
    run = one.run_sync("Log in, please.")
    assert run.output == "It is done."
    assert notation not in [message.text for message in run.messages]
    plain = model.requests[-1]
    assert not plain.tools
    assert not any(message.calls for message in plain.messages)
    assert plain.messages[-1].text.startswith("Log in, please.\n\n<plan_result>\n$t = token\n</plan_result>")


def test_nor_is_it_one_where_there_are_no_results():
    one, model = agent(["-> 10", "I cannot know."], [])
    assert one.run_sync("Log in, please.").output == "I cannot know."
    assert model.requests[-1].tools


@pytest.mark.parametrize(
    "answer",
    ["It costs $10: 5 -> cheap.", "10", "Ulm: 5 minutes late.", "Shall I set $t?", "I ran this:\nremind($t)"],
)
def test_a_plain_answer_to_results_counts(answer):
    one, model = agent(["log_in() -> t", answer], [])
    assert one.run_sync("Log in, please.").output == answer
    assert len(model.requests) == 2


def test_what_was_mended_is_announced():
    events: list[Any] = []
    one, _ = agent(["log_in() => t\nremind(message=t)", "ok"], [])
    one.run_sync("?", on_event=events.append)
    (mended,) = [event for event in events if isinstance(event, ReadingMended)]
    assert {fix.kind for call in mended.calls for fix in call.fixes} >= {"other_arrow", "bare_variable"}


def test_what_cannot_be_read_goes_back_with_its_line():
    ran: list[Any] = []
    one, _ = agent(["log_in() -> t\nremind(message=$t * 2)", "remind(message='x')", "ok"], ran)
    run = one.run_sync("?")
    notes = [part.text for message in run.messages for part in message.parts if isinstance(part, Note)]
    assert "Line 2, column 19" in notes[0]
    assert names(ran) == ["remind"]


def test_another_protocol_can_go_on_with_the_history(tmp_path):
    ran: list[Any] = []
    store = str(tmp_path / "s.db")
    Agent(ScriptedModel(["log_in() -> t", "in"]), shop(ran), protocol="plan", store=store).run_sync(
        "?", session="s"
    )
    model = ScriptedModel(["fine"])
    other = Agent(model, shop(ran), protocol="json", store=store)
    assert other.run_sync("and now?", session="s").output == "fine"
    assert any("run_plan" in message.text for message in model.requests[0].messages)


def test_a_large_result_is_cut_for_the_model_and_whole_for_the_loop():
    sent: list[int] = []

    @tool
    def many() -> list[dict[str, Any]]:
        """a"""
        return [{"id": n, "text": "x" * 400} for n in range(300)]

    @tool
    def take(n: int) -> int:
        """b"""
        sent.append(n)
        return n

    model = ScriptedModel(["many() -> l\nfor o in $l:\n    take(n=$o.id)", "ok"])
    one = Agent(model, Toolset([many, take]), protocol=PlanProtocol(rules=Rules(rounds=500, calls=500)))
    one.run_sync("?", limits=Limits(calls=None))
    assert sent == list(range(300))


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    grammar.cache_clear()
    monkeypatch.setitem(sys.modules, "lark", None)
    try:
        with pytest.raises(MissingExtraError, match=r"pip install .*\[plan\]'"):
            agent(["x"], [])[0].run_sync("?")
    finally:
        grammar.cache_clear()


# ---------------------------------------------------------------------- a person's own plan
async def test_a_persons_plan_runs_without_a_model():
    ran: list[Any] = []
    run = await run_plan('get_weather(city="北京") -> w\nreturn $w.temperature', shop(ran))
    assert (run.ending, run.answer) == ("answered", 18)
    assert [step["call"] for step in run.steps] == ['get_weather(city="北京")']
    refused = await run_plan("nothing()\nremind(message=$x)", shop(ran))
    assert refused.ending == "refused"
    assert "Line 1" in refused.error
    assert "Line 2" in refused.error
    assert names(ran) == ["get_weather"]


async def test_a_persons_plan_waits_for_a_person(tmp_path):
    ran: list[Any] = []
    store = str(tmp_path / "s.db")
    run = await run_plan('log_in()\nwipe(disk="a")', shop(ran), session="s", store=store)
    assert run.ending == "waiting"
    done = await resume_plan("s", shop(ran), store=store, decisions={run.pending[0].approval_id: Approve()})
    assert done.ending == "done"
    assert names(ran) == ["log_in", "wipe"]


SCRIPT = """
    import asyncio, os, signal, sys
    from pathlib import Path
    from toolhand import tool
    from toolhand.plan_runs import resume_plan, run_plan

    folder, dies = Path(sys.argv[1]), sys.argv[2]

    def note(word):
        with (folder / "ran").open("a") as file:
            file.write(word + "\\n")

    def die_once(word):
        if dies == word and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    @tool(effect="writes")
    def book(n: int) -> dict:
        "Books."
        note(f"book {n}")
        die_once(f"book {n}")
        return {"id": n * 10}

    @tool
    def look(n: int) -> int:
        "Looks."
        note(f"look {n}")
        die_once(f"look {n}")
        return n

    SOURCE = 'book(n=1) -> a\\nlook(n=$a.id) -> b\\nfor i in [2, 3]:\\n    book(n=$i)\\nlook(n=4)\\nreturn "all {$b}"'
    store = str(folder / "s.db")
    if (folder / "died").exists():
        run = asyncio.run(resume_plan("s", [book, look], store=store))
    else:
        run = asyncio.run(run_plan(SOURCE, [book, look], session="s", store=store))
    print(run.ending, run.answer, run.error)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
@pytest.mark.parametrize("dies", ["look 4", "book 2"])
def test_a_killed_plan_goes_on_and_no_effect_comes_twice(tmp_path: Path, dies: str):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT), "utf-8")
    command = [sys.executable, str(script), str(tmp_path), dies]
    first = subprocess.run(command, check=False, capture_output=True, text=True)
    assert first.returncode == -signal.SIGKILL, first.stderr
    second = subprocess.run(command, check=False, capture_output=True, text=True)
    ran = (tmp_path / "ran").read_text("utf-8").split("\n")[:-1]
    whole = ["book 1", "look 10", "book 2", "book 3", "look 4"]
    place = whole.index(dies)
    if dies.startswith("look"):  # what reads runs again, and the plan ends as if nothing had been
        assert second.stdout.strip() == "answered all 10", second.stderr
        assert ran == [*whole[: place + 1], *whole[place:]]
    else:  # what writes may have had its effect: it does not run again, and the plan says so
        assert second.stdout.startswith("failed"), second.stderr
        assert ran == whole[: place + 1]
    assert len([line for line in ran if line.startswith("book")]) == len(
        {line for line in ran if line.startswith("book")}
    )


def test_the_report_is_json():
    ran: list[Any] = []
    one, _ = agent(["log_in() -> t\nbreak_down()", "x"], ran)
    run = one.run_sync("?")
    told = next(result.data for message in run.messages for result in message.results)
    assert json.loads(json.dumps(told))["ending"] == "failed"
    assert told["steps"][0] == {"step": "1", "call": "log_in()", "save_as": "t", "result": "token"}


async def test_a_run_that_is_cancelled_in_the_midst_of_a_plan_leaves_what_is_done():
    ran: list[str] = []
    is_under_way = asyncio.Event()

    @tool(effect="writes")
    async def quick(n: int) -> int:
        """a"""
        ran.append(f"quick {n}")
        return n

    @tool(effect="writes")
    async def slow() -> str:
        """b"""
        ran.append("slow")
        is_under_way.set()
        await asyncio.sleep(30)
        return "late"

    model = ScriptedModel(["quick(n=1) -> a\nslow()\nquick(n=2)", "so"])
    one = Agent(model, Toolset([quick, slow]), protocol="plan", store="memory")
    under_way = asyncio.create_task(one.run("?", session="s"))
    await asyncio.wait_for(is_under_way.wait(), 60)
    under_way.cancel()
    with pytest.raises(asyncio.CancelledError):
        await under_way
    assert ran == ["quick 1", "slow"]
    run = await one.run("and?", session="s")
    calls = [call.id for message in run.messages for call in message.calls]
    results = {result.call_id: result for message in run.messages for result in message.results}
    assert set(calls) == set(results)
    told = next(iter(results.values())).data
    assert told["ending"] == "stopped"
    assert told["steps"][0] == {"step": "1", "call": "quick", "result": 1}
    assert "may have had its effect" in told["steps"][1]["error"]
    assert "quick 2" not in ran


@pytest.mark.parametrize("protocol", ["plan", "code"])
def test_what_a_shortened_old_report_left_out_is_told(protocol):
    step = {"call": "rows()", "result": "x" * 100, "writes": True}
    report = {
        "output": "",
        "steps": [step] * 20,
        "undone": [{"call": "x" * 100, "ok": True}] * 20,
        "ending": "failed",
        "error": "no",
    }
    result = shortened(ToolResult(call_id="c", name=f"run_{protocol}", outcome=Value(report)), "en")
    call = ToolCall(id="c", name=result.name, arguments={})
    history = [Message(role="assistant", parts=(call,)), Message(role="tool", parts=(result,))]
    written = plugins.found("protocols", protocol, "PROTOCOL").render(
        history, Toolset([]), ToolChoice(), "en"
    )
    assert "no" in written.messages[-1].text
    assert (protocol == "code") or "left out" in written.messages[-1].text
