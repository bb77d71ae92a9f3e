"""A model that plays a script: what tests put in the place of a real one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import TypeAlias

from toolhand.core.events import TextDelta
from toolhand.core.language import say
from toolhand.core.messages import ModelOutput, ModelRequest, RawCall, Usage

Scripted: TypeAlias = "str | ModelOutput | RawCall | Sequence[RawCall] | BaseException"
"""One reply: a text, a whole output, structured calls, or an exception to raise."""

Script: TypeAlias = (
    "Iterable[Scripted | Callable[[ModelRequest], Scripted]] | Callable[[ModelRequest], Scripted]"
)


class ScriptedModel:
    """Answers with the replies of a script, in order, and keeps every request that it got.

    Args:
        replies: the replies, each a text, a `ModelOutput`, `RawCall`s, an exception, or a function of the request that gives
            one of these; or one such function for all requests.
        name: what it is called.
        chunk_size: how many characters a streamed piece of text has.
    """

    def __init__(self, replies: Script, *, name: str = "scripted", chunk_size: int = 8) -> None:
        if chunk_size < 1:
            raise ValueError(
                say(
                    f"chunk_size must be at least 1, not {chunk_size}",
                    f"chunk_size 至少为 1，不能是 {chunk_size}",
                )
            )
        self.name = name
        self.requests: list[ModelRequest] = []
        self.is_closed = False
        self._chunk_size = chunk_size
        self._endless = replies if callable(replies) else None
        self._replies = [] if callable(replies) else [replies] if isinstance(replies, str) else list(replies)

    async def complete(self, request: ModelRequest) -> ModelOutput:
        """The next reply.

        Raises:
            AssertionError: when the script has run out.
        """
        self.requests.append(request)
        return self._output(request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelOutput]:
        """The next reply in pieces. An exception that the script holds is raised before the first one.

        Raises:
            AssertionError: when the script has run out.
        """
        self.requests.append(request)
        output = self._output(request)
        for start in range(0, len(output.text), self._chunk_size):
            yield TextDelta(text=output.text[start : start + self._chunk_size])
        yield output

    async def close(self) -> None:
        """Notes that it was closed."""
        self.is_closed = True

    @property
    def replies_left(self) -> int | None:
        """How many replies have not been asked for, or None where a function answers everything."""
        return None if self._endless else len(self._replies) - len(self.requests)

    def _output(self, request: ModelRequest) -> ModelOutput:
        number = len(self.requests)
        if self._endless is None and number > len(self._replies):
            raise AssertionError(
                f"the script of the model '{self.name}' has {len(self._replies)} replies, but it was asked {number} times"
            )
        reply = self._endless or self._replies[number - 1]
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, ModelOutput):
            return reply
        if isinstance(reply, str):
            return ModelOutput(text=reply, usage=Usage(requests=1))
        calls = (reply,) if isinstance(reply, RawCall) else tuple(reply)
        return ModelOutput(calls=calls, finish_reason="tool_calls", usage=Usage(requests=1))
