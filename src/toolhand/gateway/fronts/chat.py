"""OpenAI's chat completions, as a server speaks them.

Source: https://platform.openai.com/docs/api-reference/chat and …/chat-streaming.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
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
from toolhand.models.wire import arguments_json, json_bytes

EXTRAS: Final = (
    "frequency_penalty", "presence_penalty", "logit_bias", "reasoning_effort", "verbosity", "service_tier", "top_k", "min_p",
    "repetition_penalty", "chat_template_kwargs", "safety_identifier", "prompt_cache_key", "metadata", "store",
)  # fmt: skip
"""Fields that are handed on as they are to a server of the same protocol."""

_FINISH: Final[Mapping[FinishReason, str]] = {"length": "length", "content_filter": "content_filter"}


class Chat:
    """The front for chat completions."""

    path = "/v1/chat/completions"

    def read(self, body: Mapping[str, Any]) -> Wanted:
        """A request in neutral words.

        Raises:
            Refusal: when it cannot be read.
        """
        if (whole_in(body, "n") or 1) > 1:
            raise invalid("n", "one answer is given at a time", "一次只给出一个回答")
        if body.get("functions"):
            raise invalid("functions", "this is no longer used: send tools", "此字段已不再使用：请改用 tools")
        options = checked(body, "stream_options", dict, OBJECT) or {}
        return Wanted(
            model=text_in(body, "model"),
            messages=messages_of(objects_in(body, "messages"), "messages"),
            tools=toolset_of(_functions(body), "tools"),
            choice=_choice(body.get("tool_choice")),
            is_parallel=yes_in(body, "parallel_tool_calls", default=True),
            sampling=Sampling(
                temperature=number_in(body, "temperature", 0, 2),
                top_p=number_in(body, "top_p", 0, 1),
                max_tokens=whole_in(body, "max_completion_tokens") or whole_in(body, "max_tokens"),
                seed=whole_in(body, "seed", -(2**53)),
            ),
            stop=texts_in(body, "stop"),
            extra={name: body[name] for name in EXTRAS if body.get(name) is not None},
            shape=_shape(checked(body, "response_format", dict, OBJECT)),
            streams=yes_in(body, "stream"),
            counts_usage=yes_in(options, "include_usage"),
            end_user=text_in(body, "user"),
        )

    def whole(self, answered: Answered, wanted: Wanted) -> dict[str, Any]:
        """An answer's body."""
        message: dict[str, Any] = {"role": "assistant", "content": answered.text or None, "refusal": None}
        if answered.calls:
            message["tool_calls"] = [_call(call) for call in answered.calls]
        elif message["content"] is None:
            message["content"] = ""
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answered)}
        return {
            "id": _fresh(),
            "object": "chat.completion",
            "created": int(time.time()),
            "model": wanted.model,
            "choices": [choice],
            "usage": _usage(answered),
        }

    def writing(self, wanted: Wanted) -> ChatWriting:
        """A writer for one streamed answer."""
        return ChatWriting(wanted)

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """A refusal's body."""
        return chat_error(refusal)


def chat_error(refusal: Refusal) -> dict[str, Any]:
    """A refusal in OpenAI's shape."""
    error: dict[str, Any] = {
        "message": refusal.message,
        "type": refusal.kind,
        "param": refusal.param or None,
        "code": refusal.code or None,
    }
    if refusal.wait_seconds is not None:
        error["retry_after"] = refusal.wait_seconds
    if refusal.notes:
        error["toolhand"] = refusal.notes
    return {"error": error}


