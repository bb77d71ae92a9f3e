"""Each protocol as a server speaks it, from the providers' published references: whole replies, streams and errors.

`test_sdks.py` proves that the providers' own clients understand these replies.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from toolhand.models.anthropic import connect as anthropic
from toolhand.models.gemini import connect as gemini
from toolhand.models.openai import connect as openai
from toolhand.models.responses import connect as responses

Call = tuple[str, str, dict[str, Any]]
"""Id, name on the wire, arguments."""

KEY = "sk-test-abcdefghijkl"


def event(data: Any, kind: str = "") -> bytes:
    head = f"event: {kind}\n" if kind else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


class Chat:
    name = "openai"
    path = "/v1/chat/completions"
    overflow: ClassVar = {
        "error": {
            "message": "This model's maximum context length is 8192 tokens.",
            "code": "context_length_exceeded",
        }
    }

    def model(self, root: str, **options: Any):
        return openai("m", base_url=f"{root}/v1", **{"api_key": KEY, **options})

    def whole(self, text: str, calls: Sequence[Call] = (), reason: str = "") -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {
                    "id": i,
                    "type": "function",
                    "function": {"name": n, "arguments": json.dumps(a, ensure_ascii=False)},
                }
                for i, n, a in calls
            ]
        finish = reason or ("tool_calls" if calls else "stop")
        return {
            "id": "r", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35, "prompt_tokens_details": {"cached_tokens": 10}},
        }  # fmt: skip

    def events(self, text: str, calls: Sequence[Call] = ()) -> list[bytes]:
        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return event(
                {
                    "id": "r",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": "m",
                    "choices": [choice],
                }
            )

        sent = [chunk({"role": "assistant", "content": ""}), b": ping\n\n"]
        sent += [chunk({"content": piece}) for piece in halves(text) if piece]
        for index, (call_id, name, arguments) in enumerate(calls):
            head = {
                "index": index,
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": ""},
            }
            sent.append(chunk({"tool_calls": [head]}))
            for piece in halves(json.dumps(arguments, ensure_ascii=False)):
                sent.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
        sent.append(chunk({}, "tool_calls" if calls else "stop"))
        usage = self.whole(text)["usage"]
        sent.append(
            event(
                {
                    "id": "r",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": "m",
                    "choices": [],
                    "usage": usage,
                }
            )
        )
        return [*sent, b"data: [DONE]\n\n"]

    def error(self, status: int, message: str) -> Any:
        return {"error": {"message": message, "type": "server_error", "code": None}}

    def error_event(self, message: str) -> bytes:
        return event({"error": {"message": message, "code": 529}})

    def filtered(self) -> Any:
        return self.whole("", reason="content_filter")


class Anthropic:
    name = "anthropic"
    path = "/v1/messages"
    overflow: ClassVar = {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "prompt is too long: 210000 tokens > 200000 maximum",
        },
    }

    def model(self, root: str, **options: Any):
        return anthropic("m", base_url=root, **{"api_key": KEY, **options})

    def blocks(self, text: str, calls: Sequence[Call]) -> list[Any]:
        said = [{"type": "text", "text": text, "citations": None}] if text else []
        return [*said, *({"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in calls)]

    def whole(self, text: str, calls: Sequence[Call] = (), reason: str = "") -> Any:
        return {
            "id": "msg", "type": "message", "role": "assistant", "model": "m", "content": self.blocks(text, calls),
            "stop_reason": reason or ("tool_use" if calls else "end_turn"), "stop_sequence": None,
            "usage": {"input_tokens": 15, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 5},
        }  # fmt: skip

    def events(self, text: str, calls: Sequence[Call] = ()) -> list[bytes]:
        def typed(kind: str, **more: Any) -> bytes:
            return event({"type": kind, **more}, kind)

        message = {**self.whole("", ()), "content": [], "stop_reason": None}
        sent = [typed("message_start", message=message), typed("ping")]
        for index, block in enumerate(self.blocks(text, calls)):
            if block["type"] == "text":
                deltas = [{"type": "text_delta", "text": piece} for piece in halves(text)]
                start = {**block, "text": ""}
            else:
                whole = json.dumps(block["input"], ensure_ascii=False)
                deltas = [
                    {"type": "input_json_delta", "partial_json": piece} for piece in ("", *halves(whole))
                ]
                start = {**block, "input": {}}
            sent.append(typed("content_block_start", index=index, content_block=start))
            sent += [typed("content_block_delta", index=index, delta=delta) for delta in deltas]
            sent.append(typed("content_block_stop", index=index))
        delta = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
        sent.append(typed("message_delta", delta=delta, usage={"output_tokens": 5}))
        return [*sent, typed("message_stop")]

    def error(self, status: int, message: str) -> Any:
        kinds = {429: "rate_limit_error", 529: "overloaded_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}

    def error_event(self, message: str) -> bytes:
        return event(self.error(529, message), "error")

    def filtered(self) -> Any:
        return self.whole("", reason="refusal")


class Gemini:
    name = "gemini"
    path = "/v1beta/models/{model}"
    overflow: ClassVar = {
        "error": {
            "code": 400,
            "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "status": "INVALID_ARGUMENT",
        }
    }

    def model(self, root: str, **options: Any):
        return gemini("m", base_url=f"{root}/v1beta", **{"api_key": KEY, **options})

    usage: ClassVar = {
        "promptTokenCount": 30,
        "cachedContentTokenCount": 10,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 2,
        "totalTokenCount": 35,
    }

    def chunk(self, parts: list[Any], reason: str | None = None) -> Any:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        return {
            "candidates": [{**candidate, **({"finishReason": reason} if reason else {})}],
            "usageMetadata": self.usage,
            "modelVersion": "m",
        }

    def parts(self, calls: Sequence[Call]) -> list[Any]:
        return [{"functionCall": {"id": i, "name": n, "args": a}} for i, n, a in calls]

    def whole(self, text: str, calls: Sequence[Call] = (), reason: str = "STOP") -> Any:
        return self.chunk([*([{"text": text}] if text else []), *self.parts(calls)], reason)

    def events(self, text: str, calls: Sequence[Call] = ()) -> list[bytes]:
        sent = [event(self.chunk([{"text": piece}])) for piece in halves(text) if piece]
        sent += [event(self.chunk([part])) for part in self.parts(calls)]
        return [*sent, event(self.chunk([{"text": ""}], "STOP"))]

    def error(self, status: int, message: str) -> Any:
        return {"error": {"code": status, "message": message, "status": "INTERNAL"}}

    def error_event(self, message: str) -> bytes:
        return event(self.error(529, message))

    def filtered(self) -> Any:
        return {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": self.usage}


class Responses:
    name = "responses"
    path = "/v1/responses"
    overflow: ClassVar = {
        "error": {
            "message": "Your input exceeds the context window of this model.",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        }
    }

    def model(self, root: str, **options: Any):
        return responses("m", base_url=f"{root}/v1", **{"api_key": KEY, **options})

    def items(self, text: str, calls: Sequence[Call]) -> list[Any]:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        said = {
            "type": "message",
            "id": "msg",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
        asked = [
            {
                "type": "function_call",
                "id": f"fc_{i}",
                "call_id": i,
                "name": n,
                "arguments": json.dumps(a, ensure_ascii=False),
                "status": "completed",
            }
            for i, n, a in calls
        ]
        return [*([said] if text else []), *asked]

    def whole(self, text: str, calls: Sequence[Call] = (), reason: str = "") -> Any:
        return {
            "id": "resp", "object": "response", "created_at": 1, "model": "m", "status": "incomplete" if reason else "completed",
            "error": None, "incomplete_details": {"reason": reason} if reason else None, "output": self.items(text, calls),
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "instructions": None, "metadata": {}, "temperature": 1.0,
            "top_p": 1.0,
            "usage": {"input_tokens": 30, "input_tokens_details": {"cached_tokens": 10, "cache_write_tokens": 0}, "output_tokens": 5,
                      "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 35},
        }  # fmt: skip

    def events(self, text: str, calls: Sequence[Call] = ()) -> list[bytes]:
        sent, number = [], 0

        def add(kind: str, **more: Any) -> None:
            nonlocal number
            sent.append(event({"type": kind, "sequence_number": number, **more}, kind))
            number += 1

        add("response.created", response={**self.whole("", ()), "status": "in_progress"})
        for index, item in enumerate(self.items(text, calls)):
            empty = {"content": []} if item["type"] == "message" else {"arguments": ""}
            add(
                "response.output_item.added",
                output_index=index,
                item={**item, **empty, "status": "in_progress"},
            )
            if item["type"] == "message":
                part = {"type": "output_text", "text": "", "annotations": []}
                add(
                    "response.content_part.added",
                    output_index=index,
                    content_index=0,
                    item_id="msg",
                    part=part,
                )
                for piece in halves(text):
                    add(
                        "response.output_text.delta",
                        output_index=index,
                        content_index=0,
                        item_id="msg",
                        delta=piece,
                        logprobs=[],
                    )
            else:
                for piece in halves(item["arguments"]):
                    add(
                        "response.function_call_arguments.delta",
                        output_index=index,
                        item_id=item["id"],
                        delta=piece,
                    )
            add("response.output_item.done", output_index=index, item=item)
        add("response.completed", response=self.whole(text, calls))
        return sent

    def error(self, status: int, message: str) -> Any:
        return {"error": {"message": message, "type": "server_error", "code": None}}

    def error_event(self, message: str) -> bytes:
        return event(
            {
                "type": "error",
                "code": "server_overloaded",
                "message": message,
                "param": None,
                "sequence_number": 3,
            },
            "error",
        )

    def filtered(self) -> Any:
        return self.whole("", reason="content_filter")


SPEAKERS = [Chat(), Anthropic(), Gemini(), Responses()]
