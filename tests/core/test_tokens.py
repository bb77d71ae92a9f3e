"""The estimate of tokens, against a real tokenizer."""

from __future__ import annotations

import http.client
import json
import secrets
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.timing import cpu_seconds
from toolhand.core.messages import Message, Text, ToolCall, ToolResult, Value, user
from toolhand.core.tokens import MOST_READ, estimate_tokens, message_tokens, most_tokens
from toolhand.models.weights import find, path_of

CASES = Path(__file__).parents[1] / "cases" / "tokens" / "qwen.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
SOURCES = sorted((Path(__file__).parents[2] / "src" / "toolhand").rglob("*.py"))[::12]
DOCUMENTS = sorted((Path(__file__).parents[2] / "docs").rglob("*.md"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["kind"])
def test_every_kind_of_text_is_within_30_percent(row):
    assert 0.7 <= estimate_tokens(row["text"]) / row["tokens"] <= 1.3


def test_the_estimate_has_no_lean():
    ratios = [estimate_tokens(row["text"]) / row["tokens"] for row in ROWS]
    assert 0.9 <= sum(ratios) / len(ratios) <= 1.1


def test_no_text_has_no_tokens():
    assert estimate_tokens("") == 0
    assert estimate_tokens("a") == 1


def test_a_long_text_is_sampled_all_over():
    zh, en = ROWS[0]["text"] * 300, "The train leaves at noon and comes back in the evening. " * 5_000
    mixed = zh + en
    assert len(mixed) > 3 * MOST_READ
    apart = estimate_tokens(zh[:50_000]) * len(zh) / 50_000 + estimate_tokens(en[:50_000]) * len(en) / 50_000
    assert estimate_tokens(mixed) == pytest.approx(apart, rel=0.1)


@pytest.mark.parametrize(
    "text", [" " * 80_000, "a" * 80_000, "{" * 80_000, "é" * 80_000, "\ud800" * 1000, "中" * 80_000]
)
def test_any_text_takes_a_time_in_proportion_to_its_length(text):
    assert estimate_tokens(text) > 0
    assert cpu_seconds(lambda: estimate_tokens(text), times=1) < 2


def test_calls_and_results_count():
    call = Message(
        role="assistant",
        parts=(Text("I look."), ToolCall(id="c1", name="get_weather", arguments={"city": "北京"})),
    )
    result = Message(
        role="tool", parts=(ToolResult(call_id="c1", name="get_weather", outcome=Value({"low": 3})),)
    )
    assert message_tokens(call) > message_tokens(user("I look.")) + 5
    assert message_tokens(result) >= estimate_tokens('{"low": 3}')


class _Socket(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


@pytest.fixture(scope="module")
def tokenize(tmp_path_factory) -> Callable[[str], int]:
    xllamacpp = pytest.importorskip("xllamacpp")
    path, key = str(tmp_path_factory.mktemp("s") / "s.sock"), secrets.token_hex(8)
    params = xllamacpp.CommonParams()
    params.model.path = str(path_of(find("small")))
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity = 512, 1, False, -1
    params.hostnames, params.port, params.api_keys, params.fit_params = [path], 0, [key], False
    server = xllamacpp.Server(params)

    def count(text: str) -> int:
        assert server
        connection = _Socket(path)
        connection.request(
            "POST", "/tokenize", json.dumps({"content": text}), {"Authorization": f"Bearer {key}"}
        )
        tokens = json.loads(connection.getresponse().read())["tokens"]
        connection.close()
        return len(tokens)

    return count


@pytest.mark.model
def test_the_embedded_models_own_tokenizer_agrees(tokenize):
    for row in ROWS:
        assert tokenize(row["text"]) == row["tokens"]
    for file in [*SOURCES, *DOCUMENTS]:
        text = file.read_text(encoding="utf-8")[:6_000]
        assert 0.7 <= estimate_tokens(text) / tokenize(text) <= 1.3, file


@pytest.mark.parametrize("row", ROWS)
def test_no_text_is_estimated_at_more_than_the_most(row):
    for text in (row["text"], *row["text"][:50]):
        assert estimate_tokens(text) <= most_tokens(text)


@pytest.mark.parametrize(
    "text",
    ["\n", "क\n" * 999, "ก", "\u2014" * 99, "aB" * 99, "\"'" * 99, "9", "😀a" * 99, "A" * 999, "\t\n" * 9],
)
def test_dear_characters_are_no_more_than_the_most(text):
    assert 0 < estimate_tokens(text) <= most_tokens(text)
