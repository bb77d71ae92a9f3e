"""The pages over HTTP: what they show, whom they refuse, and what a form does."""

from __future__ import annotations

import asyncio
import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.page.conftest import TOKEN, resuming, visiting
from tests.page.sample import HOSTILE, ORDERS, SECRET, agent, asked_to_order, compared
from tests.test_agent import asks
from toolhand.auditing import AuditTrail
from toolhand.core.approvals import Approve
from toolhand.core.errors import SettingsError
from toolhand.evals import Attempt, Subject, Suite, read_case
from toolhand.evals import Store as Evaluations
from toolhand.observability.drift import DriftLog
from toolhand.page import PageSettings
from toolhand.sessions import Archive
from toolhand.sessions.memory import MemoryStore
from toolhand.sessions.sqlite import SqliteStore


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def runs_nothing_foreign(self) -> bool:
        scripts = [attributes for tag, attributes in self.found if tag == "script"]
        names = {name for _, attributes in self.found for name in attributes}
        return (
            scripts == [{"src": "/assets/page.js", "defer": None}]
            and not {"img", "iframe", "object", "embed", "style", "base"} & {tag for tag, _ in self.found}
            and not any(name.startswith("on") or name == "style" for name in names)
        )


async def waiting(visitor) -> str:
    """The approval id of the first call that waits."""
    found = re.search(r'name="approval" value="(\w+)"', (await visitor.get("/approvals"))[1])
    assert found
    return found[1]


async def until(visitor, path, text):
    for _ in range(400):
        if text in (page := (await visitor.get(path))[1]):
            return page
        await asyncio.sleep(0.02)
    raise AssertionError(f"'{text}' never came: {page}")


async def test_a_run_is_shown_with_its_turns_calls_fixes_and_results(store):
    await compared(store)
    async with visiting(PageSettings(store=store)) as visitor:
        status, listed = await visitor.get("/")
        assert status == 200
        assert "How many oak tables are there" in listed
        assert "alice-1" in listed
        _, found = await visitor.get("/?q=oak+tables")
        assert found.count("How many oak tables") == 1
        assert "Nothing was found" in (await visitor.get("/?q=zebra"))[1]
        _, run = await visitor.get("/run?id=alice-1&seq=1")
    assert run.count('class="card call') == 4
    assert [html.unescape(name) for name in re.findall(r'class="name">(.*?)</a>', run)] == [
        "Turn 1", "stock", "price", "reviews", "Turn 2", "delivery_date", "Turn 3",
    ]  # fmt: skip
    assert "2 attempts" in run
    assert re.search(r"tried again after [\d.]+ s: network", run)
    assert "string to number" in run
    assert (
        "{&#x27;item&#x27;: " in run or "{'item': 'oak table', 'amount': '2',}" in run
    )  # as the model wrote it
    assert "unknown_tool" in run
    assert "1,236 in, 111 out" in run
    assert "128 from the cache" in run


async def test_what_strangers_wrote_stays_text_and_secrets_stay_secret(store):
    await compared(store, text=f"Look at {HOSTILE} with {SECRET}")
    async with visiting(PageSettings(store=store)) as visitor:
        for path in (
            "/",
            "/session?id=alice-1",
            "/run?id=alice-1&seq=1",
            "/?q=Look",
            f"/?q={HOSTILE}&user={HOSTILE}",
        ):
            _, page = await visitor.get(path)
            assert Elements(page).runs_nothing_foreign(), path
            assert SECRET not in page
            assert "\u202e" not in page


async def test_every_answer_says_what_a_browser_may_do(store):
    async with visiting(PageSettings(store=store)) as visitor:
        for path in ("/", "/nothing", "/assets/page.js", "/session?id=none"):
            async with visitor.http.get(visitor.base + path) as answer:
                policy = answer.headers["content-security-policy"]
                assert "default-src 'none'" in policy
                assert "unsafe" not in policy
                assert "frame-ancestors 'none'" in policy
                assert answer.headers["x-content-type-options"] == "nosniff"
                text = await answer.text()
            assert "http://" not in text.replace("http://www.w3.org", "")
            assert "https://" not in text
        assert (await visitor.get("/session?id=none"))[0] == 404
        assert (await visitor.get("/assets/../settings.py"))[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""])
async def test_another_host_name_is_refused(store, host):
    async with visiting(PageSettings(store=store)) as visitor:
        assert (await visitor.get("/", host=host))[0] == 421
        assert (await visitor.get("/", host="localhost:1234"))[0] == 200


