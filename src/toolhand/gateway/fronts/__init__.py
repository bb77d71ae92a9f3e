"""The protocols that clients speak, one file each: a body in, neutral words out, and the answer back in its own shape. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from toolhand.core.messages import FinishReason, ToolCall, Usage
from toolhand.gateway.refusals import Refusal
from toolhand.gateway.wanted import Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a client is given.

    Args:
        text: what was said.
        calls: the calls that the client is asked to run; their arguments fit.
        finish_reason: why the answer ended.
        usage: of the asking that gave the answer.
        spent: of all askings together.
        rounds: how many replies were sent back to the model before.
        model: the model behind.
        protocol: how it was asked to write calls down.
        notes: further facts for the client, such as pending approvals.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    spent: Usage = field(default_factory=Usage)
    rounds: int = 0
    model: str = ""
    protocol: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def account(self) -> dict[str, Any]:
        """What the gateway did for it, for the details of the usage."""
        return {
            "rounds": self.rounds,
            "requests": self.spent.requests,
            "input_tokens": self.spent.input_tokens,
            "output_tokens": self.spent.output_tokens,
            **self.notes,
        }


class Writing(Protocol):
    """Writes one streamed answer."""

    def begin(self) -> bytes:
        """What comes first."""
        ...

    def text(self, piece: str) -> bytes:
        """A piece of the text."""
        ...

    def finish(self, answered: Answered) -> bytes:
        """The calls and the end; the text has been given."""
        ...

    def failed(self, refusal: Refusal) -> bytes:
        """The end where there is none."""
        ...

    def waiting(self) -> bytes:
        """What shows that the connection lives."""
        ...


class Front(Protocol):
    """A protocol that clients speak."""

    @property
    def path(self) -> str:
        """Where it is spoken."""
        ...

    def read(self, body: Mapping[str, Any]) -> Wanted:
        """A request in neutral words.

        Raises:
            Refusal: when it cannot be read.
        """
        ...

    def whole(self, answered: Answered, wanted: Wanted) -> dict[str, Any]:
        """An answer's body."""
        ...

    def writing(self, wanted: Wanted) -> Writing:
        """A writer for one streamed answer."""
        ...

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """A refusal's body."""
        ...
