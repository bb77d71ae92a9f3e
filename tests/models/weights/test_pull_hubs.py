"""Weights from the hubs: local servers that speak their paths, and behave badly."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from toolhand.core.errors import WeightsError
from toolhand.models.weights import Entry, is_present, path_of, pull, ranged

WHOLE = os.urandom(300_000)
SHA256 = hashlib.sha256(WHOLE).hexdigest()
HUGGING_FACE = {"kind": "huggingface", "repository": "Org/Tiny-GGUF", "revision": "abc123"}
MODEL_SCOPE = {"kind": "modelscope", "repository": "Org/Tiny-GGUF"}


def entry(*sources: Any, **changes: Any) -> Entry:
    facts = {
        "name": "tiny",
        "file": "tiny.gguf",
        "size_bytes": len(WHOLE),
        "sha256": SHA256,
        "sources": sources,
    }
    return Entry(**{**facts, **changes})


class Hub(ThreadingHTTPServer):
    """What the server does, and what it saw."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.content = WHOLE
        self.sha256: str | None = SHA256
        self.honours_ranges = True
        self.cuts_after: list[int] = []
        self.moved_to = ""
        self.seen: list[tuple[str, str, dict[str, str]]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class HubHandler(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.server.seen.append(("HEAD", self.path, dict(self.headers)))
        if self.path != "/Org/Tiny-GGUF/resolve/abc123/tiny.gguf":
            self.send_error(404)
            return
        self.send_response(302 if self.server.moved_to else 200)
        if self.server.moved_to:
            self.send_header("Location", self.server.moved_to)
        self.send_header("X-Repo-Commit", "abc123")
        self.send_header("X-Linked-Size", str(len(self.server.content)))
        self.send_header("X-Linked-Etag", f'"{self.server.sha256 or "no-hash"}"')
        self.send_header("ETag", '"weak"')
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()

    def do_GET(self) -> None:
        self.server.seen.append(("GET", self.path, dict(self.headers)))
        url = urlsplit(self.path)
        if url.path == "/api/v1/models/Org/Tiny-GGUF/repo/files":
            file = {"Path": "tiny.gguf", "Size": len(self.server.content), "Sha256": self.server.sha256}
            self._json({"Code": 200, "Data": {"Files": [{"Path": "README.md"}, file]}})
        elif url.path == "/api/v1/models/Org/Tiny-GGUF/repo":
            assert parse_qs(url.query) == {"Revision": ["master"], "FilePath": ["tiny.gguf"]}
            self._file()
        elif url.path.endswith("tiny.gguf"):
            self._file()
        else:
            self.send_error(404)

    def _json(self, value: Any) -> None:
        raw = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _file(self) -> None:
        content, asked = self.server.content, self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.server.honours_ranges else 0
        rest = content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        cut = self.server.cuts_after.pop(0) if self.server.cuts_after else len(rest)
        self.wfile.write(rest[:cut])

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def hubs() -> Iterator[list[Hub]]:
    made = [Hub(), Hub()]
    threads = [threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01}) for hub in made]
    for thread in threads:
        thread.start()
    yield made
    for hub, thread in zip(made, threads, strict=True):
        hub.shutdown()
        thread.join()
        hub.server_close()


