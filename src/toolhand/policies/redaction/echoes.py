"""What was sent under sensitive names, in whatever spelling: texts that must not come back in other words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

from toolhand.core.tools import Tool
from toolhand.policies.redaction.names import folded

_SHORTEST: Final = 4
"""A shorter value would be found by chance in words that have nothing to do with it."""

_MOST_DEPTH: Final = 20
_CLOSE: Final = 0.74
"""How alike two names are that may be one, misspelt: one letter more, less or out of place in a short word."""


def sensitive_names(tool: Tool) -> frozenset[str]:
    """The names under which a tool's sensitive values may come: the declared ones and their aliases."""
    declared = tool.rules.sensitive
    if not declared or not tool.aliases:
        return declared
    meant = frozenset(map(folded, declared))
    return declared | {alias for alias, name in tool.aliases.items() if folded(name) in meant}


def stray_names(arguments: Any, tool: Tool) -> frozenset[str]:
    """The names in a tool's arguments that it does not know, where it has sensitive parameters: one may be meant by them.

    Args:
        arguments: what a model sent, an object or its JSON text; right or wrong.
        tool: the tool.
    """
    if not tool.rules.sensitive:
        return frozenset()
    sent = _as_json(arguments)
    known = {folded(name) for name in (*tool.properties, *tool.aliases)}
    return (
        frozenset(str(key) for key in sent if folded(str(key)) not in known)
        if isinstance(sent, Mapping)
        else frozenset()
    )


def close_names(spelled: Iterable[str], names: Iterable[str]) -> frozenset[str]:
    """Those of some spellings that may be one of these names, misspelt.

    Args:
        spelled: names as they were written; long ones are no names.
        names: declared names.
    """
    declared = {folded(name) for name in names}
    return frozenset(
        one
        for one in set(spelled)
        if len(one) <= 40 and any(_ratio(folded(one), name) >= _CLOSE for name in declared)
    )


def _ratio(one: str, other: str) -> float:
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= _CLOSE <= matcher.quick_ratio() else 0.0


def echoes_of(arguments: Any, names: Iterable[str]) -> tuple[str, ...]:
    """The values under these names, at any depth, which must not come back in another field or sentence.

    Args:
        arguments: what was sent: an object, or its JSON text.
        names: declared names; case and joints do not matter.
    """
    return tuple(
        dict.fromkeys(_found(_as_json(arguments), {folded(name) for name in names}, 0, is_named=False))
    )


def _found(value: Any, names: set[str], depth: int, *, is_named: bool) -> Iterator[str]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _found(inner, names, depth + 1, is_named=is_named or folded(str(key)) in names)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _found(inner, names, depth + 1, is_named=is_named)
    elif is_named and isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value)
        if len(text) >= _SHORTEST:
            yield text
            if not isinstance(value, str):
                yield f"{value:,}"  # as people read it


def _as_json(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None
