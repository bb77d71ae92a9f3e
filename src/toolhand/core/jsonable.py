"""Makes any Python value safe for JSON, and turns a result into the text that a model reads.

Third-party types are recognised by what they can do (`model_dump`, `to_dict`, `tolist`), so nothing is imported for them.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from itertools import islice
from pathlib import PurePath
from types import ModuleType
from typing import Any, Final
from uuid import UUID

from toolhand.core.errors import ToolError
from toolhand.core.language import Language
from toolhand.core.messages import ToolResult, Value
from toolhand.core.untrusted import disarmed, framed

MAX_DEPTH: Final = 40
MOST_NODES: Final = 500_000
"""How many lists, objects and the like are shown of one value."""

MOST_VISITS: Final = 3
"""How often the same object is shown."""

MAX_ITERATED: Final = 10_000
"""How many items are taken from an iterator, which may have no end."""

MAX_INTEGER_BITS: Final = 10_000
"""Python refuses to write longer integers as decimal digits."""

_WRITER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_NATIVE_TYPES: Final = frozenset({bool, type(None)})


def jsonable(value: Any) -> Any:
    """The same value in JSON's types only, whatever it is. It never raises.

    Times become ISO 8601, `Decimal` keeps its digits as text, NaN and infinities become null, bytes become text where they
    are text and a short description where they are not, a value that contains itself is cut there with a mark.
    """
    if _is_json(value):
        return value
    if type(value) is dict:
        copied = dict(value)  # another thread may be at work on it
        if all(type(key) is str and _is_json(key) and _is_json(item) for key, item in copied.items()):
            return copied
    return _jsonable(value, _Above(), 0)


def _is_json(value: Any) -> bool:
    """Whether a value is a simple one of JSON's own, as most are: it is shown as it is."""
    kind = type(value)
    if kind is str:
        return bool(value.isascii())
    if kind is int:
        return bool(value.bit_length() < MAX_INTEGER_BITS)
    return kind is bool or value is None or (kind is float and math.isfinite(value))


class _Above(list[int]):
    """The objects around a value by identity, and how many more are shown in all."""

    def __init__(self) -> None:
        super().__init__()
        self.left = MOST_NODES
        self.shown: dict[int, tuple[object, int]] = {}

    def has_shown(self, value: object) -> bool:
        """Whether an object was shown often enough: a graph of objects has no end of paths through it."""
        _, times = self.shown.get(id(value), (value, 0))
        self.shown[id(value)] = (value, times + 1)
        return times >= MOST_VISITS


def _jsonable(value: Any, above: _Above, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return _encodable(value)
    if kind is int:
        return value if value.bit_length() < MAX_INTEGER_BITS else f"(integer of {value.bit_length()} bits)"
    if kind in _NATIVE_TYPES:
        return value
    if isinstance(value, Enum):
        return _jsonable(value.value, above, depth + 1)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    simple = _simple(value)
    if simple is not _NOT_SIMPLE:
        return simple
    if id(value) in above:
        return "(the same object again)"
    if depth > MAX_DEPTH:
        return "(nested too deeply)"
    above.left -= 1
    if above.left < 0:
        return "(too much to show)"
    above.append(id(value))
    try:
        return _composite(value, above, depth + 1)
    except Exception:  # noqa: BLE001 - a value's own methods may do anything; a result must still come back
        return f"({kind.__name__} that cannot be shown)"
    finally:
        above.pop()


_NOT_SIMPLE: Final = object()


def _simple(value: Any) -> Any:
    if isinstance(value, str):
        return _encodable(str(value))
    if isinstance(value, int):
        return _jsonable(int(value), _Above(), 0)
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else None
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta | UUID | PurePath):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes_text(bytes(value))
    return _NOT_SIMPLE


def _composite(value: Any, above: _Above, depth: int) -> Any:
    if isinstance(value, Mapping):
        items = list(value.items())
        found = {_key(key): _jsonable(item, above, depth) for key, item in items}
        return found if len(found) == len(items) else _with_kinds(items, above, depth)
    if isinstance(value, list | tuple):
        if hasattr(value, "_asdict"):
            return _composite(value._asdict(), above, depth)
        return [_jsonable(item, above, depth) for item in value]
    if isinstance(value, AbstractSet):
        return sorted(
            (_jsonable(item, above, depth) for item in value), key=lambda item: (str(type(item)), str(item))
        )
    if above.has_shown(value):
        return "(the same object again)"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: _jsonable(getattr(value, f.name), above, depth)
            for f in dataclasses.fields(value)
            if f.repr
        }
    if isinstance(value, BaseException):
        return type(value).__name__  # an exception's text may hold what a model must not see
    return _duck(value, above, depth)


