"""What each liberty in binding costs. The cheapest reading wins; a dear one on a writing tool is asked about."""

from __future__ import annotations

from typing import Any, Final

from toolhand.core.messages import Fix

COSTS: Final[dict[str, int]] = {
    # the tool's name
    "tool_name_spelling": 1,
    "near_tool_name": 6,
    # the arguments' keys and their wrapping
    "key_spelling": 1,
    "key_alias": 0,
    "near_key": 4,
    "renamed_key": 4,
    "generic_key": 3,
    "repeated_key": 1,
    "extra_dropped": 3,
    "unwrapped_arguments": 2,
    "unwrapped_value": 3,
    "bare_value": 3,
    "positional_value": 2,
    "reference_filled": 3,
    "source_asked": 3,
    # what counts as not sent
    "null_is_missing": 1,
    "empty_is_missing": 1,
    "sentinel_is_missing": 2,
    "null_word": 2,
    # text
    "surrogates_mended": 1,
    "reasoning_dropped": 1,
    "number_to_string": 1,
    "boolean_to_string": 3,
    # numbers
    "float_to_integer": 1,
    "string_to_number": 1,
    "grouped_digits": 2,
    "spoken_number": 3,
    "percent": 3,
    "unit_dropped": 2,
    "unit_converted": 4,
    # truth
    "string_to_boolean": 1,
    "word_to_boolean": 2,
    "number_to_boolean": 3,
    # containers
    "json_in_string": 1,
    "item_to_array": 2,
    "split_to_array": 4,
    "array_to_item": 3,
    # a fixed set of values
    "enum_spelling": 1,
    "enum_name": 1,
    "enum_type": 1,
    "near_enum": 5,
    # dates and times
    "date_form": 2,
    "spoken_date": 3,
    "time_dropped": 3,
    "midnight_added": 3,
}

DEAR: Final = 5
"""From this cost on a single liberty is one that a person would want to hear about."""


def fix(kind: str, path: str, before: Any, after: Any) -> Fix:
    """A `Fix` of this kind with the table's cost.

    Raises:
        KeyError: when the table has no such kind: a liberty without a price is a mistake in this package.
    """
    return Fix(kind=kind, path=path, before=before, after=after, cost=COSTS[kind])
