"""The gateway's own OpenAPI document: what it takes and gives, as far as it looks at it."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

_TEXT: Final = {"type": "string"}


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _object(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


_SCHEMA: Final = {"type": "object", "description": "A JSON Schema."}
_TOOL: Final = _object(
    ["type", "function"],
    type={"const": "function"},
    function=_object(
        ["name"], name={"type": "string", "minLength": 1}, description=_TEXT, parameters=_SCHEMA
    ),
)
_CALL: Final = _object(id=_TEXT, type=_TEXT, function=_object(name=_TEXT, arguments=_TEXT))
_OWN: Final = {
    "type": "object",
    "description": "For the gateway itself: toolsets that run here, and the session that they are part of.",
    "properties": {"tools": _list(_TEXT), "session": _TEXT},
}
_SAMPLING: Final = {
    "temperature": {"type": ["number", "null"], "minimum": 0, "maximum": 2},
    "top_p": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    "stream": {"type": ["boolean", "null"]},
    "toolhand": _OWN,
}

CHAT: Final = _object(
    ["model", "messages"],
    model=_TEXT,
    messages={
        "type": "array",
        "minItems": 1,
        "items": _object(
            ["role"],
            role={"enum": ["system", "developer", "user", "assistant", "tool"]},
            content={"type": ["string", "array", "null"], "items": {"type": "object"}},
            tool_calls=_list(_CALL),
            tool_call_id=_TEXT,
        ),
    },
    tools=_list(_TOOL),
    tool_choice={"type": ["string", "object", "null"]},
    parallel_tool_calls={"type": ["boolean", "null"]},
    response_format={"type": ["object", "null"]},
    stream_options={"type": ["object", "null"]},
    stop={"type": ["string", "array", "null"], "items": _TEXT},
    max_tokens={"type": ["integer", "null"], "minimum": 1},
    max_completion_tokens={"type": ["integer", "null"], "minimum": 1},
    seed={"type": ["integer", "null"]},
    n={"type": ["integer", "null"], "minimum": 1},
    user={"type": ["string", "null"]},
    **_SAMPLING,
)

RESPONSES: Final = _object(
    ["model", "input"],
    model=_TEXT,
    input={"type": ["string", "array"], "items": {"type": "object"}, "minItems": 1, "minLength": 1},
    instructions={"type": ["string", "null"]},
    tools=_list(
        _object(
            ["type", "name"], type={"const": "function"}, name=_TEXT, description=_TEXT, parameters=_SCHEMA
        )
    ),
    tool_choice={"type": ["string", "object", "null"]},
    parallel_tool_calls={"type": ["boolean", "null"]},
    text={"type": ["object", "null"]},
    max_output_tokens={"type": ["integer", "null"], "minimum": 1},
    **_SAMPLING,
)

MESSAGES: Final = _object(
    ["model", "messages", "max_tokens"],
    model=_TEXT,
    messages={
        "type": "array",
        "minItems": 1,
        "items": _object(
            ["role", "content"],
            role={"enum": ["user", "assistant"]},
            content={"type": ["string", "array"], "items": {"type": "object"}},
        ),
    },
    system={"type": ["string", "array", "null"], "items": {"type": "object"}},
    max_tokens={"type": "integer", "minimum": 1},
    tools=_list(_object(["name", "input_schema"], name=_TEXT, description=_TEXT, input_schema=_SCHEMA)),
    tool_choice={"type": ["object", "null"]},
    stop_sequences=_list(_TEXT),
    **_SAMPLING,
)

_ERROR: Final = {
    "description": "A refusal.",
    "content": {"application/json": {"schema": _object(["error"], error={"type": "object"})}},
}
_REFUSALS: Final = {
    str(status): _ERROR for status in (400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 502, 503, 504)
}


def _post(summary: str, schema: dict[str, Any]) -> dict[str, Any]:
    answer = {
        "description": "The answer: whole, or as server-sent events where `stream` is true.",
        "headers": {
            "toolhand-rounds": {
                "schema": _TEXT,
                "description": "How many replies were sent back to the model.",
            }
        },
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "text/event-stream": {"schema": _TEXT},
        },
    }
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
            "responses": {"200": answer, **_REFUSALS},
            "security": [{"key": []}, {}],
        }
    }


def _get(summary: str, content: str, parameters: list[Any] | None = None) -> dict[str, Any]:
    schema = _TEXT if content.startswith("text") else {"type": "object"}
    return {
        "get": {
            "summary": summary,
            **({"parameters": parameters} if parameters else {}),
            "responses": {
                "200": {"description": summary, "content": {content: {"schema": schema}}},
                **_REFUSALS,
            },
        }
    }


@cache
def document() -> dict[str, Any]:
    """The document, OpenAPI 3.1."""
    name = [{"name": "name", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}]
    return {
        "openapi": "3.1.0",
        "info": {"title": "Toolhand gateway", "version": "1"},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/v1/chat/completions": _post("OpenAI's chat completions", CHAT),
            "/v1/responses": _post("OpenAI's responses", RESPONSES),
            "/v1/messages": _post("Anthropic's messages", MESSAGES),
            "/v1/models": _get("The models by the names that requests give", "application/json"),
            "/v1/models/{name}": _get("One of them", "application/json", name),
            "/healthz": _get("Whether it lives", "application/json"),
            "/metrics": _get("What was counted, for Prometheus", "text/plain"),
        },
    }
