"""`search_web` with each engine, against servers that speak the engines' published protocols; ddgs through a real proxy."""

from __future__ import annotations

import asyncio
import json
import ssl

import pytest
import trustme
from aiohttp import web

from tests.builtin.web.places import Server
from toolhand import Toolset
from toolhand.builtin.searching import Hit, SearchEngine, search_engine
from toolhand.builtin.searching.ddgs import Ddgs
from toolhand.builtin.web_search import search_web_tool
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError
from toolhand.core.plugins import members

KEYS = {"TAVILY_API_KEY": "tvly-geheim", "BOCHA_API_KEY": "sk-geheim"}


@pytest.fixture
async def service():
    server = Server("127.0.0.1")
    await server.start()
    yield server
    await server.stop()


def asking(engine, variables=KEYS):
    toolset = Toolset([search_web_tool(engine, variables=variables)])

    async def call(query: str, language: str = "en", **more):
        return await toolset.call(
            "search_web", {"query": query, **more}, context=RunContext(language=language)
        )

    return call


def answering(body):
    async def answer(request):
        return web.json_response(body)

    return answer


TAVILY = {
    "query": "q", "response_time": 0.8, "results": [
        {"title": "One", "url": "https://a.example/1", "content": "First\n text", "score": 0.9, "published_date": "2025-03-04"},
        {"title": "Two", "url": "https://a.example/2", "content": "x" * 2_000, "score": 0.5},
        {"title": "Bad", "url": "javascript:alert(1)", "content": "no"}, "odd",
    ],
}  # fmt: skip
BOCHA = {
    "code": 200, "log_id": "1", "msg": None, "data": {"_type": "SearchResponse", "webPages": {"value": [
        {"name": "标题", "url": "https://a.example/1", "snippet": "短", "summary": "较长的摘要", "datePublished": "2024-07-22T11:58:00+08:00"},
    ]}},
}  # fmt: skip
SEARXNG = {
    "query": "q", "number_of_results": 3, "results": [
        {"title": f"T{n}", "url": f"https://a.example/{n}", "content": f"c{n}", "engine": "bing", "publishedDate": None} for n in range(9)
    ],
}  # fmt: skip


async def test_tavily(service):
    service.on("/search", answering(TAVILY))
    result = await asking(f"tavily:http://127.0.0.1:{service.port}")("tea", recency="week", max_results=3)
    assert result.untrusted
    first, second = result.data["results"]
    assert first == {
        "title": "One",
        "url": "https://a.example/1",
        "snippet": "First text",
        "date": "2025-03-04",
    }
    assert len(second["snippet"]) == 500
    assert json.loads(service.bodies[0]) == {
        "query": "tea",
        "max_results": 3,
        "search_depth": "basic",
        "time_range": "week",
    }
    assert service.requests[0].headers["Authorization"] == "Bearer tvly-geheim"
    assert "geheim" not in repr(result)


async def test_bocha(service):
    service.on("/v1/web-search", answering(BOCHA))
    result = await asking(f"bocha:http://127.0.0.1:{service.port}")("茶叶价格", recency="month")
    assert result.data["results"] == [
        {
            "title": "标题",
            "url": "https://a.example/1",
            "snippet": "较长的摘要",
            "date": "2024-07-22T11:58:00+08:00",
        }
    ]
    assert json.loads(service.bodies[0]) == {
        "query": "茶叶价格",
        "freshness": "oneMonth",
        "summary": True,
        "count": 5,
    }
    service.on("/v1/web-search", answering({"code": 403, "message": "You do not have enough money"}))
    assert (await asking(f"bocha:http://127.0.0.1:{service.port}")("茶")).error.code is ErrorCode.UPSTREAM


async def test_searxng(service):
    service.on("/search", answering(SEARXNG))
    result = await asking(f"searxng:http://127.0.0.1:{service.port}/", {})("杭州 天气", max_results=4)
    assert [hit["title"] for hit in result.data["results"]] == ["T0", "T1", "T2", "T3"]
    assert dict(service.requests[0].query) == {
        "q": "杭州 天气",
        "format": "json",
        "safesearch": "1",
        "language": "zh-CN",
    }
    await asking("searxng", {"SEARXNG_URL": f"http://127.0.0.1:{service.port}"})("tea", recency="day")
    assert dict(service.requests[1].query) == {
        "q": "tea",
        "format": "json",
        "safesearch": "1",
        "language": "en",
        "time_range": "day",
    }


