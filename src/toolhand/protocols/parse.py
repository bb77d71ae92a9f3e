"""`parse` and `reader`: a model's text in, a `Reply` out. Usable alone, without an agent."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from toolhand.arguments.settings import DEFAULT, BindSettings
from toolhand.core import plugins
from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.core.messages import FinishReason, Reply
from toolhand.protocols import Reader
from toolhand.protocols.reading.settle import Settler
from toolhand.protocols.reading.stream import TextReader
from toolhand.tools.collect import collect
from toolhand.tools.collection import ToolCollection

_SPELLINGS = ("auto",)
"""What can be read beside the protocols in which a model can be asked."""


@runtime_checkable
class Listing(Protocol):
    """A protocol whose reader gives the loop one call that stands for several, and `parse` what is in it."""

    def lister(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """A reader for whoever only looks at a reply; `parse` takes the `reader` of a protocol without this one."""
        ...


def fresh_id() -> str:
    """An id for a call, unique for all practical purposes."""
    return "call_" + secrets.token_hex(8)


def parse(
    text: str,
    tools: Any,
    protocol: str = "auto",
    *,
    finish_reason: FinishReason = "stop",
    new_id: Callable[[], str] = fresh_id,
    settings: BindSettings = DEFAULT,
) -> Reply:
    """Reads a model's whole text.

    Args:
        text: what the model wrote.
        tools: a toolset, or a list of tools, functions or OpenAI schemas.
        protocol: how the model was asked to write calls down. Every spelling is read under each of ours; one of another package
            is read by its own `reader`.
        finish_reason: why the model stopped; "length" makes an unfinished call `truncated`.
        new_id: gives the calls' ids.
        settings: how calls are bound.

    Returns:
        the calls that can run, what is left to say, and what the model must mend.

    Raises:
        SettingsError: when there is no such protocol, or it has no reader.
    """
    make = _check(protocol)
    found = tools if type(tools) is ToolCollection else collect(tools)
    if make is not None:
        return make(found, new_id, settings).read(text, (), finish_reason)
    return Settler(found, new_id, settings).reply(text, finish_reason)


def reader(
    tools: Any,
    protocol: str = "auto",
    *,
    new_id: Callable[[], str] = fresh_id,
    settings: BindSettings = DEFAULT,
) -> Reader:
    """A reader for one reply that streams in; arguments as for `parse`.

    Raises:
        SettingsError: when there is no such protocol, or it has no reader.
    """
    make = _check(protocol) or TextReader
    return make(collect(tools), new_id, settings)


Make: TypeAlias = Callable[[ToolCollection, Callable[[], str], BindSettings], Reader]


def _check(protocol: str) -> Make | None:
    """The protocol's reader for whoever looks at replies; None where every spelling is read."""
    if protocol in _SPELLINGS:
        return None
    found = plugins.found("protocols", protocol, "PROTOCOL")
    if found is None:
        there = plugins.listed("protocols", "PROTOCOL", *_SPELLINGS)
        raise SettingsError(
            say(
                f"there is no protocol '{protocol}'; there is: {there}",
                f"没有“{protocol}”协议；可用：{there}",
            )
        )
    make: Make | None = found.lister if isinstance(found, Listing) else getattr(found, "reader", None)
    if not callable(make):
        raise SettingsError(
            say(
                f"the protocol '{protocol}' has no reader(tools, new_id, settings), with which its replies could be read",
                f"协议“{protocol}”没有 reader(tools, new_id, settings)，无法读取它的回复",
            )
        )
    return make
