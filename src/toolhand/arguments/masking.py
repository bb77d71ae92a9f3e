"""Takes secrets that are known out of what comes back: a server may echo what it was sent, in a spelling of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from toolhand.arguments.secrets import MASK


def masked(value: Any, secrets: Iterable[str], mask: str = MASK) -> Any:
    r"""A value in whose texts, keys among them, no secret stands; in linear time for each secret.

    It is found as it is, percent-encoded, and as JSON escapes it: `/` as `\/`, `+` as `\u002B`.

    Args:
        value: a text, or what JSON gives; anything else stays as it is.
        secrets: what may not stand there.
        mask: what stands there instead.
    """
    known = tuple(dict.fromkeys(secret for secret in secrets if secret))
    return _masked(value, _pattern(known), mask) if known else value


def _masked(value: Any, pattern: re.Pattern[str], mask: str) -> Any:
    if isinstance(value, str):
        return pattern.sub(lambda _: mask, value)
    if isinstance(value, Mapping):
        return {_masked(key, pattern, mask): _masked(part, pattern, mask) for key, part in value.items()}
    if isinstance(value, list):
        return [_masked(part, pattern, mask) for part in value]
    return value


@lru_cache(maxsize=64)
def _pattern(secrets: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(secrets, key=len, reverse=True)
    return re.compile("|".join("".join(map(_spelt, secret)) for secret in longest_first))


def _spelt(character: str) -> str:
    """A pattern for a character in any of its spellings; letters and digits have but one."""
    if character.isascii() and character.isalnum():
        return character
    bare = re.escape(character)
    others = {quote(character, safe=""), json.dumps(character)[1:-1], f"\\u{ord(character):04x}"}
    escaped = "|".join(re.escape(one) for one in sorted(others - {character}))
    return rf"(?:{bare}|\\{bare}|(?i:{escaped}))"