class ChatWriting:
    """Writes the chunks of one answer: the role, text as it comes, then each call's id and name, its arguments, the reason."""

    def __init__(self, wanted: Wanted) -> None:
        self._counts_usage = wanted.counts_usage
        head = {
            "id": _fresh(),
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": wanted.model,
        }
        self._head = json_bytes(head)[:-1]
        # What is the same in each piece of text is written once.
        usage = b',"usage":null' if self._counts_usage else b""
        self._before = b"data: " + self._head + b',"choices":[{"index":0,"delta":'
        self._after = b',"logprobs":null,"finish_reason":null}]' + usage + b"}\n\n"

    def begin(self) -> bytes:
        """The role."""
        return self._delta({"role": "assistant", "content": "", "refusal": None})

    def text(self, piece: str) -> bytes:
        """A piece of the text."""
        return self._before + b'{"content":' + json_bytes(piece) + b"}" + self._after

    def finish(self, answered: Answered) -> bytes:
        """The calls, the reason, and what was counted where that is wanted."""
        pieces: list[bytes] = []
        for index, call in enumerate(answered.calls):
            named = {"index": index, **_call(call)}
            arguments = named["function"]["arguments"]
            named["function"] = {**named["function"], "arguments": ""}
            pieces.append(self._delta({"tool_calls": [named]}))
            pieces.append(
                self._delta({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
            )
        end: dict[str, Any] = {
            "choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": _finish(answered)}]
        }
        if self._counts_usage:
            pieces.append(self._chunk({**end, "usage": None}))
            pieces.append(self._chunk({"choices": [], "usage": _usage(answered)}))
        else:
            pieces.append(self._chunk(end))
        return b"".join([*pieces, b"data: [DONE]\n\n"])

    def failed(self, refusal: Refusal) -> bytes:
        """An error in the place of the rest."""
        return b"data: " + json_bytes(chat_error(refusal)) + b"\n\n"

    def waiting(self) -> bytes:
        """A comment."""
        return b": waiting\n\n"

    def _delta(self, delta: Mapping[str, Any]) -> bytes:
        return self._before + json_bytes(delta) + self._after

    def _chunk(self, rest: Mapping[str, Any]) -> bytes:
        return b"data: " + self._head + b"," + json_bytes(rest)[1:] + b"\n\n"


def _functions(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tools' bare schemas."""
    found = []
    for number, entry in enumerate(objects_in(body, "tools")):
        kind = entry.get("type", "function")
        if kind != "function":
            raise invalid(
                f"tools[{number}].type",
                f"'{kind}' is not known here: use 'function'",
                f"不支持“{kind}”：请用 function",
            )
        inner = entry.get("function", entry)
        if not isinstance(inner, Mapping):
            raise invalid(f"tools[{number}].function", "this must be an object", "应为对象")
        found.append(inner)
    return found


def _choice(given: Any) -> ToolChoice:
    if given is None or given in ("auto", "none", "required"):
        return choice_of(given or "auto")
    if isinstance(given, Mapping):
        if given.get("type") == "function":
            return choice_of("required", (_name(given),))
        allowed = given.get("allowed_tools", given)
        if given.get("type") == "allowed_tools" and isinstance(allowed, Mapping):
            names = [_name(one) for one in objects_in(allowed, "tools")]
            return choice_of(str(allowed.get("mode") or "auto"), names)
    raise invalid(
        "tool_choice",
        "this must be 'auto', 'none', 'required', or an object that names a function",
        "应为 auto、none、required，或指定函数的对象",
    )


def _name(given: Mapping[str, Any]) -> str:
    inner = given.get("function", given)
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(name, str):
        raise invalid("tool_choice", "the function needs a name", "缺少函数名")
    return name


def _shape(given: Mapping[str, Any] | None) -> Shape | None:
    kind = "text" if given is None else given.get("type")
    if given is None or kind == "text":
        return None
    if kind == "json_object":
        return Shape(None)
    inner = given.get("json_schema")
    if kind != "json_schema" or not isinstance(inner, Mapping):
        raise invalid(
            "response_format",
            "the type must be text, json_object or json_schema",
            "类型应为 text、json_object 或 json_schema",
        )
    return shape_of(inner.get("schema"), "response_format.json_schema.schema")


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments_json(call)},
    }


def _finish(answered: Answered) -> str:
    if answered.calls:
        return "tool_calls"
    return _FINISH.get(answered.finish_reason, "stop")


def _usage(answered: Answered) -> dict[str, Any]:
    usage = answered.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "toolhand": answered.account,
    }


def _fresh() -> str:
    return "chatcmpl-" + secrets.token_hex(12)


FRONT: Final = Chat()