def _duck(value: Any, above: _Above, depth: int) -> Any:
    if isinstance(value, type | ModuleType):
        return value.__name__
    if hasattr(value, "model_dump"):  # pydantic
        return _jsonable(value.model_dump(), above, depth)
    if hasattr(value, "to_dict"):  # pandas
        table = hasattr(value, "columns")
        return _jsonable(value.to_dict(orient="records") if table else value.to_dict(), above, depth)
    if hasattr(value, "tolist"):  # numpy
        return _jsonable(value.tolist(), above, depth)
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    if isinstance(value, Iterable):
        items = [_jsonable(item, above, depth) for item in islice(value, MAX_ITERATED + 1)]
        return (
            items
            if len(items) <= MAX_ITERATED
            else [*items[:MAX_ITERATED], f"(more than {MAX_ITERATED} items)"]
        )
    attributes = getattr(value, "__dict__", None)
    if attributes:
        return {k: _jsonable(v, above, depth) for k, v in attributes.items() if not k.startswith("_")}
    return _encodable(str(value))


def _with_kinds(items: list[tuple[Any, Any]], above: _Above, depth: int) -> dict[str, Any]:
    """An object of keys that look alike as text, such as 1 and "1": those that are no texts say what they are."""
    taken = {_key(key) for key, _ in items if isinstance(key, str)}
    found: dict[str, Any] = {}
    for key, item in items:
        name, number = _key(key), 1
        while name in found or (name in taken and not isinstance(key, str)):
            kind = type(key).__name__
            name, number = (
                f"{_key(key)} ({kind})" if number == 1 else f"{_key(key)} ({kind} {number})",
                number + 1,
            )
        found[name] = _jsonable(item, above, depth)
    return found


def _key(key: Any) -> str:
    if isinstance(key, str):
        return _encodable(key)
    plain = _jsonable(key, _Above(), MAX_DEPTH - 1)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _encodable(text: str) -> str:
    # A lone surrogate would raise at the first attempt to encode the text.
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _bytes_text(raw: bytes) -> str:
    for encoding in ("utf-8", "gb18030"):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if all(character.isprintable() or character in "\r\n\t" for character in text):
            return text
    return f"({_bytes_kind(raw)}, {len(raw)} bytes)"


def _bytes_kind(raw: bytes) -> str:
    kinds = {
        b"\x89PNG": "PNG image",
        b"\xff\xd8\xff": "JPEG image",
        b"GIF8": "GIF image",
        b"%PDF": "PDF document",
        b"PK\x03\x04": "ZIP archive",
        b"\x1f\x8b": "gzip archive",
    }
    return next((name for start, name in kinds.items() if raw.startswith(start)), "binary content")


# An empty result must read as an answer: bare brackets make weak models think of a failure and ask again.
_EMPTY: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "none": "Done. The tool returned no content.",
        "text": "(empty text)",
        "list": "0 results: []",
        "object": "0 fields: {}",
    },
    "zh": {
        "none": "已完成，工具没有返回内容。",
        "text": "（空文本）",
        "list": "0 条结果：[]",
        "object": "0 个字段：{}",
    },
}


_ERROR: Final[dict[Language, str]] = {"en": "Error", "zh": "错误"}


def result_text(result: Any, language: Language = "en") -> str:
    """The text in which a model reads a result: text as it is, anything else as JSON, never escaped to ASCII.

    Args:
        result: a `ToolResult`, its outcome, or a plain value.
        language: of the words for an error and for an empty result.
    """
    if isinstance(result, ToolResult) and (result.remark or result.untrusted):
        text = result_text(result.outcome, language)
        if result.untrusted:  # an error is the program's sentence, in which strangers may be quoted
            text = framed(text, language) if result.ok else disarmed(text)
        return f"{text}\n\n({result.remark})" if result.remark else text
    outcome = result.outcome if isinstance(result, ToolResult) else result
    if isinstance(outcome, ToolError):
        return f"{_ERROR[language]} ({outcome.code}): {outcome.sentence}"
    plain = jsonable(outcome.data if isinstance(outcome, Value) else outcome)
    empty = _EMPTY[language]
    if plain is None:
        return empty["none"]
    if isinstance(plain, str):
        return plain or empty["text"]
    if plain == [] and isinstance(plain, list):
        return empty["list"]
    if plain == {} and isinstance(plain, dict):
        return empty["object"]
    return _WRITER.encode(plain)
