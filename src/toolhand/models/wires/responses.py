"""OpenAI's Responses API, both directions, no I/O.

Source: https://platform.openai.com/docs/api-reference/responses. Nothing is kept at the provider: the history is sent whole,
with the encrypted reasoning that it gave.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
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
    Usage,
)
from toolhand.core.tools import ToolChoice
from toolhand.models.faults import quoted, refuse_error
from toolhand.models.grammars import strict_schema
from toolhand.models.rendered import RenderedHistories
from toolhand.models.wire import count, json_bytes, opaque_of, text_of, wire_id
from toolhand.models.wires.declared import Declared, one_named, pieces_of
from toolhand.tools.export import wire_name

_REASONS: Final = re.compile(r"^(?:o\d|gpt-(?:[5-9]|\d\d)|gpt-oss|codex)")
"""Models that give their reasoning back encrypted; the others refuse to be asked for it."""

CALL_IDS: Final = r"[^\s]{1,64}"

_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})

_SAID: Final = frozenset({"response.output_text.delta", "response.refusal.delta"})

_INCOMPLETE: Final[Mapping[str, FinishReason]] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}


class ResponsesWire:
    """OpenAI's Responses API.

    Args:
        model: the model's name there.
        source: the model's name among people: what was kept in a history for another model is left out.
        strict: whether the server holds the model to the tools' schemas.
        extra: further fields for every request's body, such as `reasoning`.
    """

    def __init__(
        self, model: str, *, source: str, strict: bool = False, extra: Mapping[str, Any] | None = None
    ) -> None:
        self.model = model
        self._source = source
        reasons = {"include": ["reasoning.encrypted_content"]} if _REASONS.match(model) else {}
        self._extra = {"store": False, **reasons, **(extra or {})}
        self._declared = Declared("responses-strict" if strict else "responses")
        self._histories = RenderedHistories(self._message)

    def url(self, base: URL, *, streams: bool) -> URL:
        """One address for everything."""
        del streams
        return base / "responses"

    def headers(self, api_key: str) -> Mapping[str, str]:
        """A bearer token."""
        return {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def body(self, request: ModelRequest, *, streams: bool) -> bytes:
        """The request as JSON, in UTF-8."""
        declared = self._declared.written(
            request.tools
        )  # first: the history's calls are written in the tools' form
        messages, sampling = request.messages, request.sampling
        start = next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))
        settings: dict[str, Any] = {
            "instructions": "\n\n".join(message.text for message in messages[:start]) or None,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_output_tokens": sampling.max_tokens,
            "tool_choice": _choice(request.tool_choice) if request.tools else None,
            "text": _format(request.grammar),
            "stream": streams or None,
        }
        settings = {key: value for key, value in settings.items() if value is not None}
        before = b'{"model":' + json_bytes(self.model) + b',"input":['
        after = b"]" + (b',"tools":' + declared if request.tools else b"")
        after += b"," + json_bytes({**self._extra, **settings})[1:]
        return self._histories.joined(messages[start:], request.language, before=before, after=after)

    def _message(self, message: Message, language: Language) -> bytes:
        notes = "\n\n".join(part.text for part in message.parts if isinstance(part, Note))
        noted = [{"role": "user", "content": notes}] if notes else []
        if message.role == "assistant":
            spoken = self._spoken(message)
            items = [*noted, *spoken] if message.calls else [*spoken, *noted]
        else:
            said = [{"role": "user", "content": message.text}] if message.text else []
            results = [
                {
                    "type": "function_call_output",
                    "call_id": wire_id(result.call_id, CALL_IDS),
                    "output": result_text(result, language),
                }
                for result in message.results
            ]
            items = [*results, *said, *noted] or [{"role": "user", "content": ""}]
        return b",".join(json_bytes(item) for item in items)

    def _spoken(self, message: Message) -> list[dict[str, Any]]:
        """An assistant's message as items: in the order in which they came where that is known."""
        calls = {
            call.id: {
                "type": "function_call",
                "call_id": wire_id(call.id, CALL_IDS),
                "name": wire_name(call.name),
                "arguments": json.dumps(self._declared.arguments(call), ensure_ascii=False),
            }
            for call in message.calls
        }
        skeleton = opaque_of(message, self._source).get("items") or [
            {"type": "message", "length": len(message.text)}
        ]
        lengths = [item["length"] for item in skeleton if item["type"] == "message"]
        texts = iter(pieces_of(message.text, lengths or [len(message.text)]))
        items: list[dict[str, Any]] = []
        for item in skeleton:
            if item["type"] == "message":
                items += _said(next(texts, ""))
            elif item["type"] != "function_call":
                items.append(item)
            elif (call := calls.pop(item["call_id"], None)) is not None:
                items.append(call)
        items += [*_said("".join(texts)), *calls.values()]
        return items or [{"role": "assistant", "content": ""}]

    def whole(self, body: Any, request: ModelRequest) -> ModelOutput:
        """A whole answer.

        Raises:
            ModelError: when it holds an error, or no reply.
        """
        if isinstance(body, Mapping):
            refuse_error(body)
            _refuse_status(body.get("status"))
        items = body.get("output") if isinstance(body, Mapping) else None
        if not isinstance(items, list):
            raise ModelError(
                say(
                    f"the model's server answered without a reply in it: {quoted(json.dumps(body, ensure_ascii=False))}",
                    f"模型服务的回答里没有内容：{quoted(json.dumps(body, ensure_ascii=False))}",
                ),
                fault=ModelFault.GARBLED,
                retryable=True,
            )
        return self._read(items, body, request)

    def _read(self, items: Sequence[Any], body: Mapping[str, Any], request: ModelRequest) -> ModelOutput:
        texts, calls, thoughts, skeleton = [], [], [], []
        for item in items:
            kind = item.get("type") if isinstance(item, Mapping) else None
            if kind == "message":
                texts.append(text_of(item.get("content")))
                skeleton.append({"type": "message", "length": len(texts[-1])})
            elif kind == "function_call":
                sent = item.get("arguments")
                raw = RawCall(
                    id=str(item.get("call_id") or item.get("id") or ""),
                    name=str(item.get("name") or ""),
                    arguments=sent if isinstance(sent, str | Mapping) else None,
                )
                calls.append(self._declared.own(raw, request.tools))
                skeleton.append({"type": "function_call", "call_id": raw.id})
            elif kind == "reasoning":
                thoughts += _thoughts(item)
                # Without its content an item's id means nothing to a provider that keeps nothing.
                if item.get("encrypted_content"):
                    skeleton.append({key: value for key, value in item.items() if key != "status"})
        is_plain = all(item["type"] in ("message", "function_call") for item in skeleton)
        return ModelOutput(
            text="".join(texts),
            calls=tuple(calls),
            finish_reason=_reason(body, has_calls=bool(calls)),
            usage=_usage(body.get("usage")),
            thinking="\n".join(thoughts),
            opaque=None if is_plain else Opaque(source="", data={"items": skeleton}),
        )

    def incoming(self, request: ModelRequest) -> ResponsesIncoming:
        """A reader for one streamed answer."""
        return ResponsesIncoming(self, request)


