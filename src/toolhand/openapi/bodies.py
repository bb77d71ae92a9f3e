"""A request's body, in the media type that the operation takes.

JSON where it is offered, else forms, else text. Source: https://spec.openapis.org/oas/v3.1.1#request-body-object.
"""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.openapi.writing import query_pairs, text_of

FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What an operation takes as its body.

    Args:
        media_type: as it is sent, such as "application/json".
        schema: as the document has it.
        encoding: how a form's fields are written, by field.
        is_required: whether it must be sent.
        description: of the body as a whole.
    """

    media_type: str
    schema: Any
    encoding: Mapping[str, Any] = field(default_factory=dict)
    is_required: bool = False
    description: str = ""

    @property
    def is_structured(self) -> bool:
        """Whether it is made of values rather than of text."""
        return is_json(self.media_type) or self.media_type in (FORM, MULTIPART)


def is_json(media_type: str) -> bool:
    """Whether a media type is JSON or one of its relatives."""
    kind = media_type.partition(";")[0].strip().lower()
    return (
        kind == "application/json" or kind.endswith("+json") or kind in ("text/json", "application/*", "*/*")
    )


def body_of(request_body: Mapping[str, Any]) -> Body | None:
    """The body in the media type that is easiest for a model; None where there is none.

    Args:
        request_body: a Request Body Object, reference followed.
    """
    content = request_body.get("content")
    if not isinstance(content, Mapping) or not content:
        return None
    media_type = min(content, key=_rank)
    found = content[media_type] if isinstance(content[media_type], Mapping) else {}
    encoding = found.get("encoding")
    return Body(
        media_type="application/json"
        if "*" in media_type
        else str(media_type).partition(";")[0].strip().lower(),
        schema=found.get("schema", {}),
        encoding=encoding if isinstance(encoding, Mapping) else {},
        is_required=request_body.get("required") is True,
        description=str(request_body.get("description") or ""),
    )


def _rank(media_type: Any) -> int:
    kind = str(media_type).partition(";")[0].strip().lower()
    order = ("application/json", "+json", FORM, MULTIPART, "text/plain")
    if is_json(kind):
        return 0 if kind == "application/json" else 1
    return order.index(kind) if kind in order else len(order)


def encoded_body(body: Body, value: Any) -> tuple[bytes, str]:
    """A value as bytes, and the `Content-Type` that says so.

    Args:
        body: what the operation takes.
        value: what the call sends.
    """
    if is_json(body.media_type):
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode(), body.media_type
    if body.media_type == FORM and isinstance(value, Mapping):
        return "&".join(_form_pairs(body, value)).encode(), FORM
    if body.media_type == MULTIPART and isinstance(value, Mapping):
        return _multipart(body, value)
    text = text_of(value)
    is_text = body.media_type.startswith("text/")
    return text.encode(), f"{body.media_type}; charset=utf-8" if is_text else body.media_type


def _form_pairs(body: Body, value: Mapping[str, Any]) -> list[str]:
    pairs = []
    for name, part in value.items():
        rule = body.encoding.get(name)
        rule = rule if isinstance(rule, Mapping) else {}
        if part is None:
            continue
        if "style" in rule or isinstance(part, list):
            style = str(rule.get("style") or "form")
            pairs += query_pairs(name, part, style, explode=rule.get("explode", style == "form") is True)
        else:
            pairs += query_pairs(name, text_of(part))
    return pairs


def _multipart(body: Body, value: Mapping[str, Any]) -> tuple[bytes, str]:
    boundary = f"toolhand-{uuid.uuid4().hex}"
    pieces: list[bytes] = []
    for name, part in value.items():
        schema = _properties(body.schema).get(name, {})
        entries = part if isinstance(part, list) and not _is_json_field(schema) else [part]
        kind = body.encoding.get(name)
        declared = str(kind.get("contentType") or "") if isinstance(kind, Mapping) else ""
        pieces += [_field(boundary, name, entry, schema, declared) for entry in entries if entry is not None]
    pieces.append(f"--{boundary}--\r\n".encode())
    return b"".join(pieces), f"{MULTIPART}; boundary={boundary}"


def _field(boundary: str, name: str, value: Any, schema: Any, declared: str) -> bytes:
    schema = schema if isinstance(schema, Mapping) else {}
    if isinstance(schema.get("items"), Mapping):
        schema = schema["items"]
    quoted = name.replace("\\", "\\\\").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{quoted}"'
    content, kind = text_of(value).encode(), declared.partition(",")[0].strip()
    if (
        schema.get("format") in ("binary", "byte", "base64")
        or "contentMediaType" in schema
        or "contentEncoding" in schema
    ):
        head += f'; filename="{quoted}"'
        kind = kind or str(schema.get("contentMediaType") or "application/octet-stream")
        if schema.get("format") in ("byte", "base64") or schema.get("contentEncoding") == "base64":
            content = _from_base64(content)
    elif not isinstance(value, str | int | float):
        kind = kind or "application/json"
    kind = "" if any(mark in kind for mark in "\r\n*") else kind
    return (
        f"{head}\r\n{f'Content-Type: {kind}' + chr(13) + chr(10) if kind else ''}\r\n".encode()
        + content
        + b"\r\n"
    )


def _from_base64(content: bytes) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error:
        return content


def _is_json_field(schema: Any) -> bool:
    items = schema.get("items") if isinstance(schema, Mapping) else None
    return isinstance(items, Mapping) and items.get("type") in ("object", "array")


def _properties(schema: Any) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}
