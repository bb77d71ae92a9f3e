"""Texts and references as they stand in a plan: escapes, references inside a text, the path to a part of a result."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from toolhand.parsing.plans.nodes import Literal, Reference, Template

PATH: Final = re.compile(r"\.(\w+)|\[(?:(-?\d+)|\"([^\"\n]*)\"|'([^'\n]*)')\]")
_TAIL: Final = r"((?:\.(?:[A-Za-z0-9_]+|[^\W\dA-Za-z_]\w*)|\[(?:-?\d+|\"[^\"\n]*\"|'[^'\n]*')\])*)"
_NAME: Final = r"([A-Za-z_][A-Za-z0-9_]*|[^\W\dA-Za-z_]\w*)"
_SHAPE: Final = r"(?:![rsa])?(?::([<>^]?[+]?0?\d{0,2},?(?:\.\d{1,2})?[dfgs%]?))?"
# In a text: an escape, `{$w.a}` or `{{w}}` (also with a length or a format of Python's), `${w.a}`, `$w.a`.
_IN_TEXT: Final = re.compile(
    rf"\\(u[0-9a-fA-F]{{4}}|.)|\{{\{{\s*(\$?){_NAME}{_TAIL}\s*\}}\}}"
    rf"|\{{\s*((?:len|str)\(\s*)?(\$?){_NAME}{_TAIL}(?(5)\s*\))\s*{_SHAPE}\}}"
    rf"|\$\{{{_NAME}{_TAIL}\}}|\${_NAME}{_TAIL}",
    re.DOTALL,
)
_BRACED: Final = re.compile(r"\\.|\{{1,2}([^{}\n]{1,300})\}{1,2}", re.DOTALL)
_CALLS: Final = re.compile(r"\$?[^\W\d][\w.]{2,}\((?:\s*(?:[^\W\d]\w*\s*=|[\"'$]).*|\s*)\).*", re.DOTALL)
_SUBSCRIPT: Final = re.compile(r"\[(?:'[^'\n]*'|\"[^\"\n]*\")\]")
_CALCULATES: Final = re.compile(r"[-+*/%()<>?|]|\b(?:if|for)\b")
_NAMES: Final = re.compile(r"\$?[^\W\d]\w*")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}


def text(written: str, saved: Collection[str]) -> Literal | Template | Reference:
    """A text in its quotes: plain, with references in it, or nothing but one reference.

    Args:
        written: it, with its quotes and prefix.
        saved: the variables that exist; another name without a mark around it is left as it stands.
    """
    body, is_template = inside(written), written[0] in "fF"
    parts: list[str | Reference] = []
    end = 0
    for found in _IN_TEXT.finditer(body):
        parts += [body[end : found.start()], _piece(found, saved, is_template=is_template)]
        end = found.end()
    merged = _merged([*parts, body[end:]])
    if len(merged) == 1 and isinstance(merged[0], Reference) and not merged[0].shape:
        return merged[0]
    if any(isinstance(part, Reference) for part in merged):
        return Template(tuple(merged))
    return Literal("".join(map(str, merged)))


def plain_text(written: str) -> str:
    """A text in which nothing is a reference, such as a key."""
    return _IN_TEXT.sub(lambda found: _escaped(found[1]) if found[1] else found[0], inside(written))


def inside(written: str) -> str:
    """A text without its quotes and prefix."""
    body = written.lstrip("fFrR")
    return body[3:-3] if body[:3] in ('"""', "'''") and len(body) > 5 else body[1:-1]


def _escaped(escape: str) -> str:
    is_code = escape[0] == "u" and len(escape) > 1
    return chr(int(escape[1:], 16)) if is_code else _ESCAPES.get(escape, escape)


def has_formula(written: str, saved: Collection[str]) -> bool:
    """Whether braces in a text hold more than a variable and its parts: Python would calculate there, a plan cannot.

    Args:
        written: the text, with its quotes and prefix.
        saved: the variables that exist.
    """
    return any(
        _is_formula(found[1], saved, is_template=written[0] in "fF")
        for found in _BRACED.finditer(inside(written))
        if found[1] and not _IN_TEXT.fullmatch(found[0])
    )


def _is_formula(held: str, saved: Collection[str], *, is_template: bool) -> bool:
    if is_template or _CALLS.fullmatch(held.strip()):
        return True
    bare = _SUBSCRIPT.sub("", held)
    if any(mark in bare for mark in "\"':") or not _CALCULATES.search(bare):
        return False
    return any(name[0] == "$" or name in saved for name in _NAMES.findall(bare))


def _piece(found: re.Match[str], saved: Collection[str], *, is_template: bool) -> str | Reference:
    if found[1]:
        return _escaped(found[1])
    name = found[3] or found[7] or found[10] or found[12]
    parts = path(found[4] or found[8] or found[11] or found[13] or "")
    if found[5] and found[5].startswith("len"):
        parts = (*parts, "length")
    is_whole = found.end() - found.start() >= len(found.string)
    is_marked = bool(
        found[2] or found[6] or found[10] or (found[12] and is_whole) or (is_template and found[7])
    )
    return Reference(name, parts, found[9] or "") if is_marked or name in saved else found[0]


def _merged(parts: list[str | Reference]) -> list[str | Reference]:
    found: list[str | Reference] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return found


def path(tail: str) -> tuple[str | int, ...]:
    """The keys and places of `.a[0]["b"]`."""
    found: list[str | int] = []
    for match in PATH.finditer(tail):
        word = match[1] or match[3] or match[4] or ""
        index = match[2] if match[2] is not None else word if match[1] and word.isdigit() else None
        found.append(word if index is None else int(index))
    return tuple(found)


def reference(written: str) -> Reference:
    """`$w.a[0]`, with or without its mark and braces."""
    inner = written.removeprefix("$")
    inner = inner[1:-1] if inner.startswith("{") else inner
    first = PATH.search(inner)
    return Reference(
        inner[: first.start()] if first else inner, path(inner[first.start() :]) if first else ()
    )
