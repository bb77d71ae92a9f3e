"""Native function calling: tools are declared to the server and calls come back structured.

What the server left in the text is read too.

Source: https://platform.openai.com/docs/guides/function-calling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolhand.arguments.settings import BindSettings
from toolhand.core.language import Language
from toolhand.core.messages import Message, ModelRequest
from toolhand.core.tools import ToolChoice
from toolhand.protocols import Reader
from toolhand.protocols.reading.stream import TextReader
from toolhand.tools.collection import ToolCollection


class Native:
    """Leaves the writing of calls to the server, and salvages the calls that it missed."""

    name = "native"

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        """The history as it is: calls and results keep their structure on the wire."""
        return ModelRequest(
            messages=tuple(messages), tools=tuple(tools), tool_choice=choice, language=language
        )

    def reader(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """Reads structured calls, and text in which a call was left."""
        return TextReader(tools, new_id, settings)


PROTOCOL = Native()
