"""Histories that come from elsewhere: read in any provider's shape, and mended where they are damaged.

`reading` turns dicts into messages, `pairing` finds each result's call, `mend` puts everything in order. Only what can be mended
in one way is mended; anything else is a `HistoryError`.
"""

from __future__ import annotations

from toolhand.sessions.healing.mend import Healed, heal
from toolhand.sessions.healing.problems import HistoryError
from toolhand.sessions.healing.reading import read_history

__all__ = ["Healed", "HistoryError", "heal", "read_history"]
