"""Somebody tries to get in where nobody may: every spelling, every hop, every trick with names. The inner server sees nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import zlib

import aiohttp
import pytest
from aiohttp import web

from tests.builtin.web.places import OUTSIDE, Names, guard
from toolhand.builtin._guarded_http import fetch, guarded_session, url_of
from toolhand.builtin._reach import PUBLIC, Guard, HttpLimits
from toolhand.builtin._web_words import told
from toolhand.core.errors import ErrorCode, SettingsError, ToolFailure

SPELLINGS = [
    "http://127.0.0.1:PORT/secret", "http://localhost:PORT/secret", "http://LOCALHOST.:PORT/secret", "http://2130706433:PORT/secret",
    "http://0x7f000001:PORT/secret", "http://0x7f.1:PORT/secret", "http://0177.0.0.1:PORT/secret", "http://017700000001:PORT/secret",
    "http://127.1:PORT/secret", "http://127.0.1:PORT/secret", "http://127.0.0.1.:PORT/secret", "http://0:PORT/secret",
    "http://0.0.0.0:PORT/secret", "http://[::1]:PORT/secret", "http://[::]:PORT/secret", "http://[::ffff:127.0.0.1]:PORT/secret",
    "http://[::ffff:7f00:1]:PORT/secret", "http://[::127.0.0.1]:PORT/secret", "http://[64:ff9b::7f00:1]:PORT/secret",
    "http://[2002:7f00:1::]:PORT/secret", "http://[0:0:0:0:0:0:0:1]:PORT/secret", "http://[fe80::1%25lo]:PORT/secret",
    "http://ok.test@127.0.0.1:PORT/secret", "http://ok.test:80@127.0.0.1:PORT/secret", "http://127.0.0.1:PORT\\@ok.test/secret",
    "http://ok.test\\@127.0.0.1:PORT/secret", "http://１２７.０.０.１:PORT/secret", "http://①②⑦.⓪.⓪.①:PORT/secret",
    "http://127。0。0。1:PORT/secret", "http://ⓛocalhost:PORT/secret", "//127.0.0.1:PORT/secret", "127.0.0.1:PORT/secret",
    "http:127.0.0.1:PORT/secret", "http:///127.0.0.1:PORT/secret", "http://127.0.0.1:PORT\t/secret", "http://127.0.0.1:PORT#@ok.test/",
    "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/latest/", "http://100.100.100.200/", "http://192.168.1.1/",
    "http://10.0.0.1/", "http://100.64.0.1/", "http://168.63.129.16/", "http://224.0.0.1/", "http://255.255.255.255/",
    "file:///etc/hostname", "ftp://127.0.0.1:PORT/", "gopher://127.0.0.1:PORT/_x", "dict://127.0.0.1:PORT/", "unix:///run/docker.sock",
    "data:text/html,x", "javascript:alert(1)", "jar:http://127.0.0.1:PORT!/", "http+unix://%2Frun%2Fdocker.sock/info", "", "http://",
    "http://[::1", "http://a:b:c/", "http://public.test:99999/", "http://public.test:-1/",
]  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    "opened", [PUBLIC, Guard(networks=("127.0.9.0/24",), ports=None)], ids=["usual", "any port"]
)
async def test_no_spelling_gets_in(spelling, opened, inner):
    async def get() -> None:
        url = url_of(spelling.replace("PORT", str(inner.port)), opened)
        with told(url.host or "", "en"):
            await fetch(url, guard=opened, limits=HttpLimits(seconds=10))

    with pytest.raises(ToolFailure) as caught:
        await get()
    assert caught.value.error.code in (ErrorCode.INVALID_ARGUMENT, ErrorCode.NOT_PERMITTED)
    assert inner.requests == []


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "10.1.2.3", "100.64.0.1", "0.0.0.0", "fe80::1", "64:ff9b::a00:1"],
)  # fmt: skip
async def test_a_name_of_an_inner_address_is_refused_and_the_address_not_told(address, inner):
    names = Names({"evil.test": [[(address, inner.port)]]})
    with pytest.raises(ToolFailure) as caught:
        await fetch(url_of("http://evil.test/secret", guard(names)), guard=guard(names))
    assert caught.value.error.code is ErrorCode.NOT_PERMITTED
    assert "evil.test" in caught.value.error.message
    assert address not in caught.value.error.sentence
    assert inner.requests == []


async def test_a_name_with_a_good_and_a_bad_address_is_refused_whole(inner, outside):
    names = Names({"both.test": [[(OUTSIDE, outside.port), ("127.0.0.1", inner.port)]]})
    with pytest.raises(ToolFailure, match="public internet"):
        await fetch(url_of("http://both.test/secret", guard(names)), guard=guard(names))
    assert inner.requests == outside.requests == []


async def test_a_name_that_changes_its_address_is_looked_up_once_for_each_connection(inner, outside):
    outside.on("/page", "public")
    names = Names({"rebind.test": [[(OUTSIDE, outside.port)], [("127.0.0.1", inner.port)]]})
    found = await fetch(url_of("http://rebind.test/page", guard(names)), guard=guard(names))
    assert found.content == b"public"
    assert names.asked == ["rebind.test"]
    with pytest.raises(ToolFailure, match="public internet"):
        await fetch(url_of("http://rebind.test/secret", guard(names)), guard=guard(names))
    assert inner.requests == []


async def test_the_socket_is_checked_even_if_the_name_was_not(inner):
    """The second fence alone: an address that comes to the connector by another way than the resolver."""
    async with guarded_session(PUBLIC) as session:
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(f"http://127.0.0.1:{inner.port}/secret")
        with pytest.raises(aiohttp.ClientError):
            await session.get(f"http://[::ffff:127.0.0.1]:{inner.port}/secret")
    assert inner.requests == []


REDIRECTS = [
    "http://127.0.0.1:PORT/secret", "//127.0.0.1:PORT/secret", "http://[::1]:PORT/secret", "http://localhost:PORT/secret",
    "http://inner.test/secret", "http://2130706433:PORT/secret", "file:///etc/passwd", "http://u:p@127.0.0.1:PORT/secret",
    "http://a b:PORT/", "http://localhost.:PORT/", "http://x.localhost:PORT/",
]  # fmt: skip


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", REDIRECTS)
async def test_every_hop_is_checked_anew(status, location, inner, outside, names):
    names.places = {**names.places, "inner.test": [[("127.0.0.1", inner.port)]]}
    location = location.replace("PORT", str(inner.port))
    outside.on("/go", {"status": 302, "headers": {"Location": "/on"}})
    outside.on("/on", {"status": status, "headers": {"Location": location}})
    with pytest.raises(ToolFailure):
        await fetch(url_of("http://public.test/go", guard(names)), guard=guard(names))
    assert inner.requests == []


async def test_a_name_that_changes_its_address_between_two_hops(inner, outside):
    outside.on("/go", {"status": 302, "headers": {"Location": "/secret"}})
    names = Names({"rebind.test": [[(OUTSIDE, outside.port)], [("127.0.0.1", inner.port)]]})
    with pytest.raises(ToolFailure, match="public internet"):
        await fetch(url_of("http://rebind.test/go", guard(names)), guard=guard(names))
    assert inner.requests == []


async def test_redirects_are_followed_and_counted(outside, names):
    outside.on("/a", {"status": 302, "headers": {"Location": "/b?x=1"}})
    outside.on("/b", "there")
    outside.on("/loop", {"status": 302, "headers": {"Location": "/loop"}})
    found = await fetch(url_of("http://public.test/a", guard(names)), guard=guard(names))
    assert (str(found.url), found.content) == ("http://public.test/b?x=1", b"there")
    with pytest.raises(ToolFailure, match="5 times"):
        await fetch(url_of("http://public.test/loop", guard(names)), guard=guard(names))
    assert outside.paths.count("/loop") == 6


async def test_the_environment_names_no_proxy_and_no_password(monkeypatch, inner, outside, names, tmp_path):
    (tmp_path / "netrc").write_text("machine public.test login me password geheim")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.setenv(variable, f"http://127.0.0.1:{inner.port}")
    outside.on("/", {"text": "x", "headers": {"Set-Cookie": "a=b"}})
    for _ in range(2):
        await fetch(url_of("http://public.test/", guard(names)), guard=guard(names))
    assert inner.requests == []
    for request in outside.requests:
        assert "Authorization" not in request.headers
        assert "Cookie" not in request.headers
        assert request.headers["Accept-Encoding"] == "gzip, deflate"


def _bomb(size: int, encoding: str) -> bytes:
    packer = zlib.compressobj(9, wbits={"gzip": 31, "deflate": 15, "raw": -15}[encoding])
    return b"".join(packer.compress(b"\0" * 1_000_000) for _ in range(size // 1_000_000)) + packer.flush()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw"])
async def test_a_small_body_that_holds_gigabytes_is_cut(encoding, outside, names):
    header = {"Content-Encoding": "gzip" if encoding == "gzip" else "deflate"}
    outside.on("/bomb", {"body": _bomb(100_000_000, encoding), "headers": header})
    found = await fetch(
        url_of("http://public.test/bomb", guard(names)), guard=guard(names), limits=HttpLimits(size_bytes=100_000)
    )  # fmt: skip
    assert found.is_cut
    assert len(found.content) == 100_000


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "raw", "identity"])
async def test_packed_bodies_are_unpacked(encoding, outside, names):
    text = ("很长的页面 " * 5_000).encode()
    packed = {
        "gzip": gzip.compress(text), "x-gzip": gzip.compress(text), "deflate": zlib.compress(text), "raw": zlib.compress(text)[2:-4],
        "identity": text,
    }[encoding]  # fmt: skip
    header = {"Content-Encoding": "deflate" if encoding == "raw" else encoding}
    outside.on("/", {"body": packed, "headers": header})
    found = await fetch(url_of("http://public.test/", guard(names)), guard=guard(names))
    assert found.content == text
    assert not found.is_cut


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"x"), ("gzip, gzip", b"x"), ("zstd", b"x"), ("gzip", b"no")]
)
async def test_what_cannot_be_unpacked_is_refused(encoding, body, outside, names):
    outside.on("/", {"body": body, "headers": {"Content-Encoding": encoding}})
    with pytest.raises(ToolFailure) as caught:
        await fetch(url_of("http://public.test/", guard(names)), guard=guard(names))
    assert caught.value.error.code is ErrorCode.UPSTREAM


async def test_a_body_without_end_is_cut_and_a_slow_one_given_up(outside, names):
    async def endless(request):
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:
            await answer.write(b"x" * 50_000)

    async def drip(request):
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:
            await answer.write(b"x")
            await asyncio.sleep(0.05)

    outside.on("/endless", endless)
    outside.on("/drip", drip)
    found = await fetch(
        url_of("http://public.test/endless", guard(names)), guard=guard(names), limits=HttpLimits(size_bytes=200_000)
    )  # fmt: skip
    assert len(found.content) == 200_000
    with pytest.raises(TimeoutError):
        await fetch(
            url_of("http://public.test/drip", guard(names)),
            guard=guard(names),
            limits=HttpLimits(seconds=0.5),
        )


@pytest.mark.parametrize(
    ("port", "is_open"), [(80, True), (443, True), (8080, True), (22, False), (25, False), (6379, False), (3306, False)]
)  # fmt: skip
def test_only_the_ports_of_web_servers_are_open(port, is_open):
    if is_open:
        assert url_of(f"http://example.org:{port}/", PUBLIC).port == port
    else:
        with pytest.raises(ToolFailure, match=f"Port {port}"):
            url_of(f"http://example.org:{port}/", PUBLIC)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.org/a", "https://example.org/a"), (" <https://example.org/a#part> ", "https://example.org/a"),
        ("https://zh.example.org/维基/北京?词=茶", "https://zh.example.org/维基/北京?词=茶"), ("https://例子.测试/", "https://例子.测试/"),
        ("https://example.org/a b", "https://example.org/a b"), ("https://1.1.1.1/", "https://1.1.1.1/"),
        ("https://[2606:4700:4700::1111]/", "https://[2606:4700:4700::1111]/"), ("example.org:8080/x", "https://example.org:8080/x"),
        ("https://4chan.example/1", "https://4chan.example/1"), ("http://example.org:8080/", "http://example.org:8080/"),
    ],
)  # fmt: skip
def test_real_addresses_are_taken(text, url):
    assert url_of(text, PUBLIC).human_repr() == url


def test_an_open_network_is_open_and_a_wrong_one_named():
    inside = Guard(networks=("10.20.0.0/16", "fd00:1::/32"))
    assert url_of("http://10.20.3.4/", inside)
    assert url_of("http://[fd00:1::7]/", inside)
    with pytest.raises(ToolFailure):
        url_of("http://10.21.3.4/", inside)
    with pytest.raises(SettingsError, match=r"10\.20\.0\.0/16"):
        Guard(networks=("intranet",))


async def test_network_failures_are_told_in_both_languages(names):
    for language, word in (("en", "There is no host"), ("zh", "没有名为")):
        with pytest.raises(ToolFailure, match=word) as caught, told("gone.test", language):
            await fetch(url_of("http://gone.test/", guard(names)), guard=guard(names))
        assert caught.value.error.code is ErrorCode.NETWORK
    with socket.socket() as closed:
        closed.bind((OUTSIDE, 0))
        with pytest.raises(ToolFailure, match="could not be reached"), told("127.0.9.1", "en"):
            await fetch(
                url_of(f"http://{OUTSIDE}:{closed.getsockname()[1]}/", guard(names)), guard=guard(names)
            )


async def test_a_packed_body_of_several_parts_is_read_whole_and_what_follows_is_left(outside, names):
    parts = gzip.compress(b"one ") + gzip.compress(b"two")
    for body in (parts, parts + b"\0" * 20, parts + b"garbage"):
        outside.on("/", {"body": body, "headers": {"Content-Encoding": "gzip"}})
        found = await fetch(url_of("http://public.test/", guard(names)), guard=guard(names))
        assert (found.content, found.is_cut) == (b"one two", False)


async def test_a_packed_body_that_holds_nothing_without_end_is_cut(outside, names):
    async def empty(request):
        answer = web.StreamResponse(headers={"Content-Encoding": "gzip"})
        await answer.prepare(request)
        await answer.write(gzip.compress(b"hello"))
        with contextlib.suppress(ConnectionError):
            while True:
                await answer.write(b"\0" * 50_000)
        return answer

    outside.on("/", empty)
    found = await fetch(
        url_of("http://public.test/", guard(names)), guard=guard(names), limits=HttpLimits(size_bytes=500_000)
    )
    assert (found.content, found.is_cut) == (b"hello", True)
