"""Masks what stands in elements (XML, HTML) of certain names: `<phone>…</phone>`, `<api_key>…</api_key>`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from toolhand.core.lazily import lazy_pattern
from toolhand.policies.redaction.masks import DECLARED, MASKED, SECRET
from toolhand.policies.redaction.names import folded, holds_secret, promises_secret

_OPENING: Final = lazy_pattern(r"<((?:[\w\-]{1,40}:)?[^\W\d][\w\-.]{0,60})(?:\s[^<>]{0,400})?(?<!/)>")


def without_declared_elements(text: str, names: frozenset[str]) -> str:
    """The text with everything masked that stands in an element of one of these names, elements in it too.

    Args:
        text: the text.
        names: names as a tool declared them; case, joints and a namespace do not matter.
    """
    declared = frozenset(map(folded, names))
    return _masked(text, lambda name, _: DECLARED if folded(name) in declared else "", is_whole=True)


def without_secret_elements(text: str, label: str = "") -> str:
    """The text with the values masked that stand in an element with the name of a secret."""
    del label
    return _masked(text, _secret, is_whole=False)


def _secret(name: str, held: str) -> str:
    return SECRET if promises_secret(name) and holds_secret(name, held.strip()) else ""


def _masked(text: str, mask_of: Callable[[str, str], str], *, is_whole: bool) -> str:
    if "</" not in text:
        return text
    pieces: list[str] = []
    unclosed: set[str] = set()
    kept = 0
    at = text.find("<")
    while at >= 0:  # not one search through all of a huge text, which would hold everything up
        opening = _OPENING.match(text, at)
        at = text.find("<", at + 1)
        if opening is None:
            continue
        begin = opening.end()
        end = text.find("<", begin)
        if begin < kept or end < 0:
            continue
        name = opening[1].rpartition(":")[2]
        shown = mask_of(name, text[begin:end]) if is_whole or text.startswith("</", end) else ""
        if not shown:
            continue
        if is_whole and not text.startswith("</", end):
            close = -1 if opening[1] in unclosed else text.find(f"</{opening[1]}", end)
            if close < 0:
                unclosed.add(opening[1])
            end = end if close < 0 else close
        held = text[begin:end].strip()
        if held and not MASKED.fullmatch(held):
            pieces += (text[kept:begin], shown)
            kept = end
    return "".join((*pieces, text[kept:])) if pieces else text
