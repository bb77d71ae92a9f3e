"""Notices that a model has fallen into repeating itself, which small ones do at temperature 0 and never stop."""

from __future__ import annotations

from typing import Final

LONGEST_PERIOD: Final = 200
"""In characters. A repeated tool call is about 60 to 150."""

FEWEST_REPEATS: Final = 8

SHORTEST_RUN: Final = 320
"""In characters: a rule of dashes or a column of equal numbers is shorter."""

_CHECK_EVERY: Final = 32


class RepetitionGuard:
    """Watches a text as it grows. The work for each character is bounded."""

    def __init__(self) -> None:
        self._tail = ""
        self._unchecked = 0
        self.is_repeating = False
        """Whether the text ends in one piece repeated many times over."""

    def feed(self, text: str) -> bool:
        """Takes more of the text; gives `is_repeating`."""
        self._tail = (self._tail + text)[-(LONGEST_PERIOD * FEWEST_REPEATS) :]
        self._unchecked += len(text)
        if self._unchecked >= _CHECK_EVERY and not self.is_repeating:
            self._unchecked = 0
            self.is_repeating = any(self._has_period(period) for period in range(1, LONGEST_PERIOD + 1))
        return self.is_repeating

    def _has_period(self, period: int) -> bool:
        length = max(period * FEWEST_REPEATS, SHORTEST_RUN)
        if length > len(self._tail):
            return False
        run = self._tail[-length:]
        return run[period:] == run[:-period] and not run.isspace()
