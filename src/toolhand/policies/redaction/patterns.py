"""What is looked for in texts by default, and how a program adds a pattern of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from toolhand.policies.redaction.assignments import without_named_secrets
from toolhand.policies.redaction.command_lines import without_command_secrets
from toolhand.policies.redaction.elements import without_secret_elements
from toolhand.policies.redaction.html_tables import without_secret_cells
from toolhand.policies.redaction.masks import mask
from toolhand.policies.redaction.personal import (
    without_cards,
    without_emails,
    without_phones,
    without_resident_ids,
)
from toolhand.policies.redaction.tokens import (
    without_address_passwords,
    without_known_tokens,
    without_private_keys,
)
from toolhand.policies.redaction.written_tables import without_secret_columns


@dataclass(frozen=True, slots=True)
class Pattern:
    """One thing that is masked in texts.

    Args:
        kind: what it finds; the word that `Rules.reveals` lets through.
        without: (text, the name of the field that holds it or "") → the text with what was found masked. It runs in
            linear time and finds nothing in a mask.
        needs_notable: whether it finds nothing in a text that is not `notable.is_notable`, so that plain texts cost one look.
    """

    kind: str
    without: Callable[[str, str], str]
    needs_notable: bool = False

    @classmethod
    def matching(cls, kind: str, expression: str | re.Pattern[str]) -> Self:
        r"""A pattern from a regular expression: `Pattern.matching("employee", r"\bE-\d{6}\b")`.

        Args:
            kind: what it finds.
            expression: what is masked whole.
        """
        compiled = re.compile(expression)

        def without(text: str, label: str) -> str:
            del label
            return compiled.sub(mask(kind), text)

        return cls(kind, without)


DEFAULT: Final = (
    Pattern("secret", without_private_keys, needs_notable=True),
    Pattern("secret", without_address_passwords, needs_notable=True),
    Pattern("secret", without_named_secrets, needs_notable=True),
    Pattern("secret", without_secret_columns, needs_notable=True),
    Pattern("secret", without_secret_elements, needs_notable=True),
    Pattern("secret", without_secret_cells, needs_notable=True),
    Pattern("secret", without_command_secrets, needs_notable=True),
    Pattern("secret", without_known_tokens, needs_notable=True),
    Pattern("email", without_emails, needs_notable=True),
    Pattern("resident_id", without_resident_ids, needs_notable=True),
    Pattern("card", without_cards, needs_notable=True),
    Pattern("phone", without_phones, needs_notable=True),
)
"""Outer things first: a key inside a connection string is masked with it."""


@lru_cache(maxsize=256)
def but(patterns: tuple[Pattern, ...], revealed: frozenset[str]) -> tuple[Pattern, ...]:
    """The patterns without those kinds."""
    return tuple(pattern for pattern in patterns if pattern.kind not in revealed)


@lru_cache(maxsize=256)
def always_tried(patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    """Those of the patterns that may find something in a text without anything notable."""
    return tuple(pattern for pattern in patterns if not pattern.needs_notable)


def kinds(patterns: Iterable[Pattern]) -> frozenset[str]:
    """What these patterns find."""
    return frozenset(pattern.kind for pattern in patterns)
