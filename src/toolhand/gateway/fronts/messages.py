"""Anthropic's messages, as a server speaks them.

Source: https://docs.anthropic.com/en/api/messages, …/messages-streaming and …/errors.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolhand.core.messages import FinishReason, Sampling, ToolCall
from toolhand.core.tools import ToolChoice
from toolhand.gateway.fronts import Answered
from toolhand.gateway.refusals import Refusal, invalid
from toolhand.gateway.shape import Shape, shape_of
from toolhand.gateway.wanted import (
    OBJECT,
    Wanted,
    checked,
    choice_of,
    messages_of,
    number_in,
    objects_in,
    text_in,
    texts_in,
    toolset_of,
    whole_in,
    yes_in,
)
from toolhand.models.wire import arguments_json, json_bytes, text_of

_REASONS: Final[Mapping[FinishReason, str]] = {"length": "max_tokens", "content_filter": "refusal"}

_KINDS: Final[Mapping[int, str]] = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 503: "overloaded_error", 504: "timeout_error",
}  # fmt: skip

_MODES: Final[Mapping[str, str]] = {"auto": "auto", "any": "required", "none": "none", "tool": "required"}


class Messages:
    """The front for Anthropic's clients."""

    path = "/v1/messages"

    def read(self, body: Mapping[str, Any]) -> Wanted:
        """A request in neutral words.

        Raises:
            Refusal: when it cannot be read.
        """
        choice, is_parallel = _choice(checked(body, "tool_choice", dict, OBJECT) or {})
        meta = checked(body, "metadata", dict, OBJECT) or {}
        top_k = whole_in(body, "top_k", 0)
        return Wanted(
            model=text_in(body, "model"),
            messages=messages_of([*_system(body), *objects_in(body, "messages")], "messages"),
            tools=toolset_of(_tools(body), "tools"),
            choice=choice,
            is_parallel=is_parallel,
            sampling=Sampling(
                temperature=number_in(body, "temperature", 0, 2),
                top_p=number_in(body, "top_p", 0, 1),
                max_tokens=whole_in(body, "max_tokens"),
            ),
            stop=texts_in(body, "stop_sequences"),
            extra={} if top_k is None else {"top_k": top_k},
            shape=_shape(body),
            streams=yes_in(body, "stream"),
            counts_usage=True,
            end_user=text_in(meta, "user_id"),
        )

    def whole(self, answered: Answered, wanted: Wanted) -> dict[str, Any]:
        """An answer's body."""
        return {
            **_head(wanted),
            "content": [
                *([_text(answered.text)] if answered.text else []),
                *(_block(call) for call in answered.calls),
            ],
            "stop_reason": _reason(answered),
            "usage": _usage(answered),
        }

    def writing(self, wanted: Wanted) -> MessagesWriting:
        """A writer for one streamed answer."""
        return MessagesWriting(wanted)

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """A refusal's body."""
        error: dict[str, Any] = {"type": _KINDS.get(refusal.status, "api_error"), "message": refusal.message}
        if refusal.wait_seconds is not None:
            error["retry_after"] = refusal.wait_seconds
        if refusal.notes:
            error["toolhand"] = refusal.notes
        return {"type": "error", "error": error}


class MessagesWriting:
    """Writes the events of one answer: a block of text while it comes, then a block for each call."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._index = 0
        self._has_text = False

    def begin(self) -> bytes:
        """The message without content. What it was asked is counted at its end."""
        usage = {"input_tokens": 0, "output_tokens": 0}
        return _event(
            "message_start",
            message={**_head(self._wanted), "content": [], "stop_reason": None, "usage": usage},
        )

    def text(self, piece: str) -> bytes:
        """A piece of the text."""
        written = b"" if self._has_text else _event("content_block_start", index=0, content_block=_text(""))
        self._has_text = True
        return written + _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})

    def finish(self, answered: Answered) -> bytes:
        """The calls, the reason, and what was counted."""
        written = [_event("content_block_stop", index=0)] if self._has_text else []
        for index, call in enumerate(answered.calls, int(self._has_text)):
            block = {**_block(call), "input": {}}
            delta = {"type": "input_json_delta", "partial_json": arguments_json(call)}
            written.append(_event("content_block_start", index=index, content_block=block))
            written.append(_event("content_block_delta", index=index, delta=delta))
            written.append(_event("content_block_stop", index=index))
        end = {"stop_reason": _reason(answered), "stop_sequence": None}
        written.append(_event("message_delta", delta=end, usage=_usage(answered)))
        return b"".join([*written, _event("message_stop")])

    def failed(self, refusal: Refusal) -> bytes:
        """An error in the place of the rest."""
        return b"event: error\ndata: " + json_bytes(FRONT.error(refusal)) + b"\n\n"

    def waiting(self) -> bytes:
        """A ping."""
        return _event("ping")


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: ".encode() + json_bytes({"type": kind, **more}) + b"\n\n"


def _head(wanted: Wanted) -> dict[str, Any]:
    return {
        "id": "msg_" + secrets.token_hex(12),
        "type": "message",
        "role": "assistant",
        "model": wanted.model,
        "stop_sequence": None,
    }


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _block(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)}


def _reason(answered: Answered) -> str:
    return "tool_use" if answered.calls else _REASONS.get(answered.finish_reason, "end_turn")


def _usage(answered: Answered) -> dict[str, Any]:
    usage = answered.usage
    return {
        "input_tokens": max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens),
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
        "toolhand": answered.account,
    }


def _system(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = body.get("system")
    if given is not None and not isinstance(given, str | list):
        raise invalid("system", "this must be a string or a list of text blocks", "应为字符串或文本块列表")
    text = given if isinstance(given, str) else "\n\n".join(filter(None, map(text_of, given or ())))
    return [{"role": "system", "content": text}] if text else []


def _tools(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for number, entry in enumerate(objects_in(body, "tools")):
        kind = entry.get("type") or "custom"
        if kind != "custom":
            raise invalid(
                f"tools[{number}].type",
                f"'{kind}' runs at its provider and cannot be had here",
                f"“{kind}”只能在其提供方运行",
            )
        found.append({key: entry.get(key) for key in ("name", "description", "input_schema")})
    return found


def _choice(given: Mapping[str, Any]) -> tuple[ToolChoice, bool]:
    kind = given.get("type", "auto")
    if not isinstance(kind, str) or kind not in _MODES:
        raise invalid(
            "tool_choice.type", "this must be auto, any, tool or none", "应为 auto、any、tool 或 none"
        )
    names: Sequence[str] = (text_in(given, "name"),) if kind == "tool" else ()
    is_parallel = not yes_in(given, "disable_parallel_tool_use")
    return choice_of(_MODES[kind], names), is_parallel


def _shape(body: Mapping[str, Any]) -> Shape | None:
    config = checked(body, "output_config", dict, OBJECT) or {}
    given = checked(config, "format", dict, OBJECT) or checked(body, "output_format", dict, OBJECT)
    return None if given is None else shape_of(given.get("schema"), "output_config.format.schema")


FRONT: Final = Messages()
