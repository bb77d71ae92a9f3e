"""What must come before what: results that are used, and preconditions that name tools. The standard library's graph sorts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from toolhand.core.tools import Tool
from toolhand.parsing.plans.nodes import Step, references
from toolhand.tools.collection import ToolCollection

Find = Callable[[str], Tool | None]


def required_tools(tool: Tool) -> tuple[str, ...]:
    """The tools that a tool's preconditions name (`requires`)."""
    return tuple(name for condition in tool.rules.before for name in getattr(condition, "requires", ()))


def waves(steps: Sequence[Step], find: Find) -> Iterator[tuple[int, ...]]:
    """The places of steps that may run side by side, one wave after the other.

    Args:
        steps: steps whose order was left open.
        find: gives a step's tool.
    """
    makers = {step.save_as: number for number, step in enumerate(steps) if step.save_as}
    tools = [find(step.tool) for step in steps]
    graph: dict[int, set[int]] = {}
    for number, step in enumerate(steps):
        used = {makers.get(found.name, number) for value in step.values for found in references(value)}
        names = required_tools(tool) if (tool := tools[number]) is not None else ()
        used |= {place for place, other in enumerate(tools) if other is not None and other.name in names}
        graph[number] = used - {number}
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError:  # each needs the other: in the order of the lines, the first says what it lacks
        yield from ((number,) for number in range(len(steps)))
        return
    while sorter.is_active():
        ready = tuple(sorted(sorter.get_ready()))
        yield ready
        sorter.done(*ready)


def needed(tool: Tool, tools: ToolCollection, met: set[str]) -> tuple[str, ...]:
    """The tools that must be called before a tool, in an order in which each finds what it needs.

    Args:
        tool: the one that is wanted.
        tools: all there are.
        met: those that were called already.
    """
    graph: dict[str, set[str]] = {}
    waiting = [tool]
    while waiting:
        one = waiting.pop()
        graph[one.name] = set(required_tools(one)) - met
        waiting += [
            found for name in graph[one.name] if name not in graph and (found := tools.get(name)) is not None
        ]
    try:
        return tuple(name for name in TopologicalSorter(graph).static_order() if name != tool.name)
    except CycleError:
        return tuple(sorted(graph[tool.name]))
