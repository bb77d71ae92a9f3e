"""The page in a real browser: Chromium without a window, driven by Playwright. Without a browser these tests are left out."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile

import pytest
import pytest_asyncio

from tests.page.conftest import TOKEN, resuming, served
from tests.page.sample import HOSTILE, ORDERS, agent, asked_to_order, compared
from toolhand.page import PageSettings
from toolhand.sessions.sqlite import SqliteStore

playwright = pytest.importorskip(
    "playwright.async_api", reason="Playwright is not installed: pip install playwright"
)

AXE = "axe-core@4.14.1"
AXE_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
"""Of its `axe.min.js`. It is fetched for a run of these tests and is no part of this package (MPL-2.0)."""

PAGES = ("/", "/session?id=alice-1", "/run?id=alice-1&seq=1", "/approvals", "/drift", "/evaluations")
LOOKS = ((1200, "light"), (390, "dark"))
PATIENCE = 120_000
"""In milliseconds: on a busy machine a browser takes its time."""

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(600)]


def chromium() -> str:
    """The browser's program, or a skip that says what to do."""
    named = os.environ.get("TOOLHAND_CHROMIUM") or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if not named:
        pytest.skip(
            "there is no Chromium on this machine: apt-get install chromium, or set TOOLHAND_CHROMIUM"
        )
    return named


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser():
    program = chromium()
    async with playwright.async_playwright() as driver:
        opened = await driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield opened
        await opened.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shop(tmp_path_factory):
    """A store with runs in it, which no test changes, and its page."""
    store = SqliteStore(tmp_path_factory.mktemp("page") / "s.db")
    await compared(store)
    await asked_to_order(store)
    async with served(PageSettings(store=store, resume=resuming(store))) as base:
        yield base
    await store.close()


