"""Which part of a text that is still coming in may be shown: everything before the first thing that may begin a call."""

from __future__ import annotations

from toolhand.tools.collection import ToolCollection


class Gate:
    """Lets plain prose through and holds back what may be the beginning of a call.

    Args:
        tools: what may be called.
    """

    def __init__(self, tools: ToolCollection) -> None:
        self.tools = tools

    def feed(self, chunk: str) -> str:
        """Takes more of the text; gives what may be shown now."""
        return ""