@pytest.mark.parametrize("engine", ["tavily", "bocha", "searxng"])
@pytest.mark.parametrize(
    ("answer", "code", "word"),
    [
        ({"status": 401}, ErrorCode.UPSTREAM, "key"), ({"status": 403}, ErrorCode.UPSTREAM, "key"),
        ({"status": 429, "headers": {"Retry-After": "3"}}, ErrorCode.RATE_LIMITED, "too often"), ({"status": 502}, ErrorCode.UPSTREAM, "502"),
        ({"text": "<html>nginx"}, ErrorCode.UPSTREAM, "understood"), ({"status": 302, "headers": {"Location": "/x"}}, ErrorCode.UPSTREAM, ""),
    ],
)  # fmt: skip
async def test_engines_that_fail(engine, answer, code, word, service):
    service.on("/search", answer)
    service.on("/v1/web-search", answer)
    error = (await asking(f"{engine}:http://127.0.0.1:{service.port}")("x")).error
    assert error.code is code
    assert word in error.message


@pytest.mark.parametrize(
    "body", [{}, [], {"results": {}}, {"results": [{}]}, {"code": 200, "data": {"webPages": None}}, None]
)
@pytest.mark.parametrize("engine", ["tavily", "bocha", "searxng"])
async def test_nothing_found_says_what_to_do(engine, body, service):
    service.on("/search", answering(body))
    service.on("/v1/web-search", answering(body if engine != "bocha" or body else {"code": 200}))
    result = await asking(f"{engine}:http://127.0.0.1:{service.port}")("x", language="zh")
    assert result.ok
    assert result.data == {"results": [], "note": "没有找到结果。请减少或更换关键词，或不限时间。"}


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("tavily", "TAVILY_API_KEY"), ("bocha", "BOCHA_API_KEY"), ("searxng", "SEARXNG_URL"), ("searxng:localhost", "https://host"),
        ("askjeeves", "bocha, ddgs, searxng, tavily"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said_when_the_tool_is_made(name, word):
    with pytest.raises(SettingsError, match=word):
        search_web_tool(name, variables={})


def test_every_engine_of_the_folder_is_one():
    for name in members("builtin.searching", "connect"):
        address = "http://127.0.0.1:1" if name == "searxng" else ""
        assert isinstance(
            search_engine(name, {**KEYS} | ({"SEARXNG_URL": address} if address else {})), SearchEngine
        )


async def test_an_engine_of_ones_own():
    class Own:
        async def search(self, query, *, count, recency, language):
            return [Hit(title=query, url="https://a.example/", snippet="s")]

    assert (await asking(Own())("mine")).data["results"][0]["title"] == "mine"


DUCK = """<html><body><div class="result results_links_deep web-result"><div class="links_main links_deep result__body body">
<h2 class="result__title"><a href="https://a.example/tea">Tea prices</a></h2>
<a class="result__snippet" href="https://a.example/tea">Tea is 30 yuan a pack.</a></div></div></body></html>"""


@pytest.fixture
async def through_proxy(tmp_path):
    """Everything that ddgs asks for ends at a TLS server here, by way of a real proxy: its own code does all the rest."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("html.duckduckgo.com").configure_cert(context)
    server = Server("127.0.0.1")
    await server.start(context)
    tunnels = set()

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        tunnels.add(task)
        await reader.readuntil(b"\r\n\r\n")
        there, back = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def pipe(source, target):
            while block := await source.read(65536):
                target.write(block)
                await target.drain()
            target.close()

        try:
            await asyncio.gather(pipe(reader, back), pipe(there, writer))
        finally:
            back.close()
            writer.close()

    proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    yield (
        server,
        Ddgs(backend="duckduckgo", proxy=f"http://127.0.0.1:{port}", verify=str(tmp_path / "ca.pem")),
    )
    proxy.close()
    for task in tunnels:
        task.cancel()
    await asyncio.gather(*tunnels, return_exceptions=True)
    await server.stop()


async def test_ddgs(through_proxy):
    server, engine = through_proxy
    server.on("/html/", DUCK)
    result = await asking(engine)("tea price", recency="week")
    assert result.data["results"] == [
        {"title": "Tea prices", "url": "https://a.example/tea", "snippet": "Tea is 30 yuan a pack."}
    ]
    assert b"df=w" in server.bodies[0]
    assert b"l=us-en" in server.bodies[0]
    await asking(engine)("茶叶 价格")
    assert b"l=cn-zh" in server.bodies[-1]


async def test_ddgs_that_finds_nothing_or_cannot_be_reached(through_proxy):
    server, engine = through_proxy
    server.on("/html/", "<html></html>")
    assert (await asking(engine)("x")).data["results"] == []
    gone = Ddgs(backend="duckduckgo", proxy="http://127.0.0.1:9")
    result = await asking(gone)("x")
    assert result.error.code is ErrorCode.NETWORK
