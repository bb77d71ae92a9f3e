"""A record for each call: who, what the model wrote, what was understood, decided, run; searched and exported."""

from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import io
import json
import stat

import pytest

from toolhand import Agent, RunContext, ToolFailure, Toolset, tool
from toolhand.core.approvals import Approve, Edit, decide
from toolhand.core.errors import ErrorCode
from toolhand.core.events import FallbackTaken, ModelReplied, RunFinished, RunStarted
from toolhand.core.messages import Fix, RawCall, Reply, ToolCall, Usage
from toolhand.observability import listening
from toolhand.observability.audit import (
    AuditFile,
    AuditList,
    AuditLog,
    AuditRecord,
    export_csv,
    export_jsonl,
)
from toolhand.testing import ScriptedModel

from .events import CONTEXT, call_of, cancelled, failure, finished, made

KEY = "sk-proj-abcdefghijklmnopqrstuvwx1234"


def record_of(*events, context=CONTEXT, **options):
    log = AuditLog(AuditList(), **options)
    for event in events:
        log(event, context)
    return list(log.store.records())[-1]


def test_a_record_says_who_what_and_how_it_ended():
    of = made(effect="writes")
    record = record_of(finished(of, call_of(of, item="tea"), {"ok": 1}, seconds=0.5, attempts=2))
    assert (record.user, record.session_id, record.trace_id, record.turn) == ("ann", "s1", "t" * 32, 2)
    assert (record.tool, record.effect, record.arguments) == ("get_price", "writes", {"item": "tea"})
    assert (record.outcome, record.result, record.seconds, record.attempts) == ("ok", {"ok": 1}, 0.5, 2)
    assert record.decision == "allowed"
    moment = dt.datetime.fromisoformat(record.time)
    assert abs((dt.datetime.now(dt.UTC) - moment).total_seconds()) < 60


def test_a_record_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        record_of(finished(made())).user = "bob"


async def test_what_the_user_said_and_the_model_wrote_is_in_it_masked():
    @tool
    def get_price(item: str) -> int:
        """The price."""
        return 3

    log, contexts = AuditLog(AuditList()), []

    def sink(event, context):
        contexts.append(context)
        log(event, context)

    raw = f'I use {KEY}. <tool_call>{{"name": "get_price", "arguments": {{"item": "tea"}}}}</tool_call>'
    agent = Agent(ScriptedModel([raw, "It is 3."]), tools=[get_price], sinks=[sink])
    await agent.run("What does tea cost?", session="s9", user="ann")
    (record,) = log.search()
    assert "<tool_call>" in record.raw
    assert KEY not in record.raw
    assert (record.user, record.session_id, record.turn, record.result) == ("ann", "s9", 1, 3)
    assert record.trace_id == contexts[0].trace_id


def test_of_structured_calls_the_one_as_it_was_sent_is_in_it():
    of = made()
    call = call_of(of, item="tea")
    raws = (
        RawCall(id="other", name="x", arguments="{}"),
        RawCall(id=call.id, name="get_price", arguments='{"item": "tea"'),
    )
    reply = ModelReplied(turn=1, reply=Reply(calls=(call,)), raw="", usage=Usage(), raw_calls=raws)
    record = record_of(RunStarted(text="hello"), reply, finished(of, call))
    assert record.sent == {"name": "get_price", "arguments": '{"item": "tea"'}
    assert record.asked == "hello"


def test_what_another_tool_of_the_run_hides_is_hidden_in_the_reply():
    mine, other = made("mine"), made("other", sensitive=frozenset({"phone"}))
    raw = 'mine(item="tea") other({"phone": "ext-qz81"})'
    reply = ModelReplied(turn=1, reply=Reply(), raw=raw, usage=Usage())
    record = record_of(RunStarted(tools=(mine, other)), reply, finished(mine))
    assert "qz81" not in record.raw
    unknown = ToolCall(id="c", name="othr", arguments={"phone": "ext-qz81"})
    record = record_of(
        RunStarted(tools=(mine, other)), reply, finished(None, unknown, ErrorCode.UNKNOWN_TOOL)
    )
    assert "qz81" not in json.dumps(record.to_json())


def test_sensitive_arguments_are_nowhere_in_a_record():
    of = made(sensitive=frozenset({"phone"}))
    call = call_of(of, item="tea", phone="ext-qz81")
    call = dataclasses.replace(
        call, fixes=(Fix(kind="number_to_string", path="$.phone", before="ext-qz81", after="ext-qz81"),)
    )
    event = finished(of, call, {"to": "ext-qz81"}, edited={"phone": "ext-qz81"})
    record = record_of(event)
    assert "qz81" not in json.dumps(record.to_json())
    assert record.arguments["item"] == "tea"


