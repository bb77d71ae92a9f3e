"""Masks the cells of HTML tables and lists of terms by the names of their columns, rows and terms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from toolhand.core.lazily import lazy_pattern
from toolhand.policies.redaction.masks import DECLARED, MASKED, SECRET
from toolhand.policies.redaction.names import folded, holds_secret, promises_secret
from toolhand.policies.redaction.written_tables import names_secrets

_TAG: Final = lazy_pattern(r"<(/?)(table|tr|th|td|dt|dd)\b[^<>]{0,400}>", re.IGNORECASE)
_ANY_TAG: Final = lazy_pattern(r"<[^<>]{0,400}>")
_COLUMNS: Final = lazy_pattern(r"colspan\s{0,3}=\s{0,3}[\"']?([0-9]{1,2})", re.IGNORECASE)
_LONGEST_NAME: Final = 60

MaskOf: TypeAlias = Callable[[str, str], str]
"""A name and what stands under it → what is shown instead, or ""."""


def without_declared_cells(text: str, names: frozenset[str]) -> str:
    """The text with the cells masked that stand under or beside one of these names.

    Args:
        text: the text; it may hold a table anywhere.
        names: names as a tool declared them; case and joints do not matter.
    """
    declared = frozenset(map(folded, names))
    return _masked(text, lambda name, _: DECLARED if folded(name) in declared else "")


def without_secret_cells(text: str, label: str = "") -> str:
    """The text with the cells masked that stand under or beside the name of a secret, such as `Password`."""
    del label
    return _masked(text, _secret) if "</" in text and names_secrets(text) else text


def _secret(name: str, held: str) -> str:
    is_value = promises_secret(name) and " " not in held and holds_secret(name, held)
    return SECRET if is_value else ""


def _masked(text: str, mask_of: MaskOf) -> str:
    if "<td" not in text and "<TD" not in text and "<dd" not in text and "<DD" not in text:
        return text
    pieces: list[str] = []
    kept = 0
    for begin, end, shown in _found(text, mask_of):
        pieces += (text[kept:begin], shown)
        kept = end
    return "".join((*pieces, text[kept:])) if pieces else text


def _found(text: str, mask_of: MaskOf) -> Iterator[tuple[int, int, str]]:
    """The cells that are to be masked, with what is shown instead."""
    columns: list[str] = []
    row: list[str] = []
    is_head = True
    beside = ""
    for kind, begin, end, width in _cells(text):
        if kind in ("table", "tr"):
            if row and is_head:
                columns, is_head = row, False
            row, beside = [], ""
            if kind == "table":
                columns, is_head = [], True
            continue
        said = _ANY_TAG.sub("", text[begin:end]).strip()
        place = len(row)
        row += [said] * width
        names = [beside] if kind != "dt" else []
        if not is_head and place < len(columns):
            names.append(columns[place])
        beside = said.rstrip(":： ") if len(said) <= _LONGEST_NAME else ""
        if kind in ("td", "dd") and said and not MASKED.search(said):
            shown = next((shown for name in names if name and (shown := mask_of(name, said))), "")
            if shown and not (is_head and place != 1):  # a head of many cells is a row of names
                yield begin, end, shown


def _cells(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Each table's and row's begin, and each cell with where its content stands and how many columns it spans."""
    opened: tuple[str, int, int] | None = None
    for tag in _TAG.finditer(text):
        kind = tag[2].lower()
        if opened is not None:
            yield opened[0], opened[1], tag.start(), opened[2]
            opened = None
        if tag[1]:
            if kind == "table":
                yield kind, tag.end(), tag.end(), 1
        elif kind in ("table", "tr"):
            yield kind, tag.end(), tag.end(), 1
        else:
            spans = _COLUMNS.search(tag.group())
            opened = (kind, tag.end(), min(int(spans[1]) if spans else 1, 50) or 1)
    if opened is not None:  # cut off
        yield opened[0], opened[1], len(text), opened[2]
