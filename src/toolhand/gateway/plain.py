"""A request without tools: nothing in its answer can be a call, so all of it goes to the client as it comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolhand.arguments.settings import BindSettings
from toolhand.core.language import Language
from toolhand.core.messages import FinishReason, Message, ModelRequest, RawCall, Reply
from toolhand.core.tools import ToolChoice
from toolhand.protocols import Reader
from toolhand.tools.collection import ToolCollection


class PlainReader:
    """Gives the text on, whatever is in it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, chunk: str) -> str:
        """Takes a piece; gives it."""
        self._pieces.append(chunk)
        return chunk

    def read(self, text: str, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """The whole text."""
        del calls, finish_reason
        return Reply(text=text)

    def finish(self, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """The end."""
        return self.read("".join(self._pieces), calls, finish_reason)


class Plain:
    """The history as it is, and the answer as it is."""

    name = "plain"

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        """No tools."""
        del tools, choice
        return ModelRequest(messages=tuple(messages), language=language)

    def reader(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """Reads nothing into it."""
        del tools, new_id, settings
        return PlainReader()


PLAIN = Plain()