async def test_what_a_tool_raised_leaves_its_type_and_no_secret():
    @tool
    def store(x: int) -> str:
        """Stores."""
        raise RuntimeError("postgres://svc:S3cr3t%21pw@db.test/x failed")

    @tool
    def says(x: int) -> str:
        """Says."""
        raise ToolFailure(f"the key {KEY} is wrong, use db.test")

    log = AuditLog(AuditList())
    for name in ("store", "says"):
        await Toolset([store, says]).call(name, {"x": 1}, context=listening(RunContext(), [log]))
    first, second = log.search()
    assert (first.outcome, first.exception) == ("execution", "RuntimeError")
    text = json.dumps([first.to_json(), second.to_json()])
    assert "S3cr3t" not in text
    assert KEY not in text
    assert "db.test" in text


@pytest.mark.parametrize(
    ("code", "decision", "attempts"),
    [
        (ErrorCode.NOT_PERMITTED, "denied", 0),
        (ErrorCode.NOT_ALLOWED, "denied", 0),
        (ErrorCode.APPROVAL_REQUIRED, "pending", 0),
        (ErrorCode.APPROVAL_DENIED, "rejected", 0),
        (ErrorCode.RATE_LIMITED, "held_back", 0),
        (ErrorCode.CIRCUIT_OPEN, "held_back", 0),
        (ErrorCode.REPEATED_CALL, "held_back", 0),
        (ErrorCode.PRECONDITION_FAILED, "held_back", 0),
        (ErrorCode.INVALID_ARGUMENT, "invalid", 0),
        (ErrorCode.TIMEOUT, "allowed", 1),
        (ErrorCode.EXECUTION, "allowed", 1),
    ],
)
def test_what_became_of_the_wish(code, decision, attempts):
    record = record_of(finished(made(), outcome=code))
    assert (record.decision, record.attempts, record.outcome) == (decision, attempts, str(code))


def test_an_unknown_tool_is_invalid_and_has_no_effect():
    record = record_of(finished(None, outcome=ErrorCode.UNKNOWN_TOOL))
    assert (record.decision, record.effect, record.tool) == ("invalid", "", "no_such_tool")


def test_whom_a_person_let_through():
    of = made()
    for decision, word in ((Approve(), "approved"), (Edit({"item": "tea"}), "edited")):
        call, context = call_of(of), RunContext()
        decide(context, {call.id: decision})
        assert record_of(finished(of, call), context=context).decision == word


async def test_approval_and_resuming_leave_a_record_each():
    @tool(effect="destroys", approval=True)
    def wipe(disk: str) -> str:
        """Wipes."""
        return "gone"

    log = AuditLog(AuditList())
    call = RawCall(id="c1", name="wipe", arguments='{"disk": "a"}')
    agent = Agent(ScriptedModel([call, "Done."]), tools=[wipe], sinks=[log])
    run = await agent.run("wipe a", session="s1")
    await agent.resume("s1", {run.pending[0].approval_id: Approve()})
    assert [(r.decision, r.outcome) for r in log.search()] == [
        ("pending", "approval_required"),
        ("approved", "ok"),
    ]


def test_a_call_that_was_cancelled_has_a_record():
    record = record_of(cancelled(made(effect="writes")))
    assert (record.outcome, record.seconds) == ("outcome_unknown", 0.5)


def test_the_fallback_is_named():
    of = made()
    call = call_of(of)
    taken = FallbackTaken(call=call, error=failure(ErrorCode.UPSTREAM), fallback="other")
    assert record_of(taken, finished(of, call)).fallback == "other"


def test_results_can_be_left_out():
    assert record_of(finished(made(), outcome="secret plans"), keeps_results=False).result is None


def test_a_record_is_bounded():
    record = record_of(finished(made(), call_of(made(), item="x" * 10**6), ["y" * 10**6]))
    assert len(json.dumps(record.to_json())) < 20_000


def test_runs_that_never_end_do_not_pile_up():
    log = AuditLog(AuditList())
    for number in range(6000):
        log(RunStarted(text="x"), RunContext(trace_id=str(number)))
    assert len(log._runs) <= 4096
    ending = RunContext(trace_id="5999")
    log(RunFinished(run=None), ending)
    assert "5999" not in log._runs


# ---------------------------------------------------------------------- files


