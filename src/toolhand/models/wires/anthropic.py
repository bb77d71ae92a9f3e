"""Anthropic's Messages API, both directions, no I/O.

Source: https://docs.anthropic.com/en/api/messages and …/messages-streaming. Thinking blocks go back as they came: the API
refuses a call's result without the signed thinking before the call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from yarl import URL

from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.jsonable import result_text
from toolhand.core.language import Language, say
from toolhand.core.messages import (
    FinishReason,
    Message,
    ModelOutput,
    ModelRequest,
    Note,
    Opaque,
    RawCall,
    ToolResult,
    Usage,
)
from toolhand.core.tools import ToolChoice
from toolhand.models.faults import quoted, refuse_error
from toolhand.models.grammars import strict_schema
from toolhand.models.rendered import RenderedHistories
from toolhand.models.wire import count, json_bytes, opaque_of, wire_id
from toolhand.models.wires.declared import Declared, allowed, one_named, pieces_of
from toolhand.tools.export import wire_name

VERSION: Final = "2023-06-01"

CALL_IDS: Final = r"[a-zA-Z0-9_-]+"

NOTHING: Final = "…"
"""In the place of an empty text, which the API refuses."""

_FINISH: Final[Mapping[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


class AnthropicWire:
    """Anthropic's Messages API.

    Args:
        model: the model's name there.
        source: the model's name among people: what was kept in a history for another model is left out.
        max_tokens: the bound on a reply's length where a request sets none; the API asks for one.
        caches: whether the provider is asked to cache what a conversation begins with.
        extra: further fields for every request's body, such as `thinking`.
    """

    def __init__(
        self,
        model: str,
        *,
        source: str,
        max_tokens: int,
        caches: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self._source = source
        self._max_tokens = max_tokens
        self._extra = {**({"cache_control": {"type": "ephemeral"}} if caches else {}), **(extra or {})}
        self._declared = Declared("anthropic")
        self._histories = RenderedHistories(self._message)

    def url(self, base: URL, *, streams: bool) -> URL:
        """`/v1/messages`, whether or not the base ends with "/v1"."""
        del streams
        return base / "messages" if base.name == "v1" else base / "v1" / "messages"

    def headers(self, api_key: str) -> Mapping[str, str]:
        """The key in a header of its own."""
        return {"anthropic-version": VERSION, **({"x-api-key": api_key} if api_key else {})}

    def body(self, request: ModelRequest, *, streams: bool) -> bytes:
        """The request as JSON, in UTF-8."""
        tools = allowed(request.tools, request.tool_choice)
        declared = self._declared.written(tools)  # first: the history's calls are written in the tools' form
        settings = self._settings(request, streams=streams)
        if tools:
            settings["tool_choice"] = self._choice(request.tool_choice)
        messages = request.messages
        start = next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))
        if start:
            settings["system"] = "\n\n".join(message.text for message in messages[:start])
        before = b'{"model":' + json_bytes(self.model) + b',"messages":['
        if start < len(messages) and messages[start].role == "assistant":
            before += json_bytes({"role": "user", "content": NOTHING}) + b","
        after = b"]" + (b',"tools":' + declared if tools else b"") + b"," + json_bytes(settings)[1:]
        return self._histories.joined(messages[start:], request.language, before=before, after=after)

    def _settings(self, request: ModelRequest, *, streams: bool) -> dict[str, Any]:
        sampling = request.sampling
        schema = None if request.grammar is None else strict_schema(request.grammar)
        settings: dict[str, Any] = {
            "max_tokens": sampling.max_tokens or self._max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "stop_sequences": [stop for stop in request.stop if stop.strip()] or None,
            "output_config": None
            if schema is None
            else {"format": {"type": "json_schema", "schema": schema}},
            "stream": streams or None,
        }
        settings = {key: value for key, value in settings.items() if value is not None}
        return {**self._extra, **settings}

    def _choice(self, choice: ToolChoice) -> dict[str, Any]:
        name = one_named(choice)
        thinking = self._extra.get("thinking")
        thinks = isinstance(thinking, Mapping) and thinking.get("type") != "disabled"
        if choice.mode != "required" or thinks:  # a model that thinks cannot be forced
            return {"type": "none" if choice.mode == "none" else "auto"}
        return {"type": "any"} if name is None else {"type": "tool", "name": wire_name(name)}

    def _message(self, message: Message, language: Language) -> bytes:
        role = "assistant" if message.role == "assistant" else "user"
        notes = [_text(part.text) for part in message.parts if isinstance(part, Note) and part.text.strip()]
        if role == "user":
            results = [_result(result, language) for result in message.results]
            said = [_text(message.text)] if message.text.strip() else []
            content = [*results, *said, *notes] or [_text(NOTHING)]
            if len(content) == 1 and content[0]["type"] == "text":
                return json_bytes({"role": role, "content": content[0]["text"]})
            return json_bytes({"role": role, "content": content})
        spoken = json_bytes({"role": role, "content": self._spoken(message) or [_text(NOTHING)]})
        if not notes:
            return spoken
        noted = json_bytes({"role": "user", "content": notes})
        return b",".join((noted, spoken) if message.calls else (spoken, noted))

    def _spoken(self, message: Message) -> list[dict[str, Any]]:
        """An assistant's message as blocks: in the order in which they came where that is known."""
        calls = {
            call.id: {
                "type": "tool_use",
                "id": wire_id(call.id, CALL_IDS),
                "name": wire_name(call.name),
                "input": self._declared.arguments(call),
            }
            for call in message.calls
        }
        skeleton = opaque_of(message, self._source).get("blocks") or [
            {"type": "text", "length": len(message.text)}
        ]
        lengths = [block["length"] for block in skeleton if block["type"] == "text"]
        texts = iter(pieces_of(message.text, lengths or [len(message.text)]))
        content: list[dict[str, Any]] = []
        for block in skeleton:
            if block["type"] == "text":
                content += _said(next(texts, ""))
            elif block["type"] != "tool_use":
                content.append(block)
            elif (call := calls.pop(block["id"], None)) is not None:
                content.append(call)
        rest = "".join(texts)
        return [*content, *_said(rest), *calls.values()]

    def whole(self, body: Any, request: ModelRequest) -> ModelOutput:
        """A whole answer.

        Raises:
            ModelError: when it holds an error, or no reply.
        """
        if isinstance(body, Mapping):
            refuse_error(body)
        blocks = body.get("content") if isinstance(body, Mapping) else None
        blocks = [_text(blocks)] if isinstance(blocks, str) else blocks
        if not isinstance(blocks, list):
            raise ModelError(
                say(
                    f"the model's server answered without a reply in it: {quoted(json.dumps(body, ensure_ascii=False))}",
                    f"模型服务的回答里没有内容：{quoted(json.dumps(body, ensure_ascii=False))}",
                ),
                fault=ModelFault.GARBLED,
                retryable=True,
            )
        incoming = self.incoming(request)
        for number, block in enumerate(blocks):
            incoming.feed({"type": "content_block_start", "index": number, "content_block": block})
        delta = {"stop_reason": body.get("stop_reason")}
        incoming.feed({"type": "message_delta", "delta": delta, "usage": body.get("usage")})
        return incoming.finish()

    def incoming(self, request: ModelRequest) -> AnthropicIncoming:
        """A reader for one streamed answer."""
        return AnthropicIncoming(request, self._declared)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _said(text: str) -> list[dict[str, Any]]:
    return [_text(text)] if text.strip() else []


