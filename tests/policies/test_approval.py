from __future__ import annotations

import asyncio
import json
import time

import pytest

from toolhand import ErrorCode, RunContext, ToolError
from toolhand.core.approvals import (
    Approve,
    Deny,
    Edit,
    PendingCall,
    decide,
    decision_from_json,
    decision_to_json,
)
from toolhand.core.errors import SettingsError
from toolhand.core.events import CallFailed
from toolhand.core.messages import BoundCall
from toolhand.execution.invoke import invoke
from toolhand.policies import chain
from toolhand.policies.approval import Approval
from toolhand.policies.permission import AccessRule, Permission

from .calls import Way, bound, made


class Mail:
    def __init__(self):
        self.sent: list[tuple[str, int]] = []

    @property
    def tool(self):
        async def send(to: str, copies: int = 1) -> str:
            self.sent.append((to, copies))
            return f"sent to {to}"

        return made(send, effect="writes", approval=True)


@pytest.fixture
def mail():
    return Mail()


async def test_without_a_decision_nothing_runs(mail):
    result = await Way(Approval())(mail.tool, to="ann")
    assert result.error.code is ErrorCode.APPROVAL_REQUIRED
    assert mail.sent == []
    pending = PendingCall.from_json(json.loads(json.dumps(result.error.details["pending"])))
    assert (pending.name, pending.arguments, pending.effect) == ("send", {"to": "ann"}, "writes")
    assert pending.approval_id == result.error.details["approval_id"]
    assert PendingCall.from_json({**pending.to_json(), "later": 1}) == pending


@pytest.mark.parametrize(
    ("decision", "sent"),
    [
        (Approve(), [("ann", 1)]),
        (Deny("not on a Sunday"), []),
        (Edit({"to": "bob", "copies": 2}), [("bob", 2)]),
    ],
)
async def test_another_process_resumes(mail, decision, sent):
    way = chain([Approval()], invoke)
    call = bound(mail.tool, "c1", to="ann")
    first = await way(call, RunContext(session_id="s"))
    message = json.dumps({first.error.details["approval_id"]: decision_to_json(decision)})

    context = RunContext(session_id="s")  # as a new process makes it
    decide(context, {key: decision_from_json(value) for key, value in json.loads(message).items()})
    result = await way(bound(mail.tool, "c1", to="ann"), context)
    assert mail.sent == sent
    if isinstance(decision, Deny):
        assert result.error.code is ErrorCode.APPROVAL_DENIED
        assert "not on a Sunday" in result.error.message
    else:
        assert result.ok
    if isinstance(decision, Edit):
        assert "bob" in result.remark
        assert result.notes["edited"] == {"to": "bob", "copies": 2}


async def test_a_decision_counts_for_no_other_call(mail):
    way = chain([Approval()], invoke)
    first = await way(bound(mail.tool, "c1", to="ann"), RunContext(session_id="s"))
    agreed = {first.error.details["approval_id"]: Approve()}
    for call, session in [
        (bound(mail.tool, "c1", to="eve"), "s"), (bound(mail.tool, "c2", to="ann"), "s"), (bound(mail.tool, "c1", to="ann"), "t"),
    ]:  # fmt: skip
        context = RunContext(session_id=session)
        decide(context, agreed)
        assert (await way(call, context)).error.code is ErrorCode.APPROVAL_REQUIRED
    assert mail.sent == []


async def test_a_decision_by_call_id(mail):
    context = RunContext()
    decide(context, {"c7": Approve()})
    assert (await chain([Approval()], invoke)(bound(mail.tool, "c7", to="ann"), context)).ok


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_person_is_asked_at_once(mail, is_async):
    async def later(call, context):
        await asyncio.sleep(0)
        return Approve()

    result = await Way(Approval(later if is_async else lambda call, context: Approve()))(mail.tool, to="ann")
    assert result.ok


async def test_a_person_may_have_no_answer_yet(mail):
    result = await Way(Approval(lambda call, context: None))(mail.tool, to="ann")
    assert result.error.code is ErrorCode.APPROVAL_REQUIRED