def _choice(choice: ToolChoice) -> Any:
    if not choice.names or choice.mode == "none":
        return choice.mode
    if name := one_named(choice):
        return {"type": "function", "name": wire_name(name)}
    names = [{"type": "function", "name": wire_name(name)} for name in choice.names]
    return {"type": "allowed_tools", "mode": choice.mode, "tools": names}


def _format(grammar: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if grammar is None:
        return None
    closed = strict_schema(grammar)
    schema = {"schema": grammar, "strict": False} if closed is None else {"schema": closed, "strict": True}
    return {"format": {"type": "json_schema", "name": "reply", **schema}}


def _said(text: str) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": text}] if text else []


def _thoughts(item: Mapping[str, Any]) -> list[str]:
    """The summary that a provider gives, or else the thoughts themselves, which servers of one's own give."""
    parts = item.get("summary") or item.get("content")
    told = [
        text_of(part.get("text") if isinstance(part, Mapping) else part)
        for part in (parts if isinstance(parts, list) else [parts])
    ]
    return [text for text in told if text]


def _refuse_status(status: Any) -> None:
    if status in ("failed", "cancelled"):
        raise ModelError(
            say(f"the model's server ended its reply: {status}", f"模型服务结束了回答：{status}"),
            fault=ModelFault.FAILED,
            retryable=True,
        )


def _reason(body: Mapping[str, Any], *, has_calls: bool) -> FinishReason:
    details = body.get("incomplete_details")
    if body.get("status") == "incomplete":
        why = details.get("reason") if isinstance(details, Mapping) else None
        return _INCOMPLETE.get(str(why), "length")
    return "tool_calls" if has_calls else "stop"


def _usage(counts: Any) -> Usage:
    if not isinstance(counts, Mapping):
        return Usage(requests=1)
    details = counts.get("input_tokens_details")
    return Usage(
        requests=1,
        input_tokens=count(counts.get("input_tokens")),
        output_tokens=count(counts.get("output_tokens")),
        cached_tokens=count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0,
    )


class ResponsesIncoming:
    """Takes the events of one streamed reply. The last one holds it whole."""

    def __init__(self, wire: ResponsesWire, request: ModelRequest) -> None:
        self._wire, self._request = wire, request
        self._items: dict[int, Any] = {}
        self._begun: dict[int, Mapping[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._body: Mapping[str, Any] | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the last event has come."""
        return self._body is not None

    is_over = is_finished

    def feed(self, event: Any) -> str:
        """Takes a parsed event; gives its piece of the text, which may be empty.

        Raises:
            ModelError: when the event is an error.
        """
        if not isinstance(event, Mapping):
            return ""
        kind, body = event.get("type"), event.get("response")
        if kind == "error":
            refuse_error(event if event.get("error") else {"error": event})
        refuse_error(event)
        index, delta = event.get("output_index"), event.get("delta")
        index = index if isinstance(index, int) else len(self._items)
        if isinstance(delta, str):
            self._pieces.setdefault((index, str(kind)), []).append(delta)
            return delta if kind in _SAID else ""
        if kind == "response.output_item.done":
            self._items[index] = event.get("item")
        elif kind == "response.output_item.added" and isinstance(event.get("item"), Mapping):
            self._begun[index] = event["item"]
        elif kind in _ENDS:
            self._body = body if isinstance(body, Mapping) else {}
            refuse_error(self._body)
        return ""

    def finish(self) -> ModelOutput:
        """The whole output."""
        body = self._body or {}
        items = body.get("output")
        if not items:
            told = {**self._put_together(), **self._items}
            items = [told[index] for index in sorted(told)]
        return self._wire.whole({**body, "output": items}, self._request)

    def _put_together(self) -> dict[int, Any]:
        """Items out of their pieces, for servers that never send them whole."""
        found: dict[int, Any] = {}
        for (index, kind), pieces in self._pieces.items():
            begun = self._begun.get(index, {})
            if kind in _SAID:
                found[index] = {"type": "message", "content": "".join(pieces)}
            elif kind == "response.function_call_arguments.delta":
                found[index] = {**begun, "type": "function_call", "arguments": "".join(pieces)}
        return found
