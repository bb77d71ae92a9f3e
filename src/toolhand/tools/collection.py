"""An ordered, immutable collection of tools: found by name, combined, filtered, prefixed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

from toolhand.core.errors import ToolDefinitionError, UnknownToolError
from toolhand.core.language import say
from toolhand.core.tools import Tool
from toolhand.tools.names import wire_name

# Wrappers that models put around a declared name, from the prompts that they were trained on.
_PREFIXES = re.compile(r"^(?:functions?|default_api|tools?|api|multi_tool_use)\s*[.:/]+\s*", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|.*", re.DOTALL)
_JOINTS = re.compile(r"[\s_\-]+")


def folded(name: str) -> str:
    """A name without case, blanks, underscores and hyphens: `getWeather`, `get-weather` and `get_weather` are one."""
    return _JOINTS.sub("", name).casefold()


def bare(name: str) -> str:
    """A name as a model sent it, without quotes, brackets, namespaces and channel markers around it."""
    name = _CHANNEL.sub("", name).strip().strip("`'\"*“”‘’").strip()
    name = name.removesuffix("()").removesuffix("（）").strip()
    return _PREFIXES.sub("", name)


class ToolCollection:
    """Tools in order, each name once.

    Args:
        tools: `Tool`s.

    Raises:
        ToolDefinitionError: when two of them have one name.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ToolDefinitionError(
                    say(
                        f"two tools are named '{tool.name}': rename one with @tool(name=…) or put a prefix before one toolset",
                        f"有两个工具都叫“{tool.name}”：请用 @tool(name=…) 改名，或给其中一个工具集加前缀",
                    )
                )
            self._tools[tool.name] = tool

    @property
    def _by_name(self) -> dict[str, Tool]:
        return self._tools

    def _of(self, tools: Iterable[Any]) -> Self:
        """A collection of this kind from other tools."""
        return type(self)(tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Tool:
        try:
            return self._by_name[name]
        except KeyError:
            there = ", ".join(self._by_name) or say("none", "无")
            raise UnknownToolError(
                say(f"there is no tool '{name}'; there is: {there}", f"没有工具“{name}”；可用：{there}")
            ) from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._by_name)})"

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(self._by_name)

    def get(self, name: str) -> Tool | None:
        """The tool of exactly this name, or None."""
        return self._by_name.get(name)

    @cached_property
    def _by_wire_name(self) -> dict[str, Tool]:
        """The tools whose names no provider takes, by the names that they have there."""
        return {wire: tool for tool in self if (wire := wire_name(tool.name)) != tool.name}

    @cached_property
    def _by_folded_name(self) -> dict[str, Tool | None]:
        found: dict[str, Tool | None] = {}
        for tool in self:
            key = folded(tool.name)
            found[key] = None if key in found else tool  # None: two tools fold alike, so neither is meant
        return found

    def lookup(self, name: str) -> Tool | None:
        """The tool that a model's spelling of a name means: exact, or alike but for case, joints and known prefixes.

        Never a jump to a name that only resembles it: that is the binder's decision.
        """
        tool = self._by_name.get(name) or self._by_wire_name.get(name)
        if tool is not None:
            return tool
        for spelling in (name, bare(name)):
            tool = self._by_folded_name.get(folded(spelling))
            if tool is not None:
                return tool
        return None

    def combine(self, *others: Iterable[Tool]) -> Self:
        """These tools and the others'.

        Raises:
            ToolDefinitionError: when two of them have one name.
        """
        return self._of([*self, *(tool for other in others for tool in other)])

    __add__ = combine

    def filter(self, keep: Callable[[Tool], bool]) -> Self:
        """Only the tools for which `keep` is true."""
        return self._of(tool for tool in self if keep(tool))

    def only(self, *names: str) -> Self:
        """Only these tools, in this collection's order.

        Raises:
            UnknownToolError: when one of them is not here.
        """
        for name in names:
            self[name]
        return self.filter(lambda tool: tool.name in names)

    def prefix(self, prefix: str) -> Self:
        """The same tools with `prefix` before each name, such as "github_"."""
        return self._of(replace(tool, name=prefix + tool.name) for tool in self)

    def rename(self, **names: str) -> Self:
        """The same tools under other names, `rename(new="old")`.

        Raises:
            UnknownToolError: when an old name is not here.
        """
        new_names = {old: new for new, old in names.items()}
        for old in new_names:
            self[old]
        return self._of(replace(tool, name=new_names.get(tool.name, tool.name)) for tool in self)

    def map(self, change: Callable[[Tool], Any]) -> Self:
        """The tools that `change` makes of these."""
        return self._of(change(tool) for tool in self)
