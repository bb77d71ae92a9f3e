"""Where servers differ: what goes out and comes back in each dialect, and the presets that name them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from toolhand.core.errors import ModelError, ModelFault, SettingsError
from toolhand.core.messages import (
    Message,
    ModelRequest,
    Opaque,
    Sampling,
    ToolCall,
    ToolResult,
    Value,
    assistant,
    user,
)
from toolhand.core.tools import Tool, ToolChoice
from toolhand.models.deltas import StreamedOutput
from toolhand.models.faults import PASSING, fault_of, wait_in
from toolhand.models.resolve import providers, resolve, spellings
from toolhand.models.wire import Dialect, Encoder, output
from toolhand.models.wires.anthropic import AnthropicWire
from toolhand.models.wires.gemini import GeminiWire

A, B = Tool(name="a"), Tool(name="b")


def turn(call_id: str, opaque: Opaque | None = None, name: str = "a") -> tuple[Message, Message]:
    call = ToolCall(id=call_id, name=name, arguments={"x": 1})
    answer = ToolResult(call_id=call_id, name=name, outcome=Value(1))
    return assistant("", [call], opaque=opaque), Message(role="tool", parts=(answer,))


def sent(wire: Any, request: ModelRequest) -> Any:
    return json.loads(wire.body(request, streams=False))


# ------------------------------------------------------------------ what a server wants back

KEEPING = Dialect(keeps=("reasoning_content", "reasoning_details"))
CALL = {"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{}"}}


def test_reasoning_goes_back_to_the_model_that_reasoned_and_only_with_calls():
    message = {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [CALL]}
    found = output({"choices": [{"message": message}]}, (A,), KEEPING)
    assert found.opaque is not None
    assert found.opaque.data == {"reasoning_content": "hm"}
    assert output({"choices": [{"message": {**message, "tool_calls": None}}]}, (A,), KEEPING).opaque is None
    assert output({"choices": [{"message": message}]}, (A,)).opaque is None
    kept = Opaque(source="x", data=found.opaque.data)
    request = ModelRequest(messages=(user("q"), *turn("c1", kept)))
    assert sent(Encoder("m", source="x"), request)["messages"][1]["reasoning_content"] == "hm"
    assert "reasoning_content" not in sent(Encoder("m", source="y"), request)["messages"][1]


def test_reasoning_that_streams_is_put_together():
    streamed = StreamedOutput((A,), KEEPING)
    details = (
        [{"type": "text", "index": 0, "text": "h"}],
        [{"type": "text", "index": 0, "text": "m"}],
        [{"type": "sign", "index": 1, "data": "z"}],
    )
    for text, detail in zip("hm.", details, strict=True):
        streamed.feed({"choices": [{"delta": {"reasoning_content": text, "reasoning_details": detail}}]})
    streamed.feed({"choices": [{"delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]})
    kept = streamed.finish().opaque
    assert kept is not None
    assert kept.data == {
        "reasoning_content": "hm.",
        "reasoning_details": [
            {"type": "text", "index": 0, "text": "hm"},
            {"type": "sign", "index": 1, "data": "z"},
        ],
    }


# ------------------------------------------------------------------ ids, choices, names of fields


def test_ids_of_another_model_are_made_to_fit_and_still_pair():
    request = ModelRequest(messages=(user("q"), *turn("functions.a:0"), *turn("abcDEF123")))
    messages = sent(Encoder("m", Dialect(call_ids="[a-zA-Z0-9]{9}")), request)["messages"]
    odd, fitting = (messages[n]["tool_calls"][0]["id"] for n in (1, 3))
    assert re.fullmatch("[a-zA-Z0-9]{9}", odd)
    assert (messages[2]["tool_call_id"], messages[4]["tool_call_id"], fitting) == (
        odd,
        "abcDEF123",
        "abcDEF123",
    )
    content = sent(AnthropicWire("m", source="x", max_tokens=9), request)["messages"]
    assert content[1]["content"][0]["id"] == content[2]["content"][0]["tool_use_id"] == odd


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", (["a", "b"], "auto")),
        ("required", (["a", "b"], "auto")),
        ("b", (["b"], "auto")),
        ("none", (None, None)),
    ],
)
def test_a_server_that_takes_only_some_choices(choice, expected):
    request = ModelRequest(messages=(user("q"),), tools=(A, B), tool_choice=ToolChoice.of(choice))
    body = sent(Encoder("m", Dialect(tool_choices=("auto",))), request)
    names = [tool["function"]["name"] for tool in body["tools"]] if "tools" in body else None
    assert (names, body.get("tool_choice")) == expected


def test_another_name_for_the_seed():
    request = ModelRequest(messages=(user("q"),), sampling=Sampling(seed=3))
    assert sent(Encoder("m", Dialect(seed_key="random_seed")), request)["random_seed"] == 3


# ------------------------------------------------------------------ Gemini


def gemini(model: str = "gemini-3-pro", source: str = "x") -> GeminiWire:
    return GeminiWire(model, source=source)


def read(chunks: list[Any]) -> Any:
    incoming = gemini().incoming(ModelRequest(messages=(), tools=(A,)))
    for chunk in chunks:
        incoming.feed(chunk)
    return incoming.finish()


def candidate(*parts: Any, reason: str | None = None) -> Any:
    return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": reason}]}


def test_signatures_go_back_where_they_came_from():
    found = read([
        candidate({"text": "think", "thought": True}),
        candidate({"functionCall": {"name": "a", "args": {"x": 1}}, "thoughtSignature": "S1"}, {"functionCall": {"id": "k", "name": "a"}}),
        candidate({"text": "", "thoughtSignature": "S2"}, reason="STOP"),
    ])  # fmt: skip
    first, second = found.calls
    assert (found.thinking, found.text, second.id) == ("think", "", "k")
    assert found.opaque.data == {"signatures": {first.id: "S1"}, "text": "S2"}
    message = assistant(
        "hi",
        [ToolCall(id=c.id, name=c.name) for c in found.calls],
        opaque=Opaque(source="x", data=found.opaque.data),
    )
    parts = sent(gemini(), ModelRequest(messages=(user("q"), message)))["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == ["S2", "S1", None]
    assert [part["functionCall"].get("id") for part in parts[1:]] == [None, "k"], "an id of ours stays here"


def test_calls_that_nobody_signed_are_marked_for_the_models_that_ask():
    for model, source, signature in (
        ("gemini-3-pro", "y", "skip_thought_signature_validator"),
        ("gemini-2.5-flash", "y", None),
    ):
        request = ModelRequest(
            messages=(user("q"), *turn("c1", Opaque(source="x", data={"signatures": {"c1": "S"}})))
        )
        parts = sent(gemini(model, source), request)["contents"][1]["parts"]
        assert parts[0].get("thoughtSignature") == signature


def test_results_that_came_in_two_steps_are_sent_together():
    calls = [ToolCall(id="p", name="a"), ToolCall(id="q", name="b")]
    answers = [
        Message(role="tool", parts=(ToolResult(call_id=c.id, name=c.name, outcome=Value(1)),)) for c in calls
    ]
    contents = sent(gemini(), ModelRequest(messages=(user("q"), assistant("", calls), *answers)))["contents"]
    assert [len(content["parts"]) for content in contents] == [1, 2, 2]


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
def test_a_call_that_the_server_could_not_read_is_asked_for_again(reason):
    with pytest.raises(ModelError, match="could not read what its model wrote") as caught:
        read([candidate(reason=reason)])
    assert (caught.value.fault, caught.value.retryable) == (ModelFault.GARBLED, True)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        ("a", {"mode": "ANY", "allowedFunctionNames": ["a"]}),
        (["a"], {"mode": "VALIDATED", "allowedFunctionNames": ["a"]}),
    ],
)
def test_geminis_tool_choice(choice, expected):
    request = ModelRequest(messages=(user("q"),), tools=(A, B), tool_choice=ToolChoice.of(choice))
    assert sent(gemini(), request)["toolConfig"]["functionCallingConfig"] == expected


# ------------------------------------------------------------------ Anthropic


@pytest.mark.parametrize(
    ("choice", "thinking", "expected"),
    [
        ("auto", None, {"type": "auto"}),
        ("required", None, {"type": "any"}),
        ("a", None, {"type": "tool", "name": "a"}),
        ("none", None, {"type": "none"}),
        ("a", {"type": "adaptive"}, {"type": "auto"}),
    ],
)
def test_anthropics_tool_choice(choice, thinking, expected):
    wire = AnthropicWire("m", source="x", max_tokens=9, extra={"thinking": thinking} if thinking else None)
    body = sent(wire, ModelRequest(messages=(user("q"),), tools=(A, B), tool_choice=ToolChoice.of(choice)))
    assert body["tool_choice"] == expected


def anthropic_events(*events: Any) -> Any:
    incoming = AnthropicWire("m", source="x", max_tokens=9).incoming(ModelRequest(messages=(), tools=(A,)))
    shown = "".join(incoming.feed(event) for event in events)
    return shown, incoming.finish(), incoming


def test_deltas_without_an_index_go_on_with_the_last_block():
    shown, found, incoming = anthropic_events(
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hi"}},
        {
            "type": "content_block_start",
            "content_block": {"type": "tool_use", "id": "t", "name": "a", "input": {}},
        },
        {"type": "content_block_delta", "delta": {"partial_json": '{"x": '}},
        {"type": "content_block_delta", "delta": {"partial_json": "1}"}},
        {"type": "message_stop"},
    )
    assert (shown, found.text, found.calls[0].arguments) == ("hi", "hi", '{"x": 1}')
    assert incoming.is_finished


def test_thinking_is_kept_with_its_signature():
    _, found, _ = anthropic_events(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "redacted_thinking", "data": "zz"},
        },
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "t", "name": "a", "input": {"x": 1}},
        },
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
    )
    assert found.opaque.data["blocks"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "zz"},
        {"type": "tool_use", "id": "t"},
    ]
    assert (found.thinking, found.calls[0].arguments) == ("hm", {"x": 1})


def test_no_empty_text_is_sent_and_the_user_speaks_first():
    request = ModelRequest(messages=(assistant(""), user(" ")))
    messages = sent(AnthropicWire("m", source="x", max_tokens=9), request)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert all(json.dumps(message["content"]).strip('[]"{} ') for message in messages)
    assert '""' not in json.dumps(messages)


# ------------------------------------------------------------------ what servers say

SAID = [
    (
        400,
        "This model's maximum context length is 8192 tokens. However, you requested 9000",
        "context_overflow",
    ),
    (400, '{"code": "context_length_exceeded"}', "context_overflow"),
    (400, "prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"),
    (
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "context_overflow",
    ),
    (400, "the request exceeds the available context size, try increasing it", "context_overflow"),
    (400, "Range of input length should be [1, 129024]", "context_overflow"),
    (400, "Invalid request: Your request exceeded model token limit: 8192", "context_overflow"),
    (400, '{"error":{"code":"1261","message":"Prompt 超长"}}', "context_overflow"),
    (
        400,
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "context_overflow",
    ),
    (
        400,
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy",
        "content_filter",
    ),
    (400, '{"code": "data_inspection_failed"}', "content_filter"),
    (400, "Content Exists Risk", "content_filter"),
    (400, "系统检测到输入或生成内容可能包含不安全或敏感内容", "content_filter"),
    (429, "You exceeded your current quota, please check your plan and billing details", "quota"),
    (402, "Insufficient Balance", "quota"),
    (429, "余额不足或无可用资源包，请充值", "quota"),
    (400, "Your credit balance is too low to access the Anthropic API", "quota"),
    (400, "Arrearage: access denied", "quota"),
    (400, "API key not valid. Please pass a valid API key.", "key"),
    (401, "Authentication Fails", "key"),
    (400, "Model Not Exist", "unknown_model"),
    (400, "foo/bar is not a valid model ID", "unknown_model"),
    (404, "The model `x` does not exist or you do not have access to it.", "unknown_model"),
    (404, 'model "x" not found, try pulling it first', "unknown_model"),
    (503, "Loading model", "failed"),
    (None, "Overloaded", "overloaded"),
    (None, "Rate limit reached for requests", "rate_limited"),
    (None, "something broke", "failed"),
    (400, "this feature is currently unavailable", "refused"),
    (400, "rate_limit must be a number", "refused"),
    (418, "teapot", "refused"),
    (599, "odd", "failed"),
]


@pytest.mark.parametrize(("status", "words", "fault"), SAID)
def test_what_a_server_means(status, words, fault):
    assert fault_of(status, words) == fault


def test_a_quota_that_comes_back_soon_is_a_rate():
    body = {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota",
            "details": [{"@type": "RetryInfo", "retryDelay": "37.5s"}],
        }
    }
    wait = wait_in(body)
    assert wait == 37.5
    assert fault_of(429, json.dumps(body), says_when=wait is not None) is ModelFault.RATE_LIMITED
    assert wait_in({"error": {"message": "Please try again in 250ms."}}) == 0.25
    assert wait_in("nothing") is None


def test_what_passes():
    assert {ModelFault.KEY, ModelFault.QUOTA, ModelFault.CONTEXT_OVERFLOW, ModelFault.UNTRUSTED}.isdisjoint(
        PASSING
    )


# ------------------------------------------------------------------ presets


@pytest.mark.parametrize("name", sorted(providers()))
def test_every_preset_gives_a_model_or_says_what_it_needs(name, monkeypatch):
    preset = providers()[name]
    monkeypatch.delenv(preset["key_variable"], raising=False)
    if preset.get("needs_key", True):
        with pytest.raises(
            SettingsError, match=f"{preset['key_variable']}|{preset.get('base_variable', '-')}"
        ):
            resolve(f"{name}:m")
    monkeypatch.setenv(preset["key_variable"], "k")
    if "base_variable" in preset:
        monkeypatch.setenv(preset["base_variable"], "https://own.example/")
    model = resolve(f"{name}:m")
    assert model.name == f"{name}:m"
    assert "own.example" in repr(model) or "base_variable" not in preset
    assert f"{name}:<model>" in spellings()


def test_azure(monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(SettingsError, match="AZURE_OPENAI_ENDPOINT"):
        resolve("azure:gpt")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com")
    model: Any = resolve("azure:gpt")
    assert str(model._urls[False]) == "https://me.openai.azure.com/openai/v1/chat/completions"
    assert model._headers["api-key"] == "k"
    assert "Authorization" not in model._headers


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("responses", "OPENAI_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
    ],
)
def test_the_adapters_say_what_they_need(name, variable, monkeypatch):
    for other in (
        "ANTHROPIC_BASE_URL",
        "GEMINI_BASE_URL",
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "GOOGLE_API_KEY",
        variable,
    ):
        monkeypatch.delenv(other, raising=False)
    with pytest.raises(SettingsError, match=f"needs an API key: set {variable}"):
        resolve(f"{name}:m")
    with pytest.raises(SettingsError, match="needs a model's name behind it"):
        resolve(f"{name}:", api_key="k")
    assert resolve(f"{name}:m", api_key="k").name == f"{name}:m"


async def test_a_run_on_strict_tools_leaves_out_what_is_null():
    model: Any = resolve("openai:m", base_url="http://127.0.0.1:1/v1", strict=True)
    tool = Tool(
        name="f",
        parameters={
            "type": "object",
            "properties": {"a": {"type": "string"}, "n": {"type": "integer", "default": 3}},
            "required": ["a"],
        },
    )
    request = ModelRequest(messages=(user("q"),), tools=(tool,))
    declared = json.loads(model.wire.body(request, streams=False))["tools"][0]["function"]
    assert declared["strict"] is True
    assert declared["parameters"]["required"] == ["a", "n"]
    call = {"id": "c", "function": {"name": "f", "arguments": '{"a": "x", "n": null}'}}
    found = model.wire.whole({"choices": [{"message": {"tool_calls": [call]}}]}, request)
    assert found.calls[0].arguments == {"a": "x"}
    await model.close()
