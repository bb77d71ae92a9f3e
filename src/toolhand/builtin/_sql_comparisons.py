"""Which comparisons a statement cannot find anything without, told from its text alone.

The text is only read, never changed. Wherever it could mean something else (OR, NOT, a derived table, a dialect's own quoting)
nothing is told: a comparison that need not hold explains no empty answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|--(?=\s|$)[^\n]*|/\*(?!!)(?:[^*/]|\*(?!/)|/(?!\*))*+\*/)"""
    r"""|(?P<text>'(?:[^'\\]|'')*+')"""
    r"""|(?P<quoted>"(?:[^"\\]|"")*+"|`[^`\\]*+`|\[[^\]\\]*+\])"""
    r"""|(?P<word>[^\W\d]\w*)"""
    r"""|(?P<other>\d[\w.]*|[<>=]{1,2}|!=|[(),.;*+/%；]|-(?!-))"""
)
_UNCERTAIN: Final = frozenset(
    re.findall(
        r"\w+", "or xor not case union intersect except with left right full outer filter all any some values"
    )
)
"""Words in whose presence a comparison need not hold, or names may stand for something else than a table's."""

_CLAUSES: Final = {
    **dict.fromkeys(("from", "join", "inner", "cross", "natural"), "from"),
    **dict.fromkeys(("group", "having", "order", "limit", "offset", "fetch", "window"), "tail"),
    "select": "select",
    "where": "where",
}
_BEFORE: Final = ("where", "on", "and", "(")
_AFTER: Final = frozenset(("", "and", ")", ";", "；", "where", "join", "inner", "cross", *_CLAUSES))


class Token(NamedTuple):
    """A piece of a statement: its kind, and what it says, words without case and quoted names without quotes."""

    kind: str
    said: str


class Comparison(NamedTuple):
    """`column = 'value'`, which has to hold; the names as they are written."""

    column: str
    value: str


def comparisons(sql: str) -> tuple[frozenset[str], list[Comparison]]:
    """The tables that a statement names, without case, and what it compares; nothing of either where it is not certain.

    Args:
        sql: one statement of any dialect.
    """
    tokens = _tokens(sql)
    if not tokens or any(token.kind == "word" and token.said.casefold() in _UNCERTAIN for token in tokens):
        return frozenset(), []
    tables: set[str] = set()
    found: list[Comparison] = []
    for at, clause in _clauses(tokens):
        if clause == "from" and _word(tokens, at - 1) in ("from", "join", ","):
            if tokens[at].said == "(":
                return frozenset(), []
            while _word(tokens, at + 1) == ".":
                at += 2  # noqa: PLW2901 - a name with its schema is one
            tables.add(tokens[at].said.casefold() if at < len(tokens) else "")
        elif clause == "where" and _word(tokens, at - 1) in _BEFORE:
            found += _comparison(tokens, at)
    return frozenset(tables), found


def _tokens(sql: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(sql):
        match = _TOKEN.match(sql, at)
        if match is None:
            return []
        at, kind, said = match.end(), match.lastgroup or "", match.group()
        if kind == "text":
            said = said[1:-1].replace("''", "'")
        elif kind == "quoted":
            said = said[1:-1].replace('""', '"')
        if kind != "blank":
            found.append(Token(kind, said))
    return found


def _word(tokens: Sequence[Token], at: int) -> str:
    """A keyword or sign without case; empty beyond the ends, and for what is quoted."""
    return (
        tokens[at].said.casefold() if 0 <= at < len(tokens) and tokens[at].kind in ("word", "other") else ""
    )


def _clauses(tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """Each token's place and its clause: "select", "from", "where", "tail", or "" where it counts for nothing."""
    outer: list[str] = []
    clause, is_dead = "tail", 0
    for at in range(len(tokens)):
        word = _word(tokens, at)
        yield at, "" if is_dead else clause
        if word == "(":
            inner = "" if is_dead else _inside(tokens, at, clause)
            outer.append(clause)
            clause, is_dead = inner, is_dead + (not inner)
        elif word == ")" and outer:
            is_dead -= not clause
            clause = outer.pop()
        elif not is_dead:
            clause = "where" if word == "on" and clause == "from" else _CLAUSES.get(word, clause)


def _inside(tokens: Sequence[Token], at: int, clause: str) -> str:
    """The clause that a bracket opens in; empty where what is in it need not hold."""
    before = _word(tokens, at - 1)
    if clause == "where" and before in _BEFORE:
        return "where"
    is_asked = before in ("in", "exists") or (before == "=" and tokens[at - 2].kind in ("word", "quoted"))
    return "tail" if clause == "where" and is_asked and _word(tokens, at + 1) == "select" else ""


def _comparison(tokens: Sequence[Token], at: int) -> Iterator[Comparison]:
    while _word(tokens, at + 1) == ".":
        at += 2
    if at + 2 >= len(tokens) or tokens[at].kind not in ("word", "quoted"):
        return
    after = tokens[at + 3] if at + 3 < len(tokens) else Token("other", "")
    is_whole = after.kind in ("word", "other") and after.said.casefold() in _AFTER
    if tokens[at + 1].said in ("=", "==") and tokens[at + 2].kind == "text" and is_whole:
        yield Comparison(tokens[at].said, tokens[at + 2].said)