async def test_asking_that_fails_or_takes_too_long_is_no_agreement(mail):
    def broken(call, context):
        raise RuntimeError("no terminal")

    way = Way(Approval(broken))
    assert (await way(mail.tool, to="ann")).error.code is ErrorCode.APPROVAL_REQUIRED
    assert len(way.of(CallFailed)) == 1

    async def asleep(call, context):
        await asyncio.sleep(60)

    way = Way(Approval(asleep), context=RunContext(deadline=time.monotonic() + 0.02))
    assert (await way(mail.tool, to="ann")).error.code is ErrorCode.APPROVAL_REQUIRED
    assert mail.sent == []


async def test_edited_arguments_are_checked(mail):
    result = await Way(Approval(lambda call, context: Edit({"to": "ann", "copies": "many"})))(
        mail.tool, to="ann"
    )
    assert result.error.code is ErrorCode.INVALID_ARGUMENT
    assert mail.sent == []


async def test_edited_arguments_can_be_bound_anew(mail):
    seen = []

    def rebind(call, context):
        seen.append(dict(call.arguments))
        if "to" not in call.arguments:
            return ToolError(code=ErrorCode.MISSING_ARGUMENT, message="'to' is missing.")
        return BoundCall(call=call, tool=mail.tool)

    assert (await Way(Approval(lambda c, x: Edit({"to": "b"}), rebind=rebind))(mail.tool, to="ann")).ok
    result = await Way(Approval(lambda c, x: Edit({}), rebind=rebind))(mail.tool, to="ann")
    assert "'to' is missing" in result.error.message
    assert seen == [{"to": "b"}, {}]
    assert mail.sent == [("b", 1)]


@pytest.mark.parametrize(
    "value", [{}, {"decision": "maybe"}, {"decision": "edit"}, {"decision": "edit", "arguments": 1}]
)
def test_what_is_no_decision_is_said(value):
    with pytest.raises(SettingsError, match="a decision is"):
        decision_from_json(value)


async def test_an_agreement_is_to_one_call(mail):
    """Also where the same call comes again in the same run, at once or later; a refusal stays one."""
    way, context = chain([Approval()], invoke), RunContext(session_id="s")
    call = bound(mail.tool, "c1", to="ann")
    name = (await way(call, context)).error.details["approval_id"]
    for key in (name, "c1"):
        mail.sent.clear()
        decide(context, {key: Approve()})
        both = await asyncio.gather(way(call, context), way(call, context))
        assert sorted(result.ok for result in both) == [False, True]
        assert (await way(call, context)).error.code is ErrorCode.APPROVAL_REQUIRED
        assert mail.sent == [("ann", 1)]
    context = RunContext(session_id="s")
    decide(context, {name: Edit({"to": "bob"})})
    assert (await way(call, context)).ok
    assert (await way(call, context)).error.code is ErrorCode.APPROVAL_REQUIRED
    assert (await way(bound(mail.tool, "c1", to="bob"), context)).error.code is ErrorCode.APPROVAL_REQUIRED
    decide(context, {name: Deny()})
    for _ in range(2):
        assert (await way(call, context)).error.code is ErrorCode.APPROVAL_DENIED


@pytest.mark.parametrize("answer", [True, False, "yes", 0])
async def test_an_answer_that_is_no_decision_is_no_agreement_and_no_fault_of_the_tool(mail, answer):
    heard = []
    context = RunContext(emit=heard.append)
    result = await chain([Approval(lambda call, context: answer)], invoke)(
        bound(mail.tool, "c1", to="ann"), context
    )
    assert result.error.code is ErrorCode.APPROVAL_REQUIRED
    assert [str(event.exception) for event in heard if isinstance(event, CallFailed)]
    assert mail.sent == []


async def test_an_access_rule_and_the_tool_itself_ask_once(mail):
    asked = []

    def ask(call, context):
        asked.append(call.call.id)
        return Approve()

    approval = Approval(ask)
    way = chain([Permission([AccessRule(access="ask")], approval=approval), approval], invoke)
    context = RunContext(session_id="s")
    assert (await way(bound(mail.tool, "c1", to="ann"), context)).ok
    assert asked == ["c1"]
    assert (await way(bound(mail.tool, "c1", to="ann"), context)).ok
    assert asked == ["c1", "c1"]
