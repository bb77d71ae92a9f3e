"""Where weights come from: one file a kind of source, each with `fetch` and `title`, found by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from toolhand.models.weights.catalogue import Entry
from toolhand.models.weights.partial import PartialFile


class Source(Protocol):
    """What a module in this folder has."""

    def title(self, source: Mapping[str, Any]) -> str:
        """What people call this source of an entry."""
        ...

    def fetch(self, entry: Entry, source: Mapping[str, Any], part: PartialFile) -> tuple[str, int | None]:
        """Brings the file's bytes into its part.

        Returns:
            The SHA-256 that the whole file must have, and its size in bytes where that is known.

        Raises:
            UnavailableError: when the source cannot be reached, or does not have the file.
        """
        ...
