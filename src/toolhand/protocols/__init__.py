"""How a model says "call this": one file a protocol, each renders the whole history and reads what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from toolhand.arguments.settings import BindSettings
from toolhand.core.language import Language
from toolhand.core.messages import FinishReason, Message, ModelOutput, ModelRequest, RawCall, Reply
from toolhand.core.tools import ToolChoice
from toolhand.tools.collection import ToolCollection


class Reader(Protocol):
    """Reads one reply as it streams in. Any chunking gives the same `Reply`; a whole text is one chunk."""

    def feed(self, chunk: str) -> str:
        """Takes more of the text; gives the part that is surely for the user and may be shown now.

        All that was given before `finish` is a prefix of the final `Reply.text`.
        """
        ...

    def read(self, text: str, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """The whole text at once, where nothing is shown before it has ended."""
        ...

    def finish(self, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """Ends the reading.

        Args:
            calls: the structured calls that came beside the text.
            finish_reason: why the model stopped; "length" makes an unfinished call `truncated`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a reply does not count as it is, and what to ask instead, once.

    Args:
        reason: a word, as in `AskedAgain`.
        odds: how sure the model was, 0 to 1.
        request: what to ask now.
    """

    reason: str
    odds: float
    request: ModelRequest


@runtime_checkable
class Doubting(Protocol):
    """A protocol that may ask a second time in the same turn."""

    def again(self, request: ModelRequest, output: ModelOutput, reply: Reply) -> Doubt | None:
        """What to ask instead, where a reply is doubtful; None where it counts."""
        ...


class ModelProtocol(Protocol):
    """A way of writing calls down, both ways. Found by its file's name: each file has a `PROTOCOL`."""

    @property
    def name(self) -> str:
        """Its file's name."""
        ...

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        """The whole neutral history as a request. Stateless; a longer history only appends to what it emits."""
        ...

    def reader(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """A fresh reader for one reply; `settings` say how its calls are bound."""
        ...
