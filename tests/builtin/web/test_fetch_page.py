"""`fetch_page` against real servers: what a model gets of a page, and of one that does not want to be read."""

from __future__ import annotations

import gzip

import pytest

from tests.builtin.web.places import guard
from tests.timing import cpu_seconds
from toolhand import Toolset
from toolhand.builtin._page_text import BinaryContentError, PageReader, bare_text, decoded
from toolhand.builtin._reach import HttpLimits
from toolhand.builtin.fetch_page import fetch_page_tool
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode
from toolhand.core.jsonable import result_text

PAGE = """<html lang=zh><head><title>杭州地铁新线开通</title><meta property="article:published_time" content="2025-03-04">
<style>p{}</style></head><body><nav><ul><li><a href=/>首页</a></li><li><a href=/about>关于我们</a></li></ul></nav>
<div class=content><h1>杭州地铁新线开通</h1><p>昨天上午九点，杭州地铁十九号线正式开通，全长五十九公里，设站十五座，详见<a href="/map">线路图</a>。</p>
<h2>票价</h2><p>从火车西站到萧山机场只需要四十分钟，起步价两元，可以乘坐四公里，各区间的票价见下表。</p>
<table><tr><th>区间</th><th>票价</th></tr><tr><td>西站到机场</td><td>10 元</td></tr></table></div>
<footer>版权所有</footer><script>alert(1)</script></body></html>"""


@pytest.fixture(scope="module")
def reader():
    return PageReader()


@pytest.fixture
def ask(names):
    toolset = Toolset([fetch_page_tool(guard=guard(names))])

    async def call(url: str, language: str = "en", **more):
        return await toolset.call("fetch_page", {"url": url, **more}, context=RunContext(language=language))

    return call


async def test_a_page_comes_as_its_text_without_menus_and_programs(outside, ask):
    outside.on("/news", PAGE)
    result = await ask("http://public.test/news#part")
    assert result.data["url"] == "http://public.test/news"
    assert result.data["title"] == "杭州地铁新线开通"
    assert result.data["date"] == "2025-03-04"
    text = result.data["text"]
    assert "## 票价" in text
    assert "| 西站到机场 | 10 元 |" in text
    for gone in ("关于我们", "版权所有", "alert", "/map"):
        assert gone not in text
    assert result_text(result).count("<untrusted_content>") == 1


async def test_a_public_telephone_number_is_told_and_a_key_is_not(outside, ask):
    outside.on(
        "/",
        {
            "text": "Hotline 13812345678, info@hotel.example, OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuvwx1234",
            "content_type": "text/plain",
        },
    )
    text = result_text(await ask("http://public.test/"))
    assert "13812345678" in text
    assert "info@hotel.example" in text
    assert "abcdefghijklmnopqrstuvwx1234" not in text


async def test_links_are_kept_where_they_are_wanted(outside, ask):
    outside.on("/news", PAGE)
    assert "http://public.test/map" in (await ask("http://public.test/news", links=True)).data["text"]


@pytest.mark.parametrize(
    ("encoding", "header", "meta"),
    [
        ("gb18030", "text/html; charset=gbk", ""), ("gb18030", "text/html", '<meta charset="gb2312">'), ("gb18030", "text/html", ""),
        ("big5", 'text/html; charset="Big5"', ""), ("utf-8", "text/html; charset=utf-8", ""), ("utf-8-sig", "text/html", ""),
        ("utf-16", "text/html", ""), ("gb18030", "text/html; charset=utf-8", ""), ("utf-8", "text/html; charset=x-none", ""),
        ("utf-8", "text/html; charset=rot13", ""),
    ],
)  # fmt: skip
async def test_pages_of_every_encoding_are_read(encoding, header, meta, outside, ask):
    text = "今天苹果的價格是每斤五元" if encoding == "big5" else "今天苹果的价格是每斤五元，比昨天便宜"
    page = f"<html><head>{meta}<title>{text[:4]}</title></head><body><p>{text}</p></body></html>"
    outside.on("/", {"body": page.encode(encoding), "headers": {"Content-Type": header}})
    assert text in (await ask("http://public.test/")).data["text"]


async def test_a_long_page_comes_in_parts_of_one_reading(outside, ask):
    text = "".join(
        f"<p>Paragraph {n} tells of thing number {n} and of nothing else.</p>" for n in range(2_000)
    )
    outside.on("/", f"<html><body><article>{text}</article></body></html>")
    start, parts = 0, []
    while True:
        found = (await ask("http://public.test/", start=start)).data
        parts.append(found["text"])
        if "next_start" not in found:
            break
        start = found["next_start"]
    whole = "".join(parts)
    assert len(whole) == found["total_characters"]
    assert all(f"thing number {n} and" in whole for n in range(2_000))
    assert outside.paths.count("/") == 1
    beyond = await ask("http://public.test/", start=len(whole))
    assert beyond.error.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("application/json", '{"价格": "\\u4e94"}', '{"价格":"五"}'), ("text/plain", "plain\nlines", "plain\nlines"),
        ("application/rss+xml", "<rss>x</rss>", "<rss>x</rss>"), ("text/markdown", "# A", "# A"),
    ],
)  # fmt: skip
async def test_other_texts_come_as_they_are(kind, body, expected, outside, ask):
    outside.on("/", {"text": body, "content_type": kind})
    assert (await ask("http://public.test/")).data["text"] == expected


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ({"body": b"\x89PNG" + bytes(range(256)), "content_type": "image/png"}, "image/png"),
        ({"body": bytes(range(256)) * 9, "content_type": "text/html"}, "text/html"),
        ({"text": '<html><body><div id="app"></div><script>render()</script></body></html>', "content_type": "text/html"}, "no text"),
        ({"status": 404}, "no such page"), ({"status": 403}, "let this program in"), ({"status": 500}, "HTTP 500"),
        ({"status": 429, "headers": {"Retry-After": "7"}}, "too often"),
    ],
)  # fmt: skip
async def test_what_is_no_page_is_told_in_a_sentence(answer, word, outside, ask):
    outside.on("/", answer)
    error = (await ask("http://public.test/")).error
    assert word in error.message
    assert error.hint or "HTTP 500" in error.message
    if answer.get("status") == 429:
        assert error.code is ErrorCode.RATE_LIMITED
        assert error.details["retry_after"] == 7