def test_a_file_keeps_records_for_its_owner(tmp_path):
    log = AuditLog(tmp_path / "audit.jsonl")
    of = made()
    log(finished(of, call_of(of, item="茶"), {"价格": 3}), CONTEXT)
    log(finished(None, outcome=ErrorCode.UNKNOWN_TOOL), CONTEXT)
    first, second = AuditLog(tmp_path / "audit.jsonl").search()
    assert (first.arguments, first.result, first.fixes) == ({"item": "茶"}, {"价格": 3}, ())
    assert second.outcome == "unknown_tool"
    assert stat.S_IMODE((tmp_path / "audit.jsonl").stat().st_mode) == 0o600


def test_a_record_survives_the_journey():
    of = made()
    call = dataclasses.replace(
        call_of(of), fixes=(Fix(kind="near_key", path="$.item", before="itm", after="item"),)
    )
    record = record_of(finished(of, call))
    again = AuditRecord.from_json(json.loads(json.dumps({**record.to_json(), "added_later": 1})))
    assert again == record


def test_records_go_with_their_age(tmp_path):
    moment = [1_700_000_000.0]
    file = AuditFile(tmp_path / "audit.jsonl", keep_days=2, now=lambda: moment[0])
    log = AuditLog(file, now=lambda: moment[0])
    for _ in range(6):
        log(finished(made()), CONTEXT)
        moment[0] += 86_400
    assert len(list(log.search())) == 3


# ---------------------------------------------------------------------- search and export


@pytest.fixture
def searched():
    moment = [dt.datetime(2026, 3, 1, tzinfo=dt.UTC).timestamp()]
    log = AuditLog(AuditList(), now=lambda: moment[0])
    of, other = made("price"), made("order")
    for user, tool_, outcome in [
        ("ann", of, "fine"),
        ("bob", of, ErrorCode.TIMEOUT),
        ("ann", other, ErrorCode.NOT_PERMITTED),
    ]:
        log(finished(tool_, outcome=outcome), RunContext(user=user, session_id=f"s-{user}"))
        moment[0] += 3600
    return log


@pytest.mark.parametrize(
    ("wanted", "hours"),
    [
        ({}, [0, 1, 2]),
        ({"user": "ann"}, [0, 2]),
        ({"tool": "price"}, [0, 1]),
        ({"user": "ann", "tool": "order"}, [2]),
        ({"session_id": "s-bob"}, [1]),
        ({"outcome": "ok"}, [0]),
        ({"outcome": "error"}, [1, 2]),
        ({"outcome": "timeout"}, [1]),
        ({"since": dt.datetime(2026, 3, 1, 1, tzinfo=dt.UTC)}, [1, 2]),
        ({"until": dt.datetime(2026, 3, 1, 1, tzinfo=dt.UTC)}, [0]),
        ({"trace_id": "nobody's"}, []),
    ],
)
def test_search(searched, wanted, hours):
    found = [dt.datetime.fromisoformat(record.time).hour for record in searched.search(**wanted)]
    assert found == hours


def test_export_as_lines(searched):
    file = io.StringIO()
    assert export_jsonl(searched.search(), file) == 3
    assert [json.loads(line)["user"] for line in file.getvalue().splitlines()] == ["ann", "bob", "ann"]
    assert export_jsonl([], io.StringIO()) == 0


@pytest.mark.parametrize(
    "cell", ['=HYPERLINK("http://x","y")', "+1", "-1+cmd|x", "@SUM(1)", "\t=1", "\r=1", " =1", "＝1", "　=1"]
)
def test_no_cell_of_a_table_is_a_formula(cell):
    file = io.StringIO(newline="")
    of = made()
    record = dataclasses.replace(record_of(finished(of)), raw=cell, user=cell, result=cell)
    assert export_csv([record], file) == 1
    (row,) = csv.DictReader(io.StringIO(file.getvalue(), newline=""))
    for name in ("raw", "user", "result"):
        assert row[name] == f"'{cell}"


def test_a_table_holds_values_as_json_and_numbers_as_they_are():
    file = io.StringIO(newline="")
    of = made()
    export_csv([record_of(finished(of, call_of(of, item='a "b", c'), {"n": 1}, seconds=0.5))], file)
    (row,) = csv.DictReader(io.StringIO(file.getvalue(), newline=""))
    assert json.loads(row["arguments"]) == {"item": 'a "b", c'}
    assert json.loads(row["result"]) == {"n": 1}
    assert (row["seconds"], row["edited"]) == ("0.5", "")
