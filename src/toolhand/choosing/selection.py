"""Which tools one session's model is shown, in the order in which they came: what a turn knows of the choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from toolhand.core.context import RunContext
from toolhand.core.tools import Tool

Tools = TypeVar("Tools", bound=Iterable[Tool])

_KEY: Final = "choice among tools"


class Selection:
    """The tools that are shown now. It only grows until it is too long: what a server has read of it stays the beginning.

    Args:
        among: the names of all tools that are chosen among; whatever else a turn has is always shown.
        names: those that are shown.
    """

    def __init__(self, among: frozenset[str], names: Sequence[str] = ()) -> None:
        self.among = among
        self.names = [name for name in names if name in among]
        self.hidden: frozenset[str] = frozenset()
        """Tools that the user of this run may not call, and that are not to be found."""
        self._shown = set(self.names)
        self._kept: tuple[Any, ...] = ()

    def __contains__(self, name: str) -> bool:
        return name in self._shown or name not in self.among

    def load(self, names: Iterable[str]) -> list[str]:
        """Shows further tools, behind the others; gives those that were not there."""
        new = [name for name in dict.fromkeys(names) if name in self.among and name not in self._shown]
        self.names += new
        self._shown.update(new)
        return new

    def restart(self, names: Iterable[str]) -> None:
        """Begins anew with these."""
        self.names, self._shown, self._kept = [], set(), ()
        self.load(names)

    def kept(self, tools: Tools, hidden: frozenset[str], made: Callable[[list[Tool]], Tools]) -> Tools:
        """Of some tools those that are shown, in their order: first those that are always there.

        Args:
            tools: the tools.
            hidden: names that are left out.
            made: makes such a collection of these; asked only where something has changed since the last time.
        """
        count = len(self.names)
        if not (self._kept and self._kept[0] is tools and self._kept[1:3] == (hidden, count)):
            by_name = {tool.name: tool for tool in tools if tool.name not in hidden}
            always = [tool for name, tool in by_name.items() if name not in self.among]
            shown = made([*always, *(by_name[name] for name in self.names if name in by_name)])
            self._kept = (tools, hidden, count, shown)
        found: Tools = self._kept[3]
        return found


def selection_of(context: RunContext) -> Selection | None:
    """The selection that holds in a run; None where the model is shown all tools."""
    found = context.memory.get(_KEY)
    return found if isinstance(found, Selection) else None


def select(context: RunContext, selection: Selection) -> None:
    """Makes a selection hold in a run."""
    context.memory[_KEY] = selection
