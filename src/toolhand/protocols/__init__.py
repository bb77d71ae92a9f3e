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


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A reply with all that led to it.

    Args:
        messages: the neutral history that was rendered.
        tools: what was shown.
        request: what was asked.
        output: what the model wrote.
        reply: what was understood.
    """

    messages: Sequence[Message]
    tools: ToolCollection
    request: ModelRequest
    output: ModelOutput
    reply: Reply


@dataclass(frozen=True, slots=True)
class Settled:
    """How a doubt ended.

    Args:
        sure: how sure it is that a call is meant, 0 to 1.
        instead: what to ask, whose answer counts instead; None where the reply counts after all.
        judged: takes that answer and tells how sure it is now, and whether the answer counts; else the first reply does. None
            where it counts in any case.
    """

    sure: float
    instead: ModelRequest | None
    judged: Callable[[Reply], tuple[float, bool]] | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a reply may not count as it is, and how to find out.

    Args:
        reason: a word, as in `AskedAgain`.
        question: what to ask; its output is not shown. None where it is plain that the reply cannot count.
        settled: takes the output to the question, or the reply's own where there is none, and ends the doubt.
    """

    reason: str
    question: ModelRequest | None
    settled: Callable[[ModelOutput], Settled]


@runtime_checkable
class Doubting(Protocol):
    """A protocol that may ask further in the same turn."""

    def again(self, said: Said) -> Doubt | None:
        """The doubt about a reply; None where it counts."""
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
