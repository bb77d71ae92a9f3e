"""OpenAI's responses, as a server speaks them. Nothing is kept: a client sends its whole input.

Source: https://platform.openai.com/docs/api-reference/responses and …/responses-streaming.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolhand.core.messages import Sampling, ToolCall
from toolhand.core.tools import ToolChoice
from toolhand.gateway.fronts import Answered
from toolhand.gateway.fronts.chat import chat_error
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
    toolset_of,
    whole_in,
    yes_in,
)
from toolhand.models.wire import arguments_json, json_bytes

_CALL: Final = "function_call"


class Responses:
    """The front for OpenAI's responses."""

    path = "/v1/responses"

    def read(self, body: Mapping[str, Any]) -> Wanted:
        """A request in neutral words.

        Raises:
            Refusal: when it cannot be read.
        """
        for name in ("previous_response_id", "conversation", "prompt"):
            if body.get(name):
                raise invalid(
                    name, "nothing is kept here: send the whole input", "这里不保存历史：请发送完整的 input"
                )
        if body.get("background"):
            raise invalid("background", "an answer is waited for here", "这里只支持同步等待回答")
        return Wanted(
            model=text_in(body, "model"),
            messages=messages_of(list(_messages(body)), "input"),
            tools=toolset_of(_functions(body), "tools"),
            choice=_choice(body.get("tool_choice")),
            is_parallel=yes_in(body, "parallel_tool_calls", default=True),
            sampling=Sampling(
                temperature=number_in(body, "temperature", 0, 2),
                top_p=number_in(body, "top_p", 0, 1),
                max_tokens=whole_in(body, "max_output_tokens"),
            ),
            shape=_shape(checked(body, "text", dict, OBJECT) or {}),
            streams=yes_in(body, "stream"),
            counts_usage=True,
            end_user=text_in(body, "user"),
        )

    def whole(self, answered: Answered, wanted: Wanted) -> dict[str, Any]:
        """An answer's body."""
        return _body(wanted, _ids(), answered)

    def writing(self, wanted: Wanted) -> ResponsesWriting:
        """A writer for one streamed answer."""
        return ResponsesWriting(wanted)

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """A refusal's body."""
        return chat_error(refusal)


