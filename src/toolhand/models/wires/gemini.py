"""Google's generateContent, both directions, no I/O.

Source: https://ai.google.dev/api/generate-content. What the model signs (`thoughtSignature`) goes back where it came from: newer
models refuse a call in the history without it.
"""

from __future__ import annotations

import json
import re
import uuid
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
from toolhand.models.rendered import Glue, RenderedHistories
from toolhand.models.wire import count, json_bytes, opaque_of
from toolhand.models.wires.declared import Declared
from toolhand.tools.export import wire_name

OWN_IDS: Final = "gemini_"
"""How ids begin that are ours because the provider sent none; it does not get them back."""

# What a call gets that another model made: https://ai.google.dev/gemini-api/docs/thought-signatures.
_UNSIGNED: Final = "skip_thought_signature_validator"
_ASKS_FOR_SIGNATURES: Final = re.compile(r"gemini-(?:[3-9]|\d\d)")

_FINISH: Final[Mapping[str, FinishReason]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
}

_BROKEN: Final = frozenset(
    {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE"}
)
"""The model wrote something that the provider could not read, and keeps to itself."""


class GeminiWire:
    """Google's generateContent.

    Args:
        model: the model's name there.
        source: the model's name among people: what was kept in a history for another model is left out.
        extra: further fields of `generationConfig`, such as `thinkingConfig`.
    """

    def __init__(self, model: str, *, source: str, extra: Mapping[str, Any] | None = None) -> None:
        self.model = model
        self._source = source
        self._extra = dict(extra or {})
        self._asks_for_signatures = _ASKS_FOR_SIGNATURES.search(model) is not None
        self._declared = Declared("gemini")
        self._histories = RenderedHistories(self._message, glue=_RESULTS)

    def url(self, base: URL, *, streams: bool) -> URL:
        """The model and what it shall do stand in the path."""
        folder = base if "/" in self.model else base / "models"
        if streams:
            return folder / f"{self.model}:streamGenerateContent" % {"alt": "sse"}
        return folder / f"{self.model}:generateContent"

    def headers(self, api_key: str) -> Mapping[str, str]:
        """The key in a header of its own, so that no log of addresses holds it."""
        return {"x-goog-api-key": api_key} if api_key else {}

    def body(self, request: ModelRequest, *, streams: bool) -> bytes:
        """The request as JSON, in UTF-8."""
        del streams
        declared = self._declared.written(
            request.tools
        )  # first: the history's calls are written in the tools' form
        messages = request.messages
        start = next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))
        more: dict[str, Any] = {}
        if start:
            said = "\n\n".join(message.text for message in messages[:start])
            more["systemInstruction"] = {"parts": [{"text": said}]}
        if config := self._config(request):
            more["generationConfig"] = config
        after = b"]"
        if request.tools:
            after += b',"tools":[{"functionDeclarations":' + declared + b"}]"
            more["toolConfig"] = {"functionCallingConfig": _choice(request.tool_choice)}
        after += b"," + json_bytes(more)[1:] if more else b"}"
        return self._histories.joined(
            messages[start:], request.language, before=b'{"contents":[', after=after
        )

    def _config(self, request: ModelRequest) -> dict[str, Any]:
        sampling = request.sampling
        config = {
            "temperature": sampling.temperature,
            "topP": sampling.top_p,
            "maxOutputTokens": sampling.max_tokens,
            "seed": sampling.seed,
            "stopSequences": list(request.stop)[:5] or None,
            "responseMimeType": None if request.grammar is None else "application/json",
            "responseJsonSchema": request.grammar,
        }
        return {**self._extra, **{key: value for key, value in config.items() if value is not None}}

    def _message(self, message: Message, language: Language) -> bytes:
        notes = [{"text": part.text} for part in message.parts if isinstance(part, Note)]
        if message.role == "assistant":
            spoken = {"role": "model", "parts": self._spoken(message)}
            noted = [{"role": "user", "parts": notes}] if notes else []
            entries = [*noted, spoken] if message.calls else [spoken, *noted]
            return b",".join(json_bytes(entry) for entry in entries)
        results = [_result(result, language) for result in message.results]
        said = [{"text": message.text}] if message.text else []
        return json_bytes({"role": "user", "parts": [*results, *said, *notes] or [{"text": ""}]})

    def _spoken(self, message: Message) -> list[dict[str, Any]]:
        kept = opaque_of(message, self._source)
        signatures: Mapping[str, str] = kept.get("signatures") or {}
        parts: list[dict[str, Any]] = []
        if message.text or not message.calls:
            signed = {"thoughtSignature": kept["text"]} if kept.get("text") else {}
            parts.append({"text": message.text, **signed})
        for number, call in enumerate(message.calls):
            asked = {
                "name": wire_name(call.name),
                "args": self._declared.arguments(call),
                **_identity(call.id),
            }
            part: dict[str, Any] = {"functionCall": asked}
            if call.id in signatures:
                part["thoughtSignature"] = signatures[call.id]
            elif number == 0 and self._asks_for_signatures:
                part["thoughtSignature"] = _UNSIGNED
            parts.append(part)
        return parts

    def whole(self, body: Any, request: ModelRequest) -> ModelOutput:
        """A whole answer.

        Raises:
            ModelError: when it holds an error, or no reply.
        """
        incoming = self.incoming(request)
        for chunk in body if isinstance(body, list) else [body]:  # a list where it would have streamed
            incoming.feed(chunk)
        if not incoming.is_finished:
            raise ModelError(
                say(
                    f"the model's server answered without a reply in it: {quoted(json.dumps(body, ensure_ascii=False))}",
                    f"模型服务的回答里没有内容：{quoted(json.dumps(body, ensure_ascii=False))}",
                ),
                fault=ModelFault.GARBLED,
                retryable=True,
            )
        return incoming.finish()

    def incoming(self, request: ModelRequest) -> GeminiIncoming:
        """A reader for one streamed answer."""
        return GeminiIncoming(request, self._declared)