@pytest_asyncio.fixture(loop_scope="module")
async def own(tmp_path):
    """A store of a test's own, with a run that waits."""
    store = SqliteStore(tmp_path / "s.db")
    await asked_to_order(store)
    ORDERS.clear()
    yield store
    await store.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """axe-core's text, from npm."""
    if shutil.which("npm") is None:
        pytest.skip("axe-core comes from npm, and there is no npm on this machine")
    folder = tmp_path_factory.mktemp("axe")
    made = subprocess.run(
        ["npm", "pack", "--silent", AXE], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    if made.returncode:
        pytest.skip("axe-core cannot be fetched from npm now")
    with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as packed:
        text = packed.extractfile("package/axe.min.js").read()
    assert hashlib.sha256(text).hexdigest() == AXE_SHA256
    return text.decode()


@pytest_asyncio.fixture(loop_scope="module")
async def visit(browser):
    """Opens pages as somebody's; they are closed after the test."""
    opened = []

    async def visit(base, path="/", *, width=1200, scheme="light", locale="en-US"):
        context = await browser.new_context(
            viewport={"width": width, "height": 850}, color_scheme=scheme, locale=locale
        )
        opened.append(context)
        context.set_default_timeout(PATIENCE)
        page = await context.new_page()
        page.complaints = []
        page.on("console", lambda said: said.type == "error" and page.complaints.append(said.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        await page.goto(base + path)
        return page

    yield visit
    for context in opened:
        await context.close()


async def test_the_timeline_shows_parallel_calls_side_by_side(visit, shop):
    page = await visit(shop, "/run?id=alice-1&seq=1")
    rows = page.locator(".timeline .rows li")
    assert await rows.count() == 7
    bars = [await rows.nth(number).locator("rect").last.bounding_box() for number in range(4)]
    model, *calls = bars
    assert all(
        call["x"] >= model["x"] + model["width"] - 4 for call in calls
    )  # they began when the reply was there
    assert max(call["x"] for call in calls) < min(
        call["x"] + call["width"] for call in calls
    )  # and ran at once
    assert len({round(call["y"]) for call in calls}) == 3
    await rows.nth(2).locator("a").click()
    assert "string to number" in await page.locator(":target").inner_text()
    assert page.complaints == []


async def test_what_a_tool_gave_back_runs_nothing(visit, shop):
    page = await visit(shop, "/run?id=alice-1&seq=1")
    shown = HOSTILE.partition(" \u202e")[0]
    assert (
        shown
        in await page.locator(".card.call", has=page.get_by_role("heading", name="reviews")).inner_text()
    )
    assert await page.locator("main script, main img").count() == 0
    assert await page.title() != "taken"
    # Even markup that came in would not run: the policy forbids it.
    await page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">')"
    )
    await page.wait_for_timeout(200)
    assert await page.title() != "1"


async def test_a_call_is_approved_with_the_keyboard_alone(visit, own):
    async with served(PageSettings(store=own, resume=resuming(own, "已经下单。"))) as base:
        page = await visit(base, "/approvals")
        button = page.get_by_role("button", name="Approve", exact=True)
        for _ in range(20):
            await page.keyboard.press("Tab")
            if await button.evaluate("one => one === document.activeElement"):
                break
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/run?*")
        await page.get_by_text("已经下单。").first.wait_for()  # the page brings it by itself
        assert ORDERS == [("橡木桌", 2, "4111 1111 1111 1111")]
        assert "approved by local" in await page.locator(".card.call").inner_text()


async def test_changed_arguments_are_sent_and_what_was_masked_stays(visit, own):
    async with served(PageSettings(store=own, resume=resuming(own))) as base:
        page = await visit(base, "/approvals")
        await page.get_by_text("Change the arguments").click()
        field = page.get_by_label("All arguments, as JSON")
        shown = await field.input_value()
        assert "4111 1111" not in shown
        await field.fill(shown.replace('"amount": 2', '"amount": 1'))
        await page.get_by_role("button", name="Approve with these arguments").click()
        await page.get_by_text("Ordered.").first.wait_for()
        assert ORDERS == [("橡木桌", 1, "4111 1111 1111 1111")]


async def test_news_comes_by_itself_but_not_over_what_somebody_writes(visit, own):
    async with served(PageSettings(store=own)) as base:
        page = await visit(base, "/")
        await agent(own, "Fine.").run("A new question", session="new", user="ann")
        await page.get_by_text("A new question").wait_for()
        await page.get_by_label("Words that were said").fill("half a wo")
        await agent(own, "Fine.").run("Another question", session="newer", user="ann")
        await page.locator("#fresh").wait_for(state="visible")
        assert await page.get_by_text("Another question").count() == 0
        assert await page.get_by_label("Words that were said").input_value() == "half a wo"
        await page.locator("#fresh").click()
        await page.get_by_text("Another question").wait_for()


async def test_a_person_logs_in_and_out(visit, own):
    async with served(PageSettings(store=own, token=TOKEN, hosts=())) as base:
        page = await visit(base, "/approvals")
        await page.get_by_label("Your name").fill("Ann")
        await page.get_by_label("Token").fill(TOKEN)
        await page.get_by_role("button", name="Log in").click()
        await page.get_by_text("place_order").first.wait_for()
        assert not await page.evaluate("document.cookie")
        await page.get_by_role("button", name="Log out").click()
        await page.get_by_label("Token").wait_for()
        await page.goto(f"{base}/approvals")
        assert await page.get_by_text("place_order").count() == 0


async def test_the_language_follows_the_browser_and_then_the_person(visit, shop):
    page = await visit(shop, "/run?id=alice-1&seq=1", locale="zh-CN")
    assert await page.locator("html").get_attribute("lang") == "zh-CN"
    assert "模型原文" in await page.locator("main").inner_text()
    await page.get_by_role("link", name="English").click()
    assert "The model wrote" in await page.locator("main").inner_text()
    assert page.url.endswith("/run?id=alice-1&seq=1")


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
async def test_every_page_fits_and_is_light_or_dark(visit, shop, width, scheme):
    page = await visit(shop, width=width, scheme=scheme)
    for path in PAGES:
        await page.goto(shop + path)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width, path
        back = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        is_light = sum(map(int, re.findall(r"\d+", back)[:3])) > 3 * 128
        assert is_light == (scheme == "light"), (path, back)
    assert page.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
async def test_no_page_has_a_serious_fault(visit, shop, axe, width, scheme):
    page = await visit(shop, width=width, scheme=scheme)
    for path in PAGES:
        await page.goto(shop + path)
        await page.evaluate(axe)
        told = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        faults = [
            (fault["id"], [node["html"][:120] for node in fault["nodes"]])
            for fault in told["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
        assert faults == [], path


async def test_nothing_is_asked_of_another_address(visit, shop):
    page = await visit(shop)
    for path in PAGES[1:]:
        await page.goto(shop + path)
    assert len(page.asked) > len(PAGES)
    assert {address[: len(shop)] for address in page.asked} == {shop}