async def test_the_language_is_the_browsers_until_a_person_chooses(store):
    async with visiting(PageSettings(store=store)) as visitor:
        assert 'lang="en"' in (await visitor.get("/"))[1]
        chinese = (await visitor.get("/", **{"accept-language": "zh-CN,zh;q=0.9,en;q=0.8"}))[1]
        assert 'lang="zh-CN"' in chinese
        assert "会话" in chinese
        assert "还没有会话" in (await visitor.get("/?lang=zh"))[1]
        assert "还没有会话" in (await visitor.get("/", **{"accept-language": "en"}))[1]
        assert "No sessions yet" in (await visitor.get("/?lang=en"))[1]


async def test_who_has_no_token_sees_nothing(store):
    await compared(store)
    with pytest.raises(SettingsError, match="anybody"):
        PageSettings(store=store, hosts=())
    with pytest.raises(SettingsError, match="longer"):
        PageSettings(store=store, token="short")
    async with visiting(PageSettings(store=store, token=TOKEN, hosts=())) as visitor:
        async with visitor.http.get(
            f"{visitor.base}/run?id=alice-1&seq=1", headers={"accept": "application/json"}
        ) as answer:
            assert answer.status == 401
        status, page = await visitor.get("/run?id=alice-1&seq=1")
        assert "Log in" in page
        assert "oak" not in page
        wanted = re.search(r'name="wanted" value="(.*?)"', page)
        assert wanted
        assert html.unescape(wanted[1]) == "/run?id=alice-1&seq=1"
        status, page = await visitor.post("/login", at="/login", token="a-wrong-token-of-length", name="Ann")
        assert status == 403
        assert "not the token" in page
        status, page = await visitor.post(
            "/login", at="/login", token=TOKEN, name="<b>Ann</b>", wanted="//evil.example/"
        )
        assert status == 200
        assert "&lt;b&gt;Ann" in page
        assert "alice-1" in page  # and not at another's address
        cookie = next(iter(visitor.http.cookie_jar))
        assert cookie["httponly"]
        assert cookie["samesite"] == "lax"
        forged = cookie.value.replace(cookie.value[-1], "0" if cookie.value[-1] != "0" else "1")
        visitor.http.cookie_jar.clear()
        async with visitor.http.get(visitor.base, cookies={"toolhand_page": forged}) as answer:
            assert "alice-1" not in await answer.text()


async def test_wrong_tokens_are_counted(store):
    async with visiting(PageSettings(store=store, token=TOKEN, hosts=())) as visitor:
        stamp = re.search(r'name="stamp" value="(\w+)"', (await visitor.get("/login"))[1])
        for _ in range(20):
            assert (await visitor.post("/login", stamp=stamp[1], token="wrong"))[0] == 403
        assert (await visitor.post("/login", stamp=stamp[1], token=TOKEN))[0] == 429


async def test_a_form_of_another_site_does_nothing(store):
    await asked_to_order(store)
    ORDERS.clear()
    async with visiting(PageSettings(store=store, resume=resuming(store))) as visitor:
        fields = {"session": "bob-7", "approval": await waiting(visitor), "decision": "approve"}
        assert (await visitor.post("/decide", stamp="", **fields))[0] == 403
        assert (await visitor.post("/decide", stamp="0" * 64, **fields))[0] == 403
        for headers in (
            {"sec-fetch-site": "cross-site"},
            {"origin": "https://evil.example"},
            {"origin": "null"},
        ):
            assert (await visitor.post("/decide", headers=headers, **fields))[0] == 403
        assert (await visitor.get("/decide?session=bob-7&decision=approve"))[0] in (404, 405)
        assert ORDERS == []
        assert await waiting(visitor) == fields["approval"]


@pytest.mark.parametrize(
    ("fields", "ordered", "decision"),
    [
        ({"decision": "approve"}, [("橡木桌", 2, "4111 1111 1111 1111")], "approved"),
        ({"decision": "deny", "reason": "too dear"}, [], "rejected"),
        (
            {"decision": "edit", "arguments": '{"item": "橡木桌", "amount": 1, "card": "[masked]"}'},
            [("橡木桌", 1, "4111 1111 1111 1111")],
            "edited",
        ),
    ],
)
async def test_a_decision_is_carried_out_once_and_the_audit_says_who(store, fields, ordered, decision):
    await asked_to_order(store)
    ORDERS.clear()
    async with visiting(PageSettings(store=store, resume=resuming(store), token=TOKEN, hosts=())) as visitor:
        await visitor.post("/login", at="/login", token=TOKEN, name="Chen Wei")
        approvals = (await visitor.get("/approvals"))[1]
        assert "4111 1111" not in approvals
        told = {"session": "bob-7", "approval": await waiting(visitor), **fields}
        stamp = re.search(r'name="stamp" value="(\w+)"', approvals)[1]
        answers = await asyncio.gather(*(visitor.post("/decide", stamp=stamp, **told) for _ in range(3)))
        assert sorted({status for status, _ in answers}) in ([200], [200, 409])
        page = await until(visitor, "/run?id=bob-7&seq=1", "Ordered.")
        assert "by Chen Wei" in page
        assert ordered == ORDERS
        records = await AuditTrail(store).search(session_id="bob-7")
        assert [(one.decision, one.decided_by) for one in records] == [
            ("pending", ""),
            (decision, "Chen Wei"),
        ]
        if decision == "rejected":
            assert "too dear" in records[-1].error
        assert "Nothing waits" in (await visitor.get("/approvals"))[1]


