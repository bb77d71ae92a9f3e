"""A parameter's value as the wire wants it: the styles of OpenAPI.

Source: https://spec.openapis.org/oas/v3.1.1#style-values and RFC 6570.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

DEFAULT_STYLES: Final = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}

_BETWEEN: Final = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}

_RESERVED: Final = ":/?#[]@!$&'()*+,;="


def text_of(value: Any) -> str:
    """A value as plain text: JSON's spelling of truth and numbers, JSON for what is nested."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def query_pairs(
    name: str, value: Any, style: str = "form", *, explode: bool = True, reserved: bool = False
) -> list[str]:
    """A value in a query or a form as "name=value" pieces, percent-encoded.

    Args:
        name: the parameter's.
        value: JSON.
        style: "form", "spaceDelimited", "pipeDelimited" or "deepObject".
        explode: whether each entry is a pair of its own.
        reserved: whether RFC 3986's reserved characters stay as they are.
    """

    def encoded(part: Any) -> str:
        return quote(
            text_of(part), safe=_RESERVED.translate({ord(c): None for c in "#&+="}) if reserved else ""
        )

    key = quote(name, safe="[]")
    if isinstance(value, Mapping):
        if style == "deepObject":
            return _deep(key, value, encoded)
        if explode:
            return [f"{quote(str(member), safe='[]')}={encoded(part)}" for member, part in value.items()]
        flat = [encoded(part) for pair in value.items() for part in pair]
        return [f"{key}={_BETWEEN.get(style, ',').join(flat)}"]
    if isinstance(value, list):
        if explode or style == "deepObject":
            return [f"{key}={encoded(part)}" for part in value]
        return [f"{key}={_BETWEEN.get(style, ',').join(map(encoded, value))}"] if value else []
    return [f"{key}={encoded(value)}"]


def _deep(key: str, value: Any, encoded: Any) -> list[str]:
    """Names in brackets. The specification stops at one level; servers take further ones in the same way."""
    if isinstance(value, Mapping):
        return [
            piece
            for member, part in value.items()
            for piece in _deep(f"{key}[{quote(str(member), safe='')}]", part, encoded)
        ]
    if isinstance(value, list):
        return [f"{key}={encoded(part)}" for part in value]
    return [f"{key}={encoded(value)}"]


def path_text(name: str, value: Any, style: str = "simple", *, explode: bool = False) -> str:
    """A value in a path, percent-encoded; what it holds never adds a step to the path.

    Args:
        name: the parameter's.
        value: JSON.
        style: "simple", "label" or "matrix".
        explode: whether each entry stands for itself.
    """
    parts = _parts(value, explode=explode, encode=True)
    if style == "label":
        return "." + ("." if explode else ",").join(parts)
    if style == "matrix":
        if explode and isinstance(value, Mapping):
            return "".join(f";{part}" for part in parts)
        if explode and isinstance(value, list):
            return "".join(f";{name}={part}" for part in parts)
        return f";{name}={','.join(parts)}"
    return ",".join(parts)


def plain_text(value: Any, *, explode: bool = False) -> str:
    """A value in a header or a cookie."""
    return ",".join(_parts(value, explode=explode, encode=False))


def _parts(value: Any, *, explode: bool, encode: bool) -> list[str]:
    def written(part: Any) -> str:
        return quote(text_of(part), safe="") if encode else text_of(part)

    if isinstance(value, Mapping):
        pairs = [(written(member), written(part)) for member, part in value.items()]
        return [f"{m}={p}" for m, p in pairs] if explode else [text for pair in pairs for text in pair]
    if isinstance(value, list):
        return [written(part) for part in value]
    return [written(value)]
