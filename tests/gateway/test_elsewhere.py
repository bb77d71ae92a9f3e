"""Models behind the gateway whose runs are made by workers on other machines."""

from __future__ import annotations

import asyncio
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
from toolhand.gateway.checking import findings
from toolhand.gateway.repeating import Repeats
from toolhand.gateway.wanted import Sending
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


SENT: list[str] = []
HELD: list[bool] = []


@tool(effect="writes")
async def send() -> str:
    """Sends something, once it may."""
    while HELD:  # noqa: ASYNC110 - it may run in another loop
        await asyncio.sleep(0.02)
    SENT.append("letter")
    return "sent"


def reply(request):
    said = [m.text for m in request.messages if m.role == "user" and m.text]
    if request.messages[-1].results:
        return f"You are {request.messages[-1].results[0].data}."
    if said[-1] == "sampling":
        return f"{request.sampling} {request.tool_choice.mode}"
    if said[-1] == "break":
        raise ModelError("the key sk-secret is wrong")
    name, arguments = {"who": ("whoami", "{}"), "send": ("send", "{}"), "pay": ("pay", '{"amount": 5}')}.get(
        said[-1], ("", "")
    )
    if not name:
        return " / ".join(said)
    return ModelOutput(calls=(RawCall(id="c", name=name, arguments=arguments),), finish_reason="tool_calls")


@pytest.fixture
async def gate(start, store, works):  # noqa: F811
    works({"support": Agent(ScriptedModel(reply), tools=[whoami, pay, send], store=store)})
    keys = (
        ClientKey(name="ann", key="the-key-of-one-person", permissions=("orders:read",)),
        ClientKey(name="bob", key="the-key-of-another-one"),
    )
    return await start(models=MODELS, store=store.url, keys=keys, page=True)


async def ask(gate, *said: str, key="the-key-of-one-person", told=None, **more):
    roles = ["user", "assistant"] * len(said)
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=False)]
    headers = {"Authorization": f"Bearer {key}", **(told or {})}
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


async def test_gateways_that_share_a_store_count_a_key_s_requests_together(start, store):  # noqa: F811
    keys = (ClientKey(name="shared", key="the-key-of-one-person", rate_limit="1/hour"),)
    one, other = [await start("hello", store=store.url, keys=keys) for _ in range(2)]
    headers = {"Authorization": "Bearer the-key-of-one-person"}
    asked = {"messages": [{"role": "user", "content": "hello"}]}
    assert [(await gate.post(asked, headers=headers)).status for gate in (one, other)] == [200, 429]


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


async def test_arguments_that_do_not_fit_are_told_on_the_page_and_the_run_waits_on(gate, store):  # noqa: F811
    await ask(gate, "pay", toolhand={"session": "s"})
    page = (await gate.get("/approvals", **HTML)).body
    named = dict(re.findall(r'name="(stamp|session|approval)" value="(.*?)"', page)[:3])
    edit = {"decision": "edit", "arguments": '{"amount": "none"}'}
    async with gate.session.post(gate.url + "/decide", data={**named, **edit}) as said:
        assert said.status == 200
    while (  # noqa: ASYNC110 - a worker says so
        "could not go on" not in (await gate.get("/session?id=s", **HTML)).body
    ):
        await asyncio.sleep(0.05)
    assert named["approval"] in (await gate.get("/approvals", **HTML)).body


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


def tries(count: int, **more: str) -> dict[str, str]:
    return {"x-stainless-retry-count": str(count), **more}


async def test_what_a_client_sends_again_without_an_answer_is_made_once(gate, store):  # noqa: F811
    SENT.clear()
    HELD.append(True)
    first = asyncio.ensure_future(ask(gate, "send", told=tries(0)))
    while not await list_runs(ledger_of(store)):  # noqa: ASYNC110 - it happens in the gateway
        await asyncio.sleep(0.02)
    first.cancel()  # as a client does whose own time is over
    again = [asyncio.ensure_future(ask(gate, "send", told=tries(count))) for count in (1, 2)]
    await asyncio.sleep(0.1)
    HELD.clear()
    assert [message(await one)["content"] for one in again] == ["You are sent."] * 2
    assert (SENT, len(await list_runs(ledger_of(store)))) == (["letter"], 1)
    assert message(await ask(gate, "send", told=tries(0)))["content"] == "You are sent."
    assert len(SENT) == 2  # the same words once more, and not the same request


async def test_a_name_for_a_request_makes_it_once_and_is_its_user_s_own(gate, store):  # noqa: F811
    SENT.clear()
    named = {"told": {"Idempotency-Key": "order 7"}}
    first, second = await ask(gate, "send", **named), await ask(gate, "send", **named)
    runs = [said.body["usage"]["toolhand"]["run"] for said in (first, second)]
    assert (message(second)["content"], len(set(runs)), SENT) == ("You are sent.", 1, ["letter"])
    assert (
        message(await ask(gate, "send", key="the-key-of-another-one", **named))["content"] == "You are sent."
    )
    assert len(SENT) == 2
    other = await ask(gate, "who", **named)
    assert (other.status, other.body["error"]["code"]) == (422, "run_differs")
    mine = {"toolhand": {"run_id": "order-8"}}
    assert (await ask(gate, "who", **mine)).body["usage"]["toolhand"]["run"] == "order-8"
    theirs = await ask(gate, "who", key="the-key-of-another-one", **mine)
    assert (theirs.status, theirs.body["error"]["code"]) == (403, "run_refused")
    assert (await ask(gate, "who", toolhand={"run_id": "a b"})).status == 400
    assert len(await list_runs(ledger_of(store))) == 3


async def test_a_session_that_waits_for_a_person_says_so_at_once(gate, store):  # noqa: F811
    session = {"toolhand": {"session": "s"}}
    run_id = (await ask(gate, "pay", **session)).body["usage"]["toolhand"]["run"]
    refused = await ask(gate, "and?", **session)
    error = refused.body["error"]
    assert (refused.status, error["code"], refused.headers["x-should-retry"]) == (
        409,
        "session_waits",
        "false",
    )
    assert (error["toolhand"]["run"], error["toolhand"]["pending"][0]["name"]) == (run_id, "pay")
    (row,) = await list_runs(ledger_of(store))  # what was refused is not made later
    run = SubmittedRun(row.id, ledger_of(store))
    await run.decide({row.outcome["pending"][0]["approval_id"]: Approve()})
    await run.wait(60)
    assert message(await ask(gate, "and?", **session))["content"] == "pay / and?"


async def test_the_settings_are_checked_with_workers_or_without(gate, store, tmp_path):  # noqa: F811
    async def found(**settings):
        told = [one async for one in findings(GatewaySettings(port=0, **settings))]
        return next(one for one in told if one.what == "model support")

    while "(workers: 1)" not in (there := await found(models=MODELS, store=store.url)).told:
        assert there.problem == ""
        await asyncio.sleep(0.05)
    nobody = {"support": Behind(model="worker:nobody")}
    assert "runs wait" in (await found(models=nobody, store=store.url)).told
    assert "PostgreSQL" in (await found(models=MODELS, store=str(tmp_path / "s.db"))).problem


def test_a_try_that_comes_long_after_is_no_try_of_that_request():
    moments = [0.0]
    repeats = Repeats(10.0, lambda: moments[0])
    repeats.began(Sending(digest="d"), "ann", "run")
    again = Sending(digest="d", is_repeated=True)
    assert [repeats.run_of(again, user) for user in ("ann", "bob")] == ["run", ""]
    moments[0] = 71.0
    assert repeats.run_of(again, "ann") == ""
