"""What of a long history a model is shown.

Stored histories only grow; what is shown of them is bounded. `cutting` has the rules as pure functions over messages, `window`
remembers for one session where it was cut, so that a turn costs the same however long the history is, and what is shown stays
the same at its beginning from turn to turn, as a server's prompt cache needs it.
"""

from __future__ import annotations

from toolhand.sessions.trimming.cutting import Bounds, Entry, entry_of, trim
from toolhand.sessions.trimming.history import History
from toolhand.sessions.trimming.window import Window

__all__ = ["Bounds", "Entry", "History", "Window", "entry_of", "trim"]
