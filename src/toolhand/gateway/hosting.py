"""Tools that run here: the toolsets that requests may name, and what is remembered of their calls between two requests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from toolhand.core.errors import SettingsError, ToolDefinitionError
from toolhand.core.language import say
from toolhand.core.messages import Message, ToolCall, ToolResult
from toolhand.gateway.admission import Caller
from toolhand.gateway.refusals import Refusal, invalid
from toolhand.gateway.settings import GatewaySettings
from toolhand.gateway.wanted import NO_TOOLS, Wanted
from toolhand.load import load_tools
from toolhand.toolset import Toolset

MOST_TOGETHER: Final = 256
"""How many choices of toolsets are kept put together."""

MOST_KEPT: Final = 10_000
"""Of how many calls of clients it is remembered what ran here beside them."""


class Hosting:
    """The gateway's own toolsets.

    Args:
        settings: which there are. Each part of `tools` is one by itself too, under its own name.
        load: finds the tools of a source.

    Raises:
        SettingsError: when a source cannot be used.
    """

    def __init__(self, settings: GatewaySettings, load: Callable[[str], Toolset] = load_tools) -> None:
        parts = [part.strip() for part in settings.tools.split(",") if part.strip()]
        sources = {**{part: part for part in parts}, **settings.toolsets}
        self._toolsets: dict[str, Toolset] = {}
        for name, source in sources.items():
            try:
                self._toolsets[name] = load(source)
            except SettingsError as error:
                where = f"toolsets.{name}" if name in settings.toolsets else "tools"
                raise SettingsError(f"{where}: {error}") from None
        self._usual = tuple(parts)
        self._together: dict[tuple[str, ...], Toolset] = {(): NO_TOOLS}
        self._put_together(self._usual)

    @property
    def counts(self) -> dict[str, int]:
        """How many tools each toolset has."""
        return {name: len(tools) for name, tools in self._toolsets.items()}

    def named(self, wanted: Wanted) -> tuple[str, ...]:
        """The toolsets of a request: those that it names, or the usual ones where it brings no tools of its own."""
        if wanted.toolsets is not None:
            return tuple(dict.fromkeys(wanted.toolsets))
        return () if wanted.tools else self._usual

    def tools(self, wanted: Wanted, caller: Caller) -> Toolset:
        """The tools that run here for a request.

        Raises:
            Refusal: when it names one that is not there, or that its key may not use.
        """
        names = self.named(wanted)
        if wanted.toolsets is None:
            names = tuple(name for name in names if caller.may_run(name))
        for name in names:
            if name not in self._toolsets or not caller.may_run(name):
                there = ", ".join(one for one in self._toolsets if caller.may_run(one)) or say("none", "无")
                raise Refusal(
                    400,
                    say(
                        f"there is no toolset '{name}' here; there is: {there}",
                        f"没有工具集“{name}”；可用：{there}",
                    ),
                    code="unknown_toolset",
                    param="toolhand.tools",
                )
        return self._put_together(names)

    def _put_together(self, names: tuple[str, ...]) -> Toolset:
        found = self._together.get(names)
        if found is None:
            try:
                found = Toolset([tool for name in names for tool in self._toolsets[name]])
            except ToolDefinitionError as error:
                raise SettingsError(str(error)) from None
            if len(self._together) >= MOST_TOGETHER:  # a client may name them in any order
                self._together.clear()
            self._together[names] = found
        return found.now()


def with_own(hosted: Toolset, own: Toolset) -> Toolset:
    """The tools that run here and those of the client, as one toolset.

    Raises:
        Refusal: when two of them have one name.
    """
    if not hosted or not own:
        return hosted or own
    for tool in own:
        if tool.name in hosted:
            raise invalid(
                "tools",
                f"the tool '{tool.name}' runs here too: give yours another name",
                f"网关也有工具“{tool.name}”：请换个名称",
            )
    return hosted.extended(*own)


class Beside:
    """What ran here beside calls that a client was given: the client does not know of it, and the model has to.

    It is put back into the history when the client comes with its results, as long as it is remembered.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[ToolCall, ...], tuple[ToolResult, ...]]] = OrderedDict()

    def keep(
        self, given: Sequence[ToolCall], calls: Sequence[ToolCall], results: Sequence[ToolResult]
    ) -> None:
        """Remembers calls that ran here beside calls that were given out."""
        self._kept[given[0].id] = (tuple(calls), tuple(results))
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def restored(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """A client's history with what ran here in its place."""
        if not self._kept:
            return tuple(messages)
        found: list[Message] = []
        results: tuple[ToolResult, ...] = ()
        for message in messages:
            if results and message.role == "tool":
                found.append(replace(message, parts=(*results, *message.parts)))
                results = ()
                continue
            kept = self._kept.get(message.calls[0].id) if message.calls else None
            if kept is None:
                found.append(message)
                continue
            calls, results = kept
            found.append(replace(message, parts=(*message.parts, *calls)))
        return tuple(found)
