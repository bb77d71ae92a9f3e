"""The rule on parameters that are named differently from what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolhand.core.tools import Tool
from toolhand.lint.finding import Finding
from toolhand.lint.parameters import each

_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MEANINGS: Final[Mapping[str, frozenset[str]]] = {
    "id": frozenset(("id", "ids", "identifier", "uuid")),
    "name": frozenset(("name", "names", "title", "called", "label", "username")),
    "email": frozenset(("email", "mail", "mailbox")),
    "phone": frozenset(("phone", "telephone", "mobile", "msisdn")),
    "date": frozenset(("date", "day", "time", "when", "datetime", "timestamp", "year", "month", "deadline")),
    "price": frozenset(("price", "cost", "amount", "fee", "money", "budget")),
    "url": frozenset(("url", "uri", "link", "href", "website", "endpoint")),
    "city": frozenset(("city", "town", "location", "place")),
    "password": frozenset(("password", "passphrase", "secret")),
}
"""What a word in a name or at the head of a description says that the value is."""

_HEAD: Final = re.compile(
    r"^(?:(?:the|a|an|your|this|its)\s+)?(?:[\w'-]+\s+){0,3}?([\w-]+)(?:\s+(?:of|to)\b|[.,;:(]|$)",
    re.IGNORECASE,
)
"""The noun that a description begins with: "The user's email.", "A unique identifier of …"."""

_TRUTH: Final = re.compile(r"(?:is|has|are|should|can|include|enable)_\w+|(?:is|has|should|can)[A-Z]\w*")
_SWITCH: Final = re.compile(r"(?:include|use|show|with|return|get|has|is|hide|no|full)(?:_|[a-z])")
_COUNT: Final = re.compile(r"(?:^|_)(?:count|quantity|limit|num|max|min)(?:$|_)")


def misnamed(tool: Tool) -> Iterator[Finding]:
    """Whether a name sounds like another type or another thing than what is taken."""
    for path, name, schema in each(tool):
        found = _type_apart(name, schema) or _meaning_apart(name, str(schema.get("description") or ""))
        if found:
            facts = {"name": path[2:], "sounds": found[0], "meant": found[1]}
            yield Finding(rule="parameter-misnamed", tool=tool.name, path=path, facts=facts)


def _type_apart(name: str, schema: Mapping[str, Any]) -> tuple[str, str] | None:
    kind = schema.get("type")
    if not isinstance(kind, str) or schema.get("enum"):
        return None
    if _TRUTH.fullmatch(name) and kind in ("integer", "number"):
        return "boolean", kind
    if _COUNT.search(name.casefold()) and kind == "boolean":
        return "number", kind
    last = _PART.findall(name)[-1:]
    if (
        last
        and not _SWITCH.match(name.casefold())
        and last[0].lower() in ("name", "email", "url", "title", "description")
        and kind in ("number", "boolean")
    ):
        return "string", kind
    return None


def _meaning_apart(name: str, told: str) -> tuple[str, str] | None:
    """What the last word of a name says, and what the head of its description says instead."""
    parts = [part.lower() for part in _PART.findall(name)]
    head = _HEAD.match(told.strip().split("\n", 1)[0][:200])
    if not parts or head is None:
        return None
    sounds, meant = _kind(parts[-1]), _kind(head[1].lower())
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", told)}
    if not sounds or not meant or sounds == meant or words & {*_MEANINGS[sounds], *parts}:
        return None
    return sounds, meant


def _kind(word: str) -> str:
    return next((kind for kind, words in _MEANINGS.items() if word in words), "")


CHECKS: Final = (misnamed,)