def _choice(choice: ToolChoice) -> dict[str, Any]:
    mode = {"auto": "AUTO", "required": "ANY", "none": "NONE"}[choice.mode]
    if not choice.names or choice.mode == "none":
        return {"mode": mode}
    # Only a model that is held to its tools takes a list of allowed ones.
    names = [wire_name(name) for name in choice.names]
    return {"mode": "VALIDATED" if mode == "AUTO" else mode, "allowedFunctionNames": names}


def _identity(call_id: str) -> dict[str, str]:
    return {} if call_id.startswith((OWN_IDS, "call_")) else {"id": call_id}


def _result(result: ToolResult, language: Language) -> dict[str, Any]:
    told = {"output" if result.ok else "error": result_text(result, language)}
    answer = {"name": wire_name(result.name), "response": told, **_identity(result.call_id)}
    return {"functionResponse": answer}


def _belongs_together(before: Message, message: Message) -> bool:
    """Whether results came in two steps: the API wants all of a reply's results in one entry."""
    return before.role == "tool" and message.role == "tool"


# As `_message` writes them.
_RESULTS: Final = Glue(_belongs_together, head=b'{"role":"user","parts":[', tail=b"]}")


class GeminiIncoming:
    """Takes the chunks of one streamed reply. Calls come whole; a signature may come alone, behind what it signs."""

    is_over = False

    def __init__(self, request: ModelRequest, declared: Declared) -> None:
        self._request, self._declared = request, declared
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[RawCall] = []
        self._signatures: dict[str, str] = {}
        self._text_signature = ""
        self._reason: str | None = None
        self._usage: Any = None

    @property
    def is_finished(self) -> bool:
        """Whether a finish reason has come."""
        return self._reason is not None

    def feed(self, chunk: Any) -> str:
        """Takes a parsed chunk; gives its piece of the text, which may be empty.

        Raises:
            ModelError: when the chunk is an error, or says that the model's call could not be read.
        """
        if not isinstance(chunk, Mapping):
            return ""
        refuse_error(chunk)
        if isinstance(chunk.get("usageMetadata"), Mapping):
            self._usage = chunk["usageMetadata"]
        blocked = chunk.get("promptFeedback")
        if isinstance(blocked, Mapping) and blocked.get("blockReason"):
            self._reason = "SAFETY"
        candidates = chunk.get("candidates")
        candidate = next(iter(candidates), None) if isinstance(candidates, list) else None
        if not isinstance(candidate, Mapping):
            return ""
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, Mapping) else None
        text = "".join([self._part(part) for part in parts if isinstance(part, Mapping)] if parts else [])
        if candidate.get("finishReason"):
            self._reason = str(candidate["finishReason"])
            self._check(candidate)
        return text

    def _check(self, candidate: Mapping[str, Any]) -> None:
        if self._reason in _BROKEN and not self._calls:
            said = quoted(str(candidate.get("finishMessage") or self._reason))
            raise ModelError(
                say(
                    f"the model's server could not read what its model wrote: {said}",
                    f"模型服务读不懂它的模型写的内容：{said}",
                ),
                fault=ModelFault.GARBLED,
                retryable=True,
            )

    def _part(self, part: Mapping[str, Any]) -> str:
        signature, call = part.get("thoughtSignature"), part.get("functionCall")
        text = part.get("text")
        text = text if isinstance(text, str) else ""
        if isinstance(call, Mapping):
            call_id = str(call.get("id") or f"{OWN_IDS}{uuid.uuid4().hex[:12]}")
            arguments = call.get("args")
            raw = RawCall(
                id=call_id,
                name=str(call.get("name") or ""),
                arguments=arguments if isinstance(arguments, str | Mapping) else None,
            )
            self._calls.append(self._declared.own(raw, self._request.tools))
            if isinstance(signature, str):
                self._signatures[call_id] = signature
            return ""
        if part.get("thought"):
            self._thoughts.append(text)
            return ""
        if isinstance(signature, str):
            self._text_signature = signature
        self._texts.append(text)
        return text

    def finish(self) -> ModelOutput:
        """The whole output."""
        reason = _FINISH.get(self._reason or "", "unknown")
        if self._calls and reason in ("stop", "unknown"):
            reason = "tool_calls"
        data: dict[str, Any] = {}
        if self._signatures:
            data["signatures"] = self._signatures
        if self._text_signature:
            data["text"] = self._text_signature
        return ModelOutput(
            text="".join(self._texts),
            calls=tuple(self._calls),
            finish_reason=reason,
            usage=self._totals(),
            thinking="".join(self._thoughts),
            opaque=Opaque(source="", data=data) if data else None,
        )

    def _totals(self) -> Usage:
        told = self._usage if isinstance(self._usage, Mapping) else {}
        return Usage(
            requests=1,
            input_tokens=count(told.get("promptTokenCount")) + count(told.get("toolUsePromptTokenCount")),
            output_tokens=count(told.get("candidatesTokenCount")) + count(told.get("thoughtsTokenCount")),
            cached_tokens=count(told.get("cachedContentTokenCount")),
        )
