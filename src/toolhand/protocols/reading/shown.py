"""What of a text is shown to the user while it streams in: what a reply says begins with it."""

from __future__ import annotations

from functools import cached_property

from toolhand.protocols.reading.gate import Gate, begins_with_call
from toolhand.tools.collection import ToolCollection


class Shown:
    """The shown part of one whole text, worked out when it is first asked for.

    Args:
        text: what the model wrote.
        tools: what it may call.
    """

    def __init__(self, text: str, tools: ToolCollection) -> None:
        self._whole = text
        self._tools = tools

    @cached_property
    def _found(self) -> tuple[str, int]:
        if begins_with_call(self._whole):
            return "", 0
        gate = Gate(self._tools)
        return gate.feed(self._whole), gate.shown_to

    @property
    def text(self) -> str:
        """What was shown."""
        return self._found[0]

    @property
    def end(self) -> int:
        """Where it ends in the whole text."""
        return self._found[1]

    def kept(self, after: str, before: str) -> str:
        """A text with something left out of it (`after`), unless that was shown already."""
        return after if after.startswith(self.text) else before