async def test_arguments_that_are_none_are_told_and_change_nothing(store):
    await asked_to_order(store)
    async with visiting(PageSettings(store=store, resume=resuming(store))) as visitor:
        fields = {"session": "bob-7", "approval": await waiting(visitor), "decision": "edit"}
        for arguments in ("{", "[1]", ""):
            status, page = await visitor.post("/decide", arguments=arguments, **fields)
            assert status == 409
            assert "no JSON object" in page
        spoilt = '{"item": "橡木桌",\n "amount" 1}'
        for language, place in (("en", "line 2, column 11"), ("zh", "第 2 行第 11 列")):
            _, page = await visitor.post(
                "/decide", arguments=spoilt, headers={"accept-language": language}, **fields
            )
            assert place in page
            assert "Expecting" not in page
        assert await waiting(visitor) == fields["approval"]
        assert (await visitor.post("/decide", **{**fields, "approval": "0", "decision": "approve"}))[0] == 409


async def test_without_an_agent_a_decision_is_kept_for_whoever_goes_on(store):
    await asked_to_order(store)
    ORDERS.clear()
    async with visiting(PageSettings(store=store)) as visitor:
        fields = {"session": "bob-7", "approval": await waiting(visitor), "decision": "approve"}
        stamp = re.search(r'name="stamp" value="(\w+)"', (await visitor.get("/approvals"))[1])[1]
        status, page = await visitor.post("/decide", **fields)
        assert status == 200
        assert "Noted" in page
        assert "unfinished" in page
        assert ORDERS == []
        assert (await visitor.post("/decide", stamp=stamp, **fields))[0] == 409
    assert (await agent(store, "Ordered.").resume("bob-7", user="bob")).output == "Ordered."
    assert len(ORDERS) == 1


async def test_a_run_that_cannot_go_on_says_why_and_waits_on(store):
    await asked_to_order(store)

    async def resume(session, user, decisions):
        raise SettingsError(f"the tool place_order needs {SECRET}")

    async with visiting(PageSettings(store=store, resume=resume)) as visitor:
        fields = {"session": "bob-7", "approval": await waiting(visitor), "decision": "approve"}
        status, page = await visitor.post("/decide", **fields)
        assert status == 409
        assert "could not go on" in page
        assert SECRET not in page
        assert await waiting(visitor) == fields["approval"]


async def test_an_interrupted_run_is_gone_on_with(store):
    await asked_to_order(store)
    await Archive(store).decide(
        "bob-7", {call.approval_id: Approve() for call in await Archive(store).waiting("bob-7")}
    )
    async with visiting(PageSettings(store=store, resume=resuming(store))) as visitor:
        assert "Go on with this run" in (await visitor.get("/session?id=bob-7"))[1]
        assert (await visitor.post("/go-on", at="/session?id=bob-7", session="bob-7"))[0] == 200
        await until(visitor, "/session?id=bob-7", "Ordered.")


async def test_a_change_is_told_at_once(store):
    await asked_to_order(store)
    async with visiting(PageSettings(store=store)) as visitor:
        _, page = await visitor.get("/session?id=bob-7")
        address = html.unescape(re.search(r'data-live="(.*?)"', page)[1])
        async with visitor.http.get(visitor.base + address) as stream:
            assert stream.content_type == "text/event-stream"
            await stream.content.readuntil(b"\n\n")
            await agent(store, "Something else.").run("Never mind", session="bob-7", user="bob")
            said = await asyncio.wait_for(stream.content.readuntil(b"\n\n"), 30)
        assert said.startswith(b"event: changed")


async def test_an_open_page_keeps_no_server_from_stopping(store):
    await asked_to_order(store)
    settings = PageSettings(store=store)
    async with visiting(settings) as visitor:
        async with visitor.http.get(f"{visitor.base}/live?id=bob-7") as stream:
            await stream.content.readuntil(b"\n\n")
            settings.stopping.set()
            await asyncio.wait_for(stream.content.read(), 30)
        async with visitor.http.get(f"{visitor.base}/live?id=bob-7") as stream:  # one that came too late
            await asyncio.wait_for(stream.content.read(), 30)


