"""When two calls are the same: one text for all ways to write the same arguments, and a looser one for near-repeats."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from toolhand.core.tools import Tool

_WRITER: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def canonical(arguments: Any) -> str:
    """One text for a JSON value: the order of keys and 1 or 1.0 make no difference, anything else does.

    Source: the idea of RFC 8785 (JSON Canonicalization Scheme); numbers are compared as Python does.
    """
    return _WRITER.encode(_plain(arguments))


def loose(text: str) -> str:
    """A canonical text without case, blanks, quotes and the width of its characters: " 上海" and "上海" are one here."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return "".join(text.replace('"', "").split()).casefold()


def same_call(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """The canonical text of a call's arguments, with the tool's defaults for what was not sent."""
    defaults = left_out(tool.properties, arguments) if _has_defaults(tool) else None
    return _WRITER.encode(_plain({**defaults, **arguments} if defaults else arguments))


@lru_cache(maxsize=4096)
def _has_defaults(tool: Tool) -> bool:
    return bool(left_out(tool.properties, {}))


def left_out(properties: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The declared defaults of what was not sent.

    Args:
        properties: schemas by name; `true` and `false` are schemas without a default.
        arguments: what was sent.
    """
    return {
        name: schema["default"]
        for name, schema in properties.items()
        if name not in arguments and isinstance(schema, Mapping) and "default" in schema
    }


def digest(*parts: str) -> str:
    """A short, stable name for some texts: 32 hexadecimal characters."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return int(value) if value.is_integer() else value
    if kind is dict or isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
