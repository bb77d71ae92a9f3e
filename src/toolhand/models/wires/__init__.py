"""The protocols that model servers speak: the neutral request as bytes, the answer as the neutral output. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from yarl import URL

from toolhand.core.errors import ModelError
from toolhand.core.messages import ModelOutput, ModelRequest


class Incoming(Protocol):
    """One streamed answer, as it comes in."""

    @property
    def is_finished(self) -> bool:
        """Whether the answer is known to be whole."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come, so that the connection's end need not be waited for."""
        ...

    def feed(self, chunk: Any) -> str:
        """Takes a parsed chunk; gives its piece of the text, which may be empty.

        Raises:
            ModelError: when the chunk is an error.
        """
        ...

    def finish(self) -> ModelOutput:
        """The whole output."""
        ...


@runtime_checkable
class Learning(Protocol):
    """A wire that adapts itself to what its server refuses."""

    def learns(self, error: ModelError, body: bytes) -> bool:
        """Whether an error said what to do otherwise than in this body; the next one does it."""
        ...


class Wire(Protocol):
    """A provider's protocol."""

    model: str
    """The model's name on the wire."""

    def url(self, base: URL, *, streams: bool) -> URL:
        """Where a request goes."""
        ...

    def headers(self, api_key: str) -> Mapping[str, str]:
        """What a request's head holds; `api_key` is "" where there is none."""
        ...

    def body(self, request: ModelRequest, *, streams: bool) -> bytes:
        """The request as JSON, in UTF-8."""
        ...

    def whole(self, body: Any, request: ModelRequest) -> ModelOutput:
        """A whole answer.

        Raises:
            ModelError: when it holds an error, or no reply.
        """
        ...

    def incoming(self, request: ModelRequest) -> Incoming:
        """A reader for one streamed answer."""
        ...