async def test_a_call_that_was_overtaken_says_so(store):
    await asked_to_order(store)
    await agent(store, "Then not.").run("Rather not", session="bob-7", user="bob")
    async with visiting(PageSettings(store=store)) as visitor:
        _, run = await visitor.get("/run?id=bob-7&seq=1")
    chips = re.findall(r'<span class="chip[^"]*">(.*?)</span>', run)
    assert "overtaken by a new message" in chips
    assert "allowed" not in chips
    assert "waits for approval" not in chips


async def test_a_page_in_chinese_has_no_english_code(store):
    await compared(store)
    async with visiting(PageSettings(store=store)) as visitor:
        _, run = await visitor.get("/run?id=alice-1&seq=1", **{"accept-language": "zh-CN"})
    chips = re.findall(r'<span class="chip[^"]*">(.*?)</span>', run)
    assert "没有这个工具" in chips
    assert "文本转为数字" in run
    assert "秒后重试：网络错误" in run
    assert not [one for one in chips if re.fullmatch(r"[a-z_ ]+", one)]


async def test_a_store_that_is_not_there_is_empty_and_stays_so(tmp_path):
    async with visiting(
        PageSettings(store=SqliteStore(tmp_path / "none.db"), evaluations=tmp_path / "none")
    ) as visitor:
        assert "No sessions yet" in (await visitor.get("/"))[1]
        assert "Nothing waits" in (await visitor.get("/approvals"))[1]
        assert "No evaluations yet" in (await visitor.get("/evaluations"))[1]
        assert (await visitor.get("/evaluation?id=e1"))[0] == 404
        assert (await visitor.get("/session?id=x"))[0] == 404
    assert list(tmp_path.iterdir()) == []


async def test_evaluations_and_drift_are_shown(store, tmp_path):
    kept, subject = Evaluations(tmp_path / "evals.db"), Subject(model="<b>m</b>")
    case = read_case({"id": "one", "question": "What is 1 + 1?", "calls": []})
    ids = []
    for outcome in ("passed", "failed"):
        begun = kept.begin(Suite(name="sums", cases=(case,)), [subject])
        kept.add(begun.id, [Attempt(subject=subject, case="one", kind="silence", repeat=1, outcome=outcome)])
        ids.append(begun.id)
    log = DriftLog(tmp_path / "drift.jsonl")
    one = agent(store, asks(("c1", "price", "{'item': 'table', 'amount': '2',}")), "Fine.")
    one.setup = replace(one.setup, sinks=(log,))
    await one.run(f"The key is {SECRET}", session="s")
    settings = PageSettings(
        store=store, evaluations=tmp_path / "evals.db", drift_log=tmp_path / "drift.jsonl"
    )
    async with visiting(settings) as visitor:
        listed = (await visitor.get("/evaluations"))[1]
        assert listed.count("sums") == 2
        assert "100 % passed" in listed
        status, report = await visitor.get(f"/evaluation?id={ids[0]}&with={ids[1]}")
        assert status == 200
        assert Elements(report).runs_nothing_foreign()
        assert "McNemar" in report
        assert "<b>m" not in report
        drift = (await visitor.get("/drift"))[1]
        assert "string_to_number" in drift
        assert "amount" in drift


async def test_a_session_of_any_name_is_found():
    store, name = MemoryStore(), "a/runs/3?x=1&lang=zh#é%2F<b>"
    for number in range(12):
        await agent(store, "Fine.").run(f"Question {number}", session=name, user="ann & co")
    async with visiting(PageSettings(store=store)) as visitor:
        path = html.unescape(re.search(r'href="(/session\?.*?)"', (await visitor.get("/"))[1])[1])
        status, page = await visitor.get(path)
        assert status == 200
        assert re.findall(r">Question (\d+)</a>", page) == [str(number) for number in range(2, 12)]
        older = html.unescape(re.search(r'href="(/session\?[^"]*before=\d+)"', page)[1])
        assert re.findall(r">Question (\d+)</a>", (await visitor.get(older))[1]) == ["0", "1"]


def test_every_asset_is_in_the_package():
    assets = Path(__file__).parents[2] / "src" / "toolhand" / "page" / "assets"
    assert {file.name for file in assets.iterdir()} == {"page.css", "page.js", "icon.svg"}
    for file in assets.iterdir():
        assert "//" not in re.sub(
            r"http://www\.w3\.org|^\s*//.*$", "", file.read_text("utf-8"), flags=re.MULTILINE
        )
