"""One page of a whole result: whole rows, items, fields or sentences from a place on, as many as fit."""

from __future__ import annotations

from typing import Any

from toolhand.core.language import Language
from toolhand.policies.shrinking.paths import Path, part, written
from toolhand.policies.shrinking.sizes import size
from toolhand.policies.shrinking.store import Kept
from toolhand.policies.shrinking.tables import table_of
from toolhand.policies.shrinking.texts import cut_before
from toolhand.policies.shrinking.values import Shrinker


def page(
    kept: Kept, *, path: Path, start: int, count: int | None, most_characters: int, language: Language
) -> dict[str, Any]:
    """A page in at most so many characters. It says how many there are in all and where the next page starts.

    Args:
        kept: the result.
        path: which part of it.
        start: the first row, item or field, or character of a text, from 0; negative from the end.
        count: how many, or None for as many as fit.
        most_characters: of the page's JSON.
        language: of the words about what is left out inside of it.

    Raises:
        LookupError: when the result has no such part.
        ValueError: when `start` is not in it; its argument is the total.
    """
    value = part(kept.source, path)
    total = _total(value)
    start = max(0, total + start) if start < 0 else start
    if start >= max(1, total):
        raise ValueError(total)
    end = total if count is None else min(total, start + max(1, count))
    head: dict[str, Any] = {"handle": kept.handle}
    if path != kept.path:
        head["path"] = written(path)
    head["start"] = start
    room = most_characters - size(head) - 80
    if isinstance(value, str):
        return head | _text_page(value, start, end, room)
    shrinker = Shrinker(kept.handle, language)
    if isinstance(value, dict) and table_of(value) is None:
        return head | _entries_page(shrinker, value, path, range(start, end), room)
    if isinstance(value, list | dict):
        return head | _rows_page(shrinker, value, path, range(start, end), room)
    return {"handle": kept.handle, "path": written(path), "value": value}


def _total(value: Any) -> int:
    table = table_of(value) if isinstance(value, dict) else None
    if table is not None:
        return len(table.rows)
    return len(value) if isinstance(value, str | list | dict) else 1


def _text_page(text: str, start: int, end: int, room: int) -> dict[str, Any]:
    most = min(end, start + room)
    while True:
        stop = cut_before(text, most, start) if most < end or end < len(text) else most
        excess = size(text[start:stop]) - room
        if excess <= 0 or most - start < 16:
            break
        most -= max(excess, 16) if most - start > 2 * excess else (most - start) // 2
    found: dict[str, Any] = {"characters": stop - start, "total_characters": len(text)}
    return found | _next(stop, len(text)) | {"text": text[start:stop]}


def _rows_page(shrinker: Shrinker, value: Any, path: Path, places: range, room: int) -> dict[str, Any]:
    table = table_of(value)
    assert table is not None  # noqa: S101 - the caller's condition
    unit = table.unit
    columns: dict[str, Any] = {"columns": value["columns"]} if table.field else {}
    room -= size(columns)
    inner = (*path, table.field) if table.field else path
    rows: list[Any] = []
    for place in places:
        room -= size(table.rows[place]) + 2
        if room < 0:
            if not rows:
                whole_room = room + size(table.rows[place])
                rows.append(shrinker.fitted(table.rows[place], max(40, whole_room), (*inner, place)))
            break
        rows.append(table.rows[place])
    stop = places.start + len(rows)
    return (
        {"count": len(rows), f"total_{unit}": len(table.rows)}
        | _next(stop, len(table.rows))
        | columns
        | {unit: rows}
    )


def _entries_page(
    shrinker: Shrinker, value: dict[str, Any], path: Path, places: range, room: int
) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for key in list(value)[places.start : places.stop]:
        left = room - size(key) - size(value[key]) - 4
        if left < 0:
            if not entries:
                entries[key] = shrinker.fitted(value[key], max(40, room - size(key) - 4), (*path, key))
            break
        room = left
        entries[key] = value[key]
    stop = places.start + len(entries)
    return (
        {"count": len(entries), "total_entries": len(value)} | _next(stop, len(value)) | {"entries": entries}
    )


def _next(stop: int, total: int) -> dict[str, Any]:
    return {"next_start": stop} if stop < total else {"is_last": True}