def _result(result: ToolResult, language: Language) -> dict[str, Any]:
    block = {
        "type": "tool_result",
        "tool_use_id": wire_id(result.call_id, CALL_IDS),
        "content": result_text(result, language),
    }
    return block if result.ok else {**block, "is_error": True}


def _object(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}


class AnthropicIncoming:
    """Takes the events of one streamed reply."""

    is_over = False

    def __init__(self, request: ModelRequest, declared: Declared) -> None:
        self._request, self._declared = request, declared
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._usage: dict[str, Any] = {}
        self._reason: str | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the reason for its end has come."""
        return self._reason is not None or self.is_over

    def feed(self, event: Any) -> str:
        """Takes a parsed event; gives its piece of the text, which may be empty.

        Raises:
            ModelError: when the event is an error.
        """
        if not isinstance(event, Mapping):
            return ""
        refuse_error(event)
        kind = event.get("type")
        if kind == "content_block_start":
            return self._start(event)
        if kind == "content_block_delta":
            return self._delta(event)
        if kind == "message_start":
            message = event.get("message")
            self._count(message.get("usage") if isinstance(message, Mapping) else None)
        elif kind == "message_delta":
            delta = event.get("delta")
            if isinstance(delta, Mapping) and delta.get("stop_reason"):
                self._reason = str(delta["stop_reason"])
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self.is_over = True
        return ""

    def _start(self, event: Mapping[str, Any]) -> str:
        block = event.get("content_block")
        if not isinstance(block, Mapping):
            return ""
        index = event.get("index")
        self._blocks[index if isinstance(index, int) else len(self._blocks)] = dict(block)
        return str(block.get("text") or "") if block.get("type") == "text" else ""

    def _delta(self, event: Mapping[str, Any]) -> str:
        delta, index = event.get("delta"), event.get("index")
        if not isinstance(delta, Mapping):
            return ""
        if not isinstance(index, int) or index not in self._blocks:
            if "text" in delta and not any(b.get("type") == "text" for b in self._blocks.values()):
                self._blocks[len(self._blocks)] = {"type": "text", "text": ""}
            if not self._blocks:
                return ""
            index = max(self._blocks)
        block = self._blocks[index]
        for key in ("text", "thinking", "signature", "partial_json"):
            if isinstance(delta.get(key), str):
                self._pieces.setdefault((index, key), []).append(delta[key])
        text = delta.get("text")
        return text if isinstance(text, str) and block.get("type") == "text" else ""

    def _count(self, usage: Any) -> None:
        if isinstance(usage, Mapping):
            self._usage |= {key: value for key, value in usage.items() if value is not None}

    def finish(self) -> ModelOutput:
        """The whole output."""
        calls, skeleton, texts, thoughts = [], [], [], []
        for (index, key), pieces in self._pieces.items():
            self._blocks[index][key] = str(self._blocks[index].get(key) or "") + "".join(pieces)
        self._pieces.clear()
        for block in self._blocks.values():
            if block.get("type") != "tool_use" and "partial_json" in block:
                block["input"] = _object(block.pop("partial_json"))  # a tool of the provider's own
        for block in self._blocks.values():
            kind = block.get("type")
            if kind == "text":
                texts.append(str(block.get("text") or ""))
                skeleton.append({"type": "text", "length": len(texts[-1])})
            elif kind == "tool_use":
                sent = block.get("partial_json") or block.get("input")
                raw = RawCall(
                    id=str(block.get("id") or ""),
                    name=str(block.get("name") or ""),
                    arguments=sent if isinstance(sent, str | Mapping) else None,
                )
                calls.append(self._declared.own(raw, self._request.tools))
                skeleton.append({"type": "tool_use", "id": raw.id})
            else:
                skeleton.append(block)
                thoughts.append(str(block.get("thinking") or ""))
        is_plain = all(block["type"] in ("text", "tool_use") for block in skeleton)
        reason = _FINISH.get(self._reason or "", "unknown")
        if calls and reason in ("stop", "unknown"):
            reason = "tool_calls"
        return ModelOutput(
            text="".join(texts),
            calls=tuple(calls),
            finish_reason="stop" if reason == "unknown" and not self._reason else reason,
            usage=self._totals(),
            thinking="".join(thoughts),
            opaque=None if is_plain else Opaque(source="", data={"blocks": skeleton}),
        )

    def _totals(self) -> Usage:
        """The counts. The prompt's tokens are told in three parts."""
        read, written = (
            count(self._usage.get(f"cache_{what}_input_tokens")) for what in ("read", "creation")
        )
        return Usage(
            requests=1,
            input_tokens=count(self._usage.get("input_tokens")) + read + written,
            output_tokens=count(self._usage.get("output_tokens")),
            cached_tokens=read,
            cache_write_tokens=written,
        )