class ResponsesWriting:
    """Writes the events of one answer: an item of text while it comes, then an item for each call, then the whole."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted, self._ids = wanted, _ids()
        self._number = 0
        self._has_text = False

    def begin(self) -> bytes:
        """The response without content."""
        body = _body(self._wanted, self._ids, None)
        return self._event("response.created", response=body) + self._event(
            "response.in_progress", response=body
        )

    def text(self, piece: str) -> bytes:
        """A piece of the text."""
        place = {"item_id": self._ids["message"], "output_index": 0, "content_index": 0}
        written = b""
        if not self._has_text:
            self._has_text = True
            item = {**_message(self._ids, ""), "status": "in_progress", "content": []}
            written = self._event("response.output_item.added", output_index=0, item=item)
            written += self._event("response.content_part.added", **place, part=_part(""))
        return written + self._event("response.output_text.delta", **place, delta=piece, logprobs=[])

    def finish(self, answered: Answered) -> bytes:
        """The calls, and the whole with what was counted."""
        written: list[bytes] = []
        if self._has_text:
            place = {"item_id": self._ids["message"], "output_index": 0, "content_index": 0}
            written.append(self._event("response.output_text.done", **place, text=answered.text, logprobs=[]))
            written.append(self._event("response.content_part.done", **place, part=_part(answered.text)))
            item = _message(self._ids, answered.text)
            written.append(self._event("response.output_item.done", output_index=0, item=item))
        for index, call in enumerate(answered.calls, int(self._has_text)):
            item, at = _item(call), {"output_index": index}
            fresh = {**item, "status": "in_progress", "arguments": ""}
            named = {"item_id": item["id"], **at}
            written.append(self._event("response.output_item.added", **at, item=fresh))
            written.append(
                self._event("response.function_call_arguments.delta", **named, delta=item["arguments"])
            )
            done = {"name": call.name, "arguments": item["arguments"]}
            written.append(self._event("response.function_call_arguments.done", **named, **done))
            written.append(self._event("response.output_item.done", **at, item=item))
        body = _body(self._wanted, self._ids, answered)
        written.append(self._event(f"response.{body['status']}", response=body))
        return b"".join(written)

    def failed(self, refusal: Refusal) -> bytes:
        """An error in the place of the rest."""
        error = {"code": refusal.code or refusal.kind, "message": refusal.message}
        body = {**_body(self._wanted, self._ids, None), "status": "failed", "error": error}
        return self._event("error", **error, param=refusal.param or None) + self._event(
            "response.failed", response=body
        )

    def waiting(self) -> bytes:
        """A comment."""
        return b": waiting\n\n"

    def _event(self, kind: str, **more: Any) -> bytes:
        body = {"type": kind, "sequence_number": self._number, **more}
        self._number += 1
        return f"event: {kind}\ndata: ".encode() + json_bytes(body) + b"\n\n"


def _ids() -> dict[str, Any]:
    return {
        "response": "resp_" + secrets.token_hex(12),
        "message": "msg_" + secrets.token_hex(12),
        "created": int(time.time()),
    }


def _body(wanted: Wanted, ids: Mapping[str, Any], answered: Answered | None) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": ids["response"], "object": "response", "created_at": ids["created"], "model": wanted.model,
        "status": "in_progress", "output": [], "error": None, "incomplete_details": None, "instructions": None,
        "metadata": {}, "parallel_tool_calls": wanted.is_parallel, "temperature": wanted.sampling.temperature,
        "top_p": wanted.sampling.top_p, "tool_choice": "auto", "tools": [], "usage": None,
        "max_output_tokens": wanted.sampling.max_tokens, "previous_response_id": None,
    }  # fmt: skip
    if answered is None:
        return body
    said = [_message(ids, answered.text)] if answered.text or not answered.calls else []
    body |= {"status": "completed", "output": [*said, *map(_item, answered.calls)], "usage": _usage(answered)}
    if not answered.calls and answered.finish_reason in ("length", "content_filter"):
        why = "max_output_tokens" if answered.finish_reason == "length" else "content_filter"
        body |= {"status": "incomplete", "incomplete_details": {"reason": why}}
    return body


def _message(ids: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {
        "id": ids["message"],
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [_part(text)],
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _item(call: ToolCall) -> dict[str, Any]:
    return {
        "id": f"fc_{call.id}",
        "type": _CALL,
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments_json(call),
        "status": "completed",
    }


def _usage(answered: Answered) -> dict[str, Any]:
    usage = answered.usage
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "toolhand": answered.account,
    }


def _messages(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The input as messages; what one reply said and called is one message again."""
    if instructions := text_in(body, "instructions"):
        yield {"role": "system", "content": instructions}
    given = body.get("input")
    if isinstance(given, str):
        yield {"role": "user", "content": given}
        return
    reply: dict[str, Any] | None = None
    for item in objects_in(body, "input"):
        if item.get("type") == _CALL:
            reply = reply or {"role": "assistant", "content": [], "tool_calls": []}
            reply["tool_calls"].append({**item, "id": item.get("call_id") or item.get("id")})
        elif item.get("role") == "assistant":
            if reply is not None:
                yield reply
            reply = {**item, "type": "message", "tool_calls": []}
        elif item.get("type") != "reasoning":
            if reply is not None:
                yield reply
                reply = None
            yield item
    if reply is not None:
        yield reply


def _functions(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = objects_in(body, "tools")
    for number, entry in enumerate(found):
        kind = entry.get("type")
        if kind != "function":
            raise invalid(
                f"tools[{number}].type",
                f"'{kind}' is not known here: use 'function'",
                f"不支持“{kind}”：请用 function",
            )
    return found


def _choice(given: Any) -> ToolChoice:
    if given is None or given in ("auto", "none", "required"):
        return choice_of(given or "auto")
    if isinstance(given, Mapping):
        if given.get("type") == "function":
            return choice_of("required", (text_in(given, "name"),))
        if given.get("type") == "allowed_tools":
            names: Sequence[str] = [text_in(one, "name") for one in objects_in(given, "tools")]
            return choice_of(text_in(given, "mode") or "auto", names)
    raise invalid(
        "tool_choice",
        "this must be 'auto', 'none', 'required', or an object that names a function",
        "应为 auto、none、required，或指定函数的对象",
    )


def _shape(text: Mapping[str, Any]) -> Shape | None:
    given = checked(text, "format", dict, OBJECT) or {}
    kind = given.get("type", "text")
    if kind == "text":
        return None
    return Shape(None) if kind == "json_object" else shape_of(given.get("schema"), "text.format.schema")


FRONT: Final = Responses()
