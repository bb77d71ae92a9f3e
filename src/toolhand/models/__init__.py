"""Asking a model. An adapter translates the neutral request to a provider's wire and its answer back, nothing more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from toolhand.core.events import TextDelta
from toolhand.core.messages import ModelOutput, ModelRequest


@runtime_checkable
class Model(Protocol):
    """What the loop needs of a model: one of the two impure ports. Adapters live one file each in this folder."""

    @property
    def name(self) -> str:
        """What people call it, such as "local:small" or "openai:gpt-5"."""
        ...

    async def complete(self, request: ModelRequest) -> ModelOutput:
        """One whole output.

        Raises:
            ModelError: when the server cannot be reached or refuses.
        """
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelOutput]:
        """The same, with the text in pieces as it comes and the whole output as the last item."""
        ...

    async def close(self) -> None:
        """Gives back connections and memory."""
        ...