async def test_refusals_are_in_the_language_of_the_run(ask):
    assert "不在公共互联网上" in (await ask("http://127.0.0.1/", language="zh")).error.message
    assert (await ask("http://127.0.0.1/")).error.code is ErrorCode.NOT_PERMITTED


async def test_robots_are_obeyed(outside, ask):
    outside.on(
        "/robots.txt",
        "User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\nUser-agent: toolhand\nDisallow: /only\n",
    )
    outside.on("/only", PAGE)
    outside.on("/news", PAGE)
    refused = await ask("http://public.test/only")
    assert refused.error.code is ErrorCode.NOT_PERMITTED
    assert "robots.txt" in refused.error.message
    assert (await ask("http://public.test/news")).ok
    assert outside.paths == ["/robots.txt", "/news"]


async def test_robots_of_the_site_that_a_page_leads_to_are_obeyed(outside, names):
    outside.on("/go", {"status": 302, "headers": {"Location": "http://other.test/only"}})
    outside.on("/only", PAGE)

    async def robots(request):
        from aiohttp import web  # noqa: PLC0415

        closed = request.host.startswith("other.test")
        return web.Response(text="User-agent: *\nDisallow: /" if closed else "")

    outside.on("/robots.txt", robots)
    toolset = Toolset([fetch_page_tool(guard=guard(names))])
    result = await toolset.call("fetch_page", {"url": "http://public.test/go"})
    assert result.error.code is ErrorCode.NOT_PERMITTED


@pytest.mark.parametrize(("status", "is_open"), [(404, True), (403, True), (500, False), (503, False)])
async def test_a_site_that_cannot_say_what_it_allows(status, is_open, outside, ask):
    outside.on("/robots.txt", {"status": status})
    outside.on("/news", PAGE)
    assert (await ask("http://public.test/news")).ok is is_open


async def test_robots_that_lead_inside_are_no_robots(outside, inner, ask):
    outside.on(
        "/robots.txt", {"status": 302, "headers": {"Location": f"http://127.0.0.1:{inner.port}/secret"}}
    )
    outside.on("/news", PAGE)
    assert (await ask("http://public.test/news")).ok
    assert inner.requests == []


async def test_robots_can_be_left_out(outside, names):
    outside.on("/robots.txt", "User-agent: *\nDisallow: /")
    outside.on("/news", PAGE)
    toolset = Toolset([fetch_page_tool(guard=guard(names), robots=False)])
    assert (await toolset.call("fetch_page", {"url": "http://public.test/news"})).ok


async def test_a_page_that_is_too_long_says_so(outside, names):
    outside.on("/", {"text": "line\n" * 4_000, "content_type": "text/plain"})
    toolset = Toolset([fetch_page_tool(guard=guard(names), limits=HttpLimits(size_bytes=1_000))])
    assert "end is missing" in (await toolset.call("fetch_page", {"url": "http://public.test/"})).data["note"]


async def test_a_page_that_would_take_minutes_is_given_up_and_its_bare_text_taken():
    page = "<html><body>" + "<p>a b c</p>" * 250_000
    reader = PageReader(seconds=2.5)
    found = await reader.read(page, "http://x.test/", links=False)
    assert found.text.startswith("a b c\na b c")
    assert (await reader.read(PAGE, "http://x.test/", links=False)).title  # a new process


@pytest.mark.parametrize(
    "html",
    ["<div>" * 200_000 + "deep", "<" * 100_000 + "p>x", "<p " + "a=b " * 50_000 + ">y", "\0<p>z</p>", ""],
)
async def test_hostile_pages_do_no_harm(html, reader):
    await reader.read(html, "http://x.test/", links=True)
    assert "杭州" in (await reader.read(PAGE, "http://x.test/", links=False)).text


def test_bare_text():
    assert (
        bare_text(
            "<head><title>t</title></head><p>a &amp; b<br>c<!-- no --><script>x<y</script> d</p><b>e</b>"
        )
        == "a & b\nc d\ne"
    )
    assert bare_text("a < b") == "a"
    assert bare_text("<script>never closed <p>x</p>") == "never closed\nx"


@pytest.mark.parametrize("piece", ["<script>", "<!--", "<p>x", "<", "</script", "<style><script>", "&lt;"])
def test_bare_text_takes_linear_time(piece):
    short, long = piece * 4_000, piece * 32_000
    assert cpu_seconds(lambda: bare_text(long)) < 24 * cpu_seconds(lambda: bare_text(short)) + 0.5


def test_packed_text_in_an_unknown_charset_is_no_page():
    with pytest.raises(BinaryContentError):
        decoded(gzip.compress(b"x" * 1000) * 9, "")
