"""The tools over listed services: what they reach, what they hide, and what nobody talks them into."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web

from tests.builtin.web.places import Names, guard
from toolhand import Toolset
from toolhand.builtin.http_request import Service, http_tools
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError
from toolhand.core.jsonable import result_text

SECRET = "tok-geheim-1234567890"


@pytest.fixture
def ask(outside, names):
    """Over `api` (all methods, a key), `other` (reads only, no key)."""

    def made(**more):
        api = Service(
            url=f"http://public.test:{outside.port}/v2", about="orders", headers={"X-Key": f"Bearer {SECRET}"}, is_internal=True,
            methods=("GET", "POST", "PUT", "PATCH", "DELETE"), **more,
        )  # fmt: skip
        toolset = Toolset(http_tools([api, f"http://other.test:{outside.port}"], guard=guard(names)))

        async def call(name: str, url: str, language: str = "en", **arguments):
            url = url.replace("API", f"http://public.test:{outside.port}/v2").replace(
                "OTHER", f"http://other.test:{outside.port}"
            )
            return await toolset.call(name, {"url": url, **arguments}, context=RunContext(language=language))

        call.toolset = toolset
        return call

    return made()


async def test_reading(ask, outside):
    outside.on("/v2/orders", {"text": '{"orders": [1, 2]}', "content_type": "application/json"})
    result = await ask("http_request", "API/orders", query={"page": "2", "q": "茶 &x=1"})
    assert result.data == {"status": 200, "json": {"orders": [1, 2]}}
    assert result.untrusted
    (request,) = outside.requests
    assert request.method == "GET"
    assert dict(request.query) == {"page": "2", "q": "茶 &x=1"}
    assert request.headers["X-Key"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_sending(method, ask, outside):
    outside.on("/v2/orders", {"text": "made", "status": 201})
    result = await ask("http_send", "API/orders", body={"品名": "茶"}, method=method)
    assert result.data == {"status": 201, "text": "made"}
    assert outside.requests[0].method == method
    assert json.loads(outside.bodies[0]) == {"品名": "茶"}


async def test_deleting_waits_for_a_person(ask, outside):
    result = await ask("http_delete", "API/orders/7")
    assert result.error.code is ErrorCode.APPROVAL_REQUIRED
    assert outside.requests == []


def test_methods_decide_which_tools_there_are_and_what_they_may():
    tools = {
        tool.name: tool
        for tool in http_tools([Service(url="https://a.example", methods=("GET", "POST", "DELETE"))])
    }
    assert {name: tool.rules.effect for name, tool in tools.items()} == {
        "http_request": "reads", "http_send": "writes", "http_delete": "destroys",
    }  # fmt: skip
    assert tools["http_delete"].rules.approval
    assert [tool.name for tool in http_tools(["https://a.example"])] == ["http_request"]
    assert "- https://a.example (POST)" in tools["http_send"].description


@pytest.mark.parametrize(
    "url",
    [
        "http://evil.test/v2/orders", "http://public.test/v2/orders", "https://public.test:PORT/v2/orders", "http://public.test:PORT/",
        "http://public.test:PORT/v1/x", "http://public.test:PORT/v22/x", "http://public.test:PORT/v2x", "http://public.test:PORT/v2/../admin",
        "http://public.test:PORT/v2/%2e%2e/admin", "http://public.test:PORT/v2/..%2fadmin", "http://public.test:PORT/v2/%2E%2E%2Fadmin",
        "http://public.test:PORT/v2/..%5cadmin", "http://public.test:PORT/v2//evil.test/", "http://public.test:PORT/v2/..;/admin",
        "http://public.test.evil.test:PORT/v2/", "http://public.test:PORT@evil.test/v2/", "http://u:p@public.test:PORT/v2/",
        "http://evil.test#public.test:PORT/v2/", "file:///v2/x", "http://127.0.0.1:PORT/v2/", "//evil.test/v2",
    ],
)  # fmt: skip
async def test_nothing_outside_of_the_services_is_asked(url, ask, outside):
    result = await ask("http_request", url.replace("PORT", str(outside.port)))
    assert result.error.code in (ErrorCode.NOT_PERMITTED, ErrorCode.INVALID_ARGUMENT)
    assert outside.requests == []


async def test_a_dot_segment_that_stays_inside_is_resolved_before_it_is_judged(ask, outside):
    outside.on("/v2/b", "x")
    assert (await ask("http_request", "API/a/../b")).ok
    assert outside.paths == ["/v2/b"]


async def test_a_method_that_is_not_open_is_refused(ask, outside):
    result = await ask("http_send", "OTHER/x", body={})
    assert result.error.code is ErrorCode.NOT_PERMITTED
    assert "GET" in result.error.sentence
    assert "不允许使用" in (await ask("http_send", "OTHER/x", language="zh", body={})).error.message
    assert outside.requests == []


async def test_one_services_key_is_not_sent_to_another(ask, outside):
    outside.on("/x", "fine")
    await ask("http_request", "OTHER/x")
    assert "X-Key" not in outside.requests[0].headers


@pytest.mark.parametrize(
    "spelling",
    [
        SECRET,
        f"Bearer {SECRET}",
        f'{{"k": "{SECRET}"}}',
        f"<b>{SECRET}</b>",
        '{"k": "' + SECRET.replace("-", "\\u002D") + '"}',
    ],
)
@pytest.mark.parametrize("status", [200, 400])
async def test_a_service_that_says_the_key_back_does_not_give_it_to_the_model(spelling, status, ask, outside):
    outside.on("/v2/echo", {"text": spelling, "status": status})
    result = await ask("http_request", "API/echo")
    assert SECRET not in repr(result) + result_text(result)
    assert "[secret]" in result_text(result)


def test_a_key_is_not_shown_by_anything_made_of_it():
    service = Service(url="https://a.example", headers={"Authorization": SECRET})
    tools = http_tools([service])
    assert SECRET not in repr(service) + repr(tools)


@pytest.mark.parametrize(
    "location", ["http://evil.test/", "http://other.test:PORT/x", "/admin", "//evil.test/x", "/v2/../admin", "https://public.test:PORT/v2/x", "http://u:p@public.test:PORT/v2/x"]
)  # fmt: skip
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_out_of_the_service_is_not_followed(location, status, ask, outside):
    outside.on(
        "/v2/go", {"status": status, "headers": {"Location": location.replace("PORT", str(outside.port))}}
    )
    result = await ask("http_request", "API/go")
    assert result.error.code is ErrorCode.UPSTREAM
    assert "not followed" in result.error.message
    assert outside.paths == ["/v2/go"]


async def test_a_redirect_inside_is_followed_when_reading_and_never_when_sending(ask, outside):
    outside.on("/v2/go", {"status": 307, "headers": {"Location": "/v2/there"}})
    outside.on("/v2/there", "x")
    assert (await ask("http_request", "API/go")).data["text"] == "x"
    assert (await ask("http_send", "API/go", body={})).error.code is ErrorCode.UPSTREAM
    assert outside.paths == ["/v2/go", "/v2/there", "/v2/go"]


async def test_a_service_whose_name_leads_inside_is_refused_unless_it_is_internal(inner):
    names = Names({"api.test": [[("127.0.0.1", inner.port)]]})
    public = Toolset(http_tools([Service(url="http://api.test/secret")], guard=guard(names)))
    result = await public.call("http_request", {"url": "http://api.test/secret"})
    assert result.error.code is ErrorCode.NOT_PERMITTED
    literal = Toolset(http_tools([f"http://127.0.0.1:{inner.port}"]))
    result = await literal.call("http_request", {"url": f"http://127.0.0.1:{inner.port}/secret"})
    assert result.error.code is ErrorCode.NOT_PERMITTED
    assert inner.requests == []
    internal = Toolset(
        http_tools([Service(url=f"http://localhost:{inner.port}", is_internal=True)], guard=guard(names))
    )
    names.places = {"localhost": [[("127.0.0.1", inner.port)]]}
    assert (await internal.call("http_request", {"url": f"http://localhost:{inner.port}/secret"})).data[
        "text"
    ] == "内网秘密"


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [(400, ErrorCode.UPSTREAM, False), (404, ErrorCode.UPSTREAM, False), (429, ErrorCode.RATE_LIMITED, True), (503, ErrorCode.UPSTREAM, True)],
)  # fmt: skip
async def test_errors_of_a_service_teach(status, code, retryable, ask, outside):
    outside.on(
        "/v2/x", {"status": status, "text": "field 'amount'\nis missing {0}", "headers": {"Retry-After": "9"}}
    )
    error = (await ask("http_request", "API/x")).error
    assert (error.code, error.retryable) == (code, retryable)
    assert "field 'amount' is missing {0}" in error.message
    assert error.details == {"status": status, "retry_after": 9.0}


async def test_a_write_that_may_have_happened_says_so(ask, outside):
    async def cut(request):
        request.transport.close()
        return web.Response()

    outside.on("/v2/broken", {"status": 502, "text": "bad gateway"})
    outside.on("/v2/cut", cut)
    assert "may have had its effect" in (await ask("http_send", "API/broken", body={})).error.hint
    assert (await ask("http_send", "API/cut", body={})).error.code is ErrorCode.OUTCOME_UNKNOWN
    assert (await ask("http_request", "API/cut")).error.code is ErrorCode.NETWORK


async def test_large_binary_and_slow_answers(outside, names):
    async def slow(request):
        await asyncio.sleep(30)
        return web.Response()

    from toolhand.builtin._reach import HttpLimits  # noqa: PLC0415

    outside.on("/big", {"text": "x" * 5_000})
    outside.on("/png", {"body": b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "content_type": "image/png"})
    outside.on("/slow", slow)
    toolset = Toolset(
        http_tools(
            ["http://public.test"], guard=guard(names), limits=HttpLimits(seconds=1.0, size_bytes=1_000)
        )
    )
    big = (await toolset.call("http_request", {"url": "http://public.test/big"})).data
    assert len(big["text"]) == 1_000
    assert "end is missing" in big["note"]
    assert (
        "image/png" in (await toolset.call("http_request", {"url": "http://public.test/png"})).error.message
    )
    assert (
        await toolset.call("http_request", {"url": "http://public.test/slow"})
    ).error.code is ErrorCode.TIMEOUT


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"url": "a.example"}, "https://host/path"), ({"url": "ftp://a.example"}, "https://host/path"), ({"url": "https://"}, "https://host"),
        ({"url": "https://a.example/?key=1"}, "without a query"), ({"url": "https://u:geheim@a.example/"}, "without a query or a password"),
        ({"url": "https://a.example", "methods": ("TRACE",)}, "TRACE"), ({"url": "https://a.example", "methods": ()}, "method"),
        ({"url": "https://a.example", "headers": {"A B": "x"}}, "header"), ({"url": "https://a.example", "headers": {"A": "x\r\nB: y"}}, "header"),
        ({"url": "http://a.example", "headers": {"A": "x"}}, "unencrypted"), ({"url": "https://a.example:x"}, "https://host/path"),
    ],
)  # fmt: skip
def test_a_service_that_cannot_be_one_is_named(fields, word):
    with pytest.raises(SettingsError, match=word) as caught:
        Service(**fields)
    assert "geheim" not in str(caught.value)


def test_no_services_is_a_mistake():
    with pytest.raises(SettingsError, match="at least one service"):
        http_tools([])
