"""The incremental face: text goes to the user as soon as it surely is not, and does not begin, a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolhand.arguments.settings import DEFAULT, BindSettings
from toolhand.core.messages import FinishReason, RawCall, Reply
from toolhand.protocols.reading.gate import Gate
from toolhand.protocols.reading.settle import Settler
from toolhand.protocols.reading.structured import settle_structured
from toolhand.tools.collection import ToolCollection


class TextReader:
    """Reads one reply of a model.

    The whole text is read at `finish`, so that it does not matter how it was cut; `feed` gives the part of it that is
    already sure.

    Args:
        tools: what may be called.
        new_id: gives an id that no call has yet.
        settings: how calls are bound.
    """

    def __init__(
        self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings = DEFAULT
    ) -> None:
        self._settler = Settler(tools, new_id, settings)
        self._gate: Gate | None = None
        self._chunks: list[str] = []

    def feed(self, chunk: str) -> str:
        """Takes more of the text; gives what may be shown now."""
        if self._gate is None:
            self._gate = Gate(self._settler.tools)
        self._chunks.append(chunk)
        return self._gate.feed(chunk)

    def finish(self, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """Ends the reading."""
        return self.read("".join(self._chunks), calls, finish_reason)

    def read(self, text: str, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """The whole text at once."""
        settled = settle_structured(self._settler, calls, finish_reason) if calls else None
        return self._settler.reply(text, finish_reason, settled)