@pytest.fixture
def hub(hubs: list[Hub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    monkeypatch.setenv("TOOLHAND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", hubs[0].address)
    monkeypatch.setenv("MODELSCOPE_ENDPOINT", hubs[0].address)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return hubs[0]


@pytest.mark.parametrize("source", [HUGGING_FACE, MODEL_SCOPE], ids=lambda s: s["kind"])
class TestEachHub:
    def test_a_file(self, hub: Hub, source: Any) -> None:
        told: list[int] = []
        assert pull(entry(source), lambda done, total: told.append(done)).read_bytes() == WHOLE
        assert (told[0], told[-1]) == (0, len(WHOLE))

    def test_a_download_that_breaks_off_is_taken_up_again(self, hub: Hub, source: Any) -> None:
        hub.cuts_after = [100_000, 50_000]
        assert pull(entry(source)).read_bytes() == WHOLE
        ranges = [
            headers.get("Range") for method, _, headers in hub.seen if method == "GET" and "files?" not in _
        ]
        assert ranges == [None, "bytes=100000-", "bytes=150000-"]

    def test_an_interrupted_pull_goes_on_where_it_was(self, hub: Hub, source: Any) -> None:
        def interrupt(done: int, total: int | None) -> None:
            if done:
                raise KeyboardInterrupt

        hub.cuts_after = [120_000]
        with pytest.raises(KeyboardInterrupt):
            pull(entry(source), interrupt)
        assert not is_present(entry(source))
        kept = path_of(entry(source)).with_name("tiny.gguf.part").stat().st_size
        assert 0 < kept <= 120_000
        assert pull(entry(source)).read_bytes() == WHOLE
        assert hub.seen[-1][2]["Range"] == f"bytes={kept}-"

    def test_a_server_without_ranges(self, hub: Hub, source: Any) -> None:
        hub.honours_ranges = False
        hub.cuts_after = [100_000]
        assert pull(entry(source)).read_bytes() == WHOLE

    def test_a_download_that_never_gets_on_is_given_up(self, hub: Hub, source: Any) -> None:
        hub.cuts_after = [0] * 50
        with pytest.raises(WeightsError, match="broke off"):
            pull(entry(source))

    def test_the_hubs_own_hash_where_the_catalogue_has_none(self, hub: Hub, source: Any) -> None:
        unknown = entry(source, sha256=None, size_bytes=None)
        assert not is_present(unknown)
        assert pull(unknown).read_bytes() == WHOLE
        assert is_present(unknown)
        hub.content = bytes(len(WHOLE))
        path = path_of(unknown)
        path.write_bytes(bytes(len(WHOLE)))
        os.utime(path, ns=(0, 1))
        assert not is_present(unknown)
        with pytest.raises(WeightsError, match="SHA-256"):
            pull(unknown)

    def test_a_hub_that_gives_no_hash_is_not_trusted(self, hub: Hub, source: Any) -> None:
        hub.sha256 = None
        with pytest.raises(WeightsError, match="gives no SHA-256"):
            pull(entry(source, sha256=None))

    def test_other_bytes_under_the_same_name(self, hub: Hub, source: Any) -> None:
        hub.sha256 = "0" * 64
        with pytest.raises(WeightsError, match="holds another file"):
            pull(entry(source))

    def test_a_file_that_it_does_not_have(self, hub: Hub, source: Any) -> None:
        with pytest.raises(WeightsError, match="tiny can be had from none"):
            pull(entry({**source, "repository": "Org/None"}))


def test_a_lying_source_is_thrown_away_and_the_next_one_asked(
    hub: Hub, hubs: list[Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.content = bytes(len(WHOLE))  # says the right hash, gives other bytes
    monkeypatch.setenv("MODELSCOPE_ENDPOINT", hubs[1].address)
    said: list[str] = []
    assert pull(entry(HUGGING_FACE, MODEL_SCOPE), say=said.append).read_bytes() == WHOLE
    assert len(said) == 1
    assert said[0].startswith("Hugging Face mirror 127.0.0.1")


def test_what_one_source_began_another_one_ends(
    hub: Hub, hubs: list[Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.cuts_after = [100_000] + [0] * 50
    monkeypatch.setenv("MODELSCOPE_ENDPOINT", hubs[1].address)
    assert pull(entry(HUGGING_FACE, MODEL_SCOPE)).read_bytes() == WHOLE
    assert hubs[1].seen[-1][2]["Range"] == "bytes=100000-"


def test_the_token_goes_to_the_hub_and_not_to_where_it_sends_on(hub: Hub, hubs: list[Hub]) -> None:
    hub.moved_to = f"{hubs[1].address}/store/tiny.gguf"
    assert pull(entry(HUGGING_FACE)).read_bytes() == WHOLE
    assert hub.seen[0][2]["authorization"] == "Bearer hf_secret"
    assert [(path, "authorization" in {k.lower() for k in h}) for _, path, h in hubs[1].seen] == [
        ("/store/tiny.gguf", False)
    ]


def test_sources_that_cannot_be_reached_are_given_up_quickly(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, never says a word
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        started = time.monotonic()
        assert pull(entry(HUGGING_FACE, MODEL_SCOPE)).read_bytes() == WHOLE
        assert time.monotonic() - started < ranged.REACH_SECONDS + 3
    monkeypatch.setenv("MODELSCOPE_ENDPOINT", "http://nowhere.invalid")
    path_of(entry()).unlink()
    with pytest.raises(WeightsError, match="ModelScope.*cannot be reached"):
        pull(entry(MODEL_SCOPE))


def test_an_address_that_is_no_http_is_refused(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELSCOPE_ENDPOINT", "file:///etc")
    with pytest.raises(WeightsError, match="is not an HTTP address"):
        pull(entry(MODEL_SCOPE))
