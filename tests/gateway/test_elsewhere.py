"""Models behind the gateway whose runs are made by workers on other machines."""

from __future__ import annotations

import re

import pytest

from tests.durable.conftest import durable_url, postgres, store, works  # noqa: F401 - fixtures
from tests.gateway.test_chat import WEATHER, message, streamed
from toolhand import Agent, RunContext, tool
from toolhand.auditing import AuditTrail
from toolhand.core.approvals import Approve
from toolhand.core.errors import ModelError, SettingsError
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.durable import SubmittedRun, ledger_of
from toolhand.durable.listing import list_runs
from toolhand.gateway import ClientKey, GatewaySettings
from toolhand.gateway import Upstream as Behind
from toolhand.gateway.app import build_app
from toolhand.sessions import Archive
from toolhand.testing import ScriptedModel

MODELS = {"support": Behind(model="worker:support")}


@tool
async def whoami(context: RunContext) -> str:
    """Says who asks."""
    return f"{context.user} {sorted(context.permissions)}"


@tool(effect="writes", approval=True)
def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


def reply(request):
    said = [m.text for m in request.messages if m.role == "user" and m.text]
    if request.messages[-1].results:
        return f"You are {request.messages[-1].results[0].data}."
    if said[-1] == "sampling":
        return f"{request.sampling} {request.tool_choice.mode}"
    if said[-1] == "break":
        raise ModelError("the key sk-secret is wrong")
    name, arguments = {"who": ("whoami", "{}"), "pay": ("pay", '{"amount": 5}')}.get(said[-1], ("", ""))
    if not name:
        return " / ".join(said)
    return ModelOutput(calls=(RawCall(id="c", name=name, arguments=arguments),), finish_reason="tool_calls")


@pytest.fixture
async def gate(start, store, works):  # noqa: F811
    works({"support": Agent(ScriptedModel(reply), tools=[whoami, pay], store=store)})
    keys = (ClientKey(name="ann", key="the-key-of-one-person", permissions=("orders:read",)),)
    return await start(models=MODELS, store=store.url, keys=keys, page=True)


async def ask(gate, *said: str, **more):
    roles = ["user", "assistant"] * len(said)
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=False)]
    headers = {"Authorization": "Bearer the-key-of-one-person"}
    return await gate.post({"model": "support", "messages": messages, **more}, headers=headers)


@pytest.mark.parametrize("streams", [False, True])
async def test_a_worker_answers_with_its_own_tools_for_the_key_s_user(gate, streams):
    said = await ask(gate, "who", stream=streams)
    content = streamed(said)["content"] if streams else message(said)["content"]
    assert content == "You are ann ['orders:read']."
    assert gate.upstream.bodies == []


async def test_a_history_of_the_client_s_and_a_session_are_gone_on_with(gate):
    assert message(await ask(gate, "one", "I see.", "two"))["content"] == "one / two"
    session = {"toolhand": {"session": "s"}}
    await ask(gate, "a", **session)
    assert message(await ask(gate, "b", **session))["content"] == "a / b"


async def test_what_a_worker_cannot_do_is_said_and_nothing_of_its_secrets(gate):
    refused = await ask(gate, "who", tools=[WEATHER])
    assert (refused.status, "its worker's" in refused.body["error"]["message"]) == (400, True)
    failed = await ask(gate, "break")
    assert (failed.status, failed.body["error"]["code"]) == (502, "run_failed")
    assert "sk-secret" not in str(failed.body)
    parked = await ask(gate, "pay")
    assert "A person has to agree to this first: pay." in message(parked)["content"]


REFUSED = {
    "response_format": {"type": "json_object"},
    "stop": ["."],
    "top_k": 4,
    "tool_choice": {"type": "function", "function": {"name": "pay"}},
}


async def test_options_of_an_answer_are_obeyed_or_refused_by_name(gate):
    for name, value in REFUSED.items():
        refused = await ask(gate, "who", **{name: value})
        error = refused.body["error"]
        assert (refused.status, error["param"], error["code"]) == (400, name, "unsupported_parameter")
    many = await ask(gate, "who", **REFUSED, metadata={"a": "b"})
    assert many.body["error"]["param"] == "response_format, stop, tool_choice, top_k"
    obeyed = await ask(
        gate, "sampling", temperature=0.5, max_tokens=7, tool_choice="none", metadata={"a": "b"}
    )
    said = message(obeyed)["content"]
    assert "temperature=0.5, top_p=None, max_tokens=7" in said
    assert said.endswith("none")
    assert "temperature=None" in message(await ask(gate, "sampling"))["content"]


def test_workers_need_a_store_that_they_share(tmp_path):
    with pytest.raises(SettingsError, match="store in PostgreSQL"):
        build_app(GatewaySettings(port=0, page=False, models=MODELS, store=str(tmp_path / "s.db")))


HTML = {"headers": {"accept": "text/html"}}


@pytest.mark.parametrize(
    ("fields", "answer", "decision"),
    [
        ({"decision": "approve"}, "You are paid 5.", "approved"),
        ({"decision": "deny", "reason": "too dear"}, "too dear", "rejected"),
        ({"decision": "edit", "arguments": '{"amount": 4}'}, "You are paid 4.", "edited"),
    ],
)
async def test_what_is_decided_on_the_page_is_gone_on_with_by_a_worker(gate, store, fields, answer, decision):  # noqa: F811
    await ask(gate, "pay", toolhand={"session": "s"})
    (row,) = await list_runs(ledger_of(store), session_id="s")
    page = (await gate.get("/approvals", **HTML)).body
    named = dict(re.findall(r'name="(stamp|session|approval)" value="(.*?)"', page)[:3])
    async with gate.session.post(gate.url + "/decide", data={**named, **fields}) as said:
        assert (said.status, "worker goes on" in await said.text()) == (200, True)
    run = await SubmittedRun(row.id, ledger_of(store)).wait(60)
    assert (run.stopped, answer in str(run.messages[-2:])) == ("answered", True)
    assert "Nothing waits" in (await gate.get("/approvals", **HTML)).body
    records = await AuditTrail(store).search(session_id="s")
    assert [(one.decision, one.decided_by) for one in records] == [("pending", ""), (decision, "local")]
    async with gate.session.post(gate.url + "/decide", data={**named, **fields}) as said:
        assert (said.status, "waits no more" in await said.text()) == (409, True)


async def test_what_was_decided_in_a_session_without_its_run_is_gone_on_with_on_the_page(gate, store):  # noqa: F811
    await ask(gate, "pay", toolhand={"session": "s"})
    (row,) = await list_runs(ledger_of(store), session_id="s")
    (call,) = await Archive(store).waiting("s")
    await Archive(store).decide("s", {call.approval_id: Approve(by="Ann")})
    page = (await gate.get("/session?id=s", **HTML)).body
    fields = dict(re.findall(r'name="(stamp|session)" value="(.*?)"', page))
    async with gate.session.post(gate.url + "/go-on", data=fields) as said:
        assert (said.status, "worker goes on" in await said.text()) == (200, True)
    assert (await SubmittedRun(row.id, ledger_of(store)).wait(60)).output == "You are paid 5."
    assert (await AuditTrail(store).search(session_id="s"))[-1].decided_by == "Ann"
