"""Masks the cells of written tables (CSV, TSV, Markdown, borders of dashes) by the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from toolhand.core.lazily import lazy_pattern
from toolhand.policies.redaction.masks import DECLARED, MASKED, SECRET
from toolhand.policies.redaction.names import folded, holds_secret, promises_secret

_DELIMITERS: Final = ("\t", "|", ",", ";")
_RULE: Final = lazy_pattern(r"[\s:=+\-]*")
_NAME: Final = lazy_pattern(r"[^\s.!?,:;]{1,30}(?:[ _][^\s.!?,:;]{1,30})?")
"""A column's name is a word or two."""

_IN_NAMES: Final = (
    "passw", "passphrase", "pwd", "secret", "token", "key", "credential", "cookie", "cvv", "cvc", "otp", "jwt", "密码", "口令",
    "密钥", "私钥", "令牌", "验证码", "凭证",
)  # fmt: skip
"""What the name of a column of secrets has in it, in small letters."""

_STEP: Final = 1 << 16
_LONGEST_NAME: Final = 200

Span: TypeAlias = tuple[int, int]
Mask: TypeAlias = Callable[[str], str]
"""A cell's text as it may be seen."""


def without_declared_columns(text: str, names: frozenset[str]) -> str:
    """The text with the cells masked that stand in a table under one of these names.

    Args:
        text: the text; it may hold a table anywhere.
        names: names as a tool declared them; case and joints do not matter.
    """
    if "\n" not in text:
        return text
    declared = frozenset(map(folded, names))
    places = _places(_spelled(names), text)
    return _masked(text, places, lambda name: _declared if folded(name) in declared else None)


def without_secret_columns(text: str, label: str = "") -> str:
    """The text with the cells masked that stand in a table under the name of a secret, such as `api_key`."""
    del label
    return _masked(text, _secret_places(text), _secret) if "\n" in text else text


def names_secrets(text: str) -> bool:
    """Whether a text has a part of the name of a secret anywhere."""
    lowered = text.lower()
    return any(part in lowered for part in _IN_NAMES)


def _secret_places(text: str) -> Iterable[Span]:
    # Looking for each part alone is many times faster than one search for all.
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals have longer small letters, and places must stay
        lowered = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    return sorted((at, at + len(part)) for part in _IN_NAMES for at in _each(lowered, part))


def _each(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


@lru_cache(maxsize=256)
def _spelled(names: frozenset[str]) -> re.Pattern[str]:
    joined = (r"[\s_\-.]*".join(map(re.escape, folded(name))) for name in names if folded(name))
    return re.compile("|".join(sorted(joined)) or "(?!)", re.IGNORECASE)


def _declared(cell: str) -> str:
    return cell if MASKED.fullmatch(cell) else DECLARED


@lru_cache(maxsize=1024)
def _secret(name: str) -> Mask | None:
    if not _NAME.fullmatch(name) or not promises_secret(name):
        return None

    def mask(cell: str) -> str:
        is_value = " " not in cell and not MASKED.search(cell) and holds_secret(name, cell)
        return SECRET if is_value else cell

    return mask


def _masked(text: str, places: Iterable[Span], mask_of: Callable[[str], Mask | None]) -> str:
    pieces: list[str] = []
    kept = at = 0
    for hit in places:
        if hit[0] < at:
            continue
        start = text.rfind("\n", 0, hit[0]) + 1
        start = max(start, at)  # not a line that was looked at
        at = _line_end(text, hit[1])
        for delimiter in _DELIMITERS:
            if delimiter not in text[start:at]:
                continue
            header, after = _row(text, start, delimiter)
            masks = [mask_of(_bare(text, cell)) for cell in header]
            if any(masks):
                at, found = _cells_below(text, after, delimiter, masks)
                for (begin, end), shown in found:
                    pieces += (text[kept:begin], shown)
                    kept = end
                break
        at += 1
    return "".join((*pieces, text[kept:])) if pieces else text


def _places(column: re.Pattern[str], text: str) -> Iterator[Span]:
    """The places with a name, looked for in steps: one search through all of a huge text would hold everything up."""
    at = 0
    while at < len(text):
        hit = column.search(text, at, at + _STEP + _LONGEST_NAME)
        if hit is not None:
            yield hit.span()
        at = at + _STEP if hit is None else max(hit.end(), at + 1)


def _cells_below(
    text: str, at: int, delimiter: str, masks: list[Mask | None]
) -> tuple[int, list[tuple[Span, str]]]:
    """Where the table ends, and the cells that are to be masked with what stands for them."""
    found: list[tuple[Span, str]] = []
    width = len(masks)
    while at < len(text):
        cells, after = _row(text, at, delimiter)
        if len(cells) < 2:
            if not _RULE.fullmatch(text, at, after) or not text[at:after].strip():
                break
        elif not all(_RULE.fullmatch(text, *cell) for cell in cells):
            wanted = [number for number, mask in enumerate(masks) if mask is not None]
            # A row that is longer or shorter than the head is counted from both ends.
            shift = len(cells) - width
            places = {place: masks[number] for number in wanted for place in (number, number + shift)}
            for place, mask in sorted(places.items()):
                if 0 <= place < len(cells) and mask is not None:
                    span = _inner(text, cells[place])
                    cell = text[span[0] : span[1]]
                    if cell and (shown := mask(cell)) != cell:
                        found.append((span, shown))
        at = after
    return at, found


def _row(text: str, at: int, delimiter: str) -> tuple[list[Span], int]:
    """The cells of a row and where the next begins. A quoted cell may hold delimiters and line breaks."""
    cells: list[Span] = []
    line_end = _line_end(text, at)
    while True:
        end = _quoted_end(text, at, delimiter) if text[at : at + 1] == '"' and delimiter != "|" else -1
        if end < 0:
            end = text.find(delimiter, at, line_end)
            end = line_end if end < 0 else end
        elif end > line_end:
            line_end = _line_end(text, end)
        cells.append((at, end))
        if text[end : end + 1] != delimiter:
            return cells, end + 1
        at = end + 1


def _quoted_end(text: str, at: int, delimiter: str) -> int:
    """Where a cell in quotes ends, behind its last; -1 where it is none."""
    end = text.find('"', at + 1)
    while end >= 0 and text[end + 1 : end + 2] == '"':
        end = text.find('"', end + 2)
    return end + 1 if end >= 0 and text[end + 1 : end + 2] in ("", delimiter, "\n", "\r") else -1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _bare(text: str, cell: Span) -> str:
    begin, end = _inner(text, cell)
    return text[begin:end].strip("*_`")


def _inner(text: str, cell: Span) -> Span:
    """The cell without blanks and quotes around what it holds."""
    begin, end = cell
    while begin < end and text[begin] in " \t\r\"'\ufeff":
        begin += 1
    while end > begin and text[end - 1] in " \t\r\"'":
        end -= 1
    return begin, end
