"""The tools of a request as a wire declares them: written once, and the way back for calls of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.core.jsonable import jsonable
from toolhand.core.messages import RawCall, ToolCall
from toolhand.core.tools import Tool, ToolChoice
from toolhand.models.wire import json_bytes, renamed
from toolhand.tools.export import exported


class Declared:
    """Keeps the tools of the last request and their JSON.

    Args:
        form: the form in which the provider takes them.
    """

    def __init__(self, form: str) -> None:
        self.form = form
        self._tools: tuple[Tool, ...] = ()
        self._json = b"[]"
        self._by_name: Mapping[str, Tool] = {}

    def written(self, tools: Sequence[Tool]) -> bytes:
        """The tools as a JSON array. The same tools are written once."""
        # Compared by identity: a Tool is immutable, and comparing schemas would cost more than writing them.
        if len(self._tools) != len(tools) or any(a is not b for a, b in zip(self._tools, tools, strict=True)):
            self._tools = tuple(tools)
            self._by_name = {tool.name: tool for tool in tools}
            self._json = json_bytes([exported(tool, self.form).schema for tool in tools])
        return self._json

    def arguments(self, call: ToolCall) -> dict[str, Any]:
        """A call's arguments as the provider would have sent them, whatever they hold."""
        plain: dict[str, Any] = jsonable(dict(call.arguments))
        tool = self._by_name.get(call.name)
        return plain if tool is None else dict(exported(tool, self.form).wire_arguments(plain))

    def own(self, call: RawCall, tools: Sequence[Tool]) -> RawCall:
        """A call as its tool means it."""
        return renamed(call, tools, self.form)


def allowed(tools: Sequence[Tool], choice: ToolChoice) -> tuple[Tool, ...]:
    """The tools that a choice allows, for providers that have no word for a subset: it is declared alone."""
    if not choice.names or choice.mode == "none":
        return tuple(tools)
    return tuple(tool for tool in tools if tool.name in choice.names)


def one_named(choice: ToolChoice) -> str | None:
    """The only tool that must be called, or None."""
    return choice.names[0] if choice.mode == "required" and len(choice.names) == 1 else None


def pieces_of(text: str, lengths: Sequence[int]) -> list[str]:
    """A text in the pieces in which it came; in one piece where it is not the same text any more."""
    if sum(lengths) != len(text):
        return [text, *[""] * (len(lengths) - 1)]
    found, start = [], 0
    for length in lengths:
        found.append(text[start : start + length])
        start += length
    return found
