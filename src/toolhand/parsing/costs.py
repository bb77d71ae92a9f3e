"""What each liberty in reading costs. One table, so that readings can be compared and a dear one asked about.

1 is a matter of spelling, 2 a matter of form, 3 a guess with little doubt, 5 a guess that a careful reader would check.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from toolhand.core.messages import Fix

COSTS: Mapping[str, int] = MappingProxyType(
    {
        "trailing_comma": 1,
        "missing_comma": 2,
        "single_quotes": 1,
        "typographic_quotes": 1,
        "escaped_quotes": 2,
        "triple_quotes": 1,
        "marked_quotes": 0,
        "unquoted_key": 1,
        "unquoted_value": 2,
        "python_literal": 1,
        "number_spelling": 1,
        "full_width_punctuation": 1,
        "other_separator": 1,
        "comment": 1,
        "raw_newline": 1,
        "inner_quotes": 3,
        "literal_backslash": 2,
        "lone_surrogate": 2,
        "mismatched_closer": 3,
        "missing_closer": 2,
        "fence": 0,
        "no_end_marker": 1,
        "no_start_marker": 1,
        "stray_marker": 1,
        "other_key_names": 0,
        "flat_arguments": 1,
        "name_as_key": 1,
        "name_in_arguments": 2,
        "arguments_as_text": 0,
        "positional_argument": 2,
        "nested_twice": 1,
        "bare_text": 1,
        "call_syntax": 1,
        "picked_field": 2,
        "bare_variable": 2,
        "missing_indent": 2,
        "nested_call": 2,
        "joined_texts": 2,
    }
)


def fix(kind: str, path: str = "$", before: Any = None, after: Any = None) -> Fix:
    """A `Fix` with its cost from the table; a kind that is not in it costs 1."""
    return Fix(kind=kind, path=path, before=before, after=after, cost=COSTS.get(kind, 1))
