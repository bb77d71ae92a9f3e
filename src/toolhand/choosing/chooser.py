"""Decides at each message of a user which tools the model is shown, and finds others when they are looked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeVar

from toolhand.choosing.choose import Choose
from toolhand.choosing.index import ToolIndex
from toolhand.choosing.search_tool import SEARCH_TOOLS, search_tool
from toolhand.choosing.selection import Selection, select, selection_of
from toolhand.core.choice_events import ToolsChosen
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ModelError, SettingsError, ToolError
from toolhand.core.language import say
from toolhand.core.messages import Reply, ToolCall
from toolhand.core.tools import Tool
from toolhand.sessions.session import Session
from toolhand.tools.collection import ToolCollection

if TYPE_CHECKING:
    from toolhand.choosing.vectors import ToolVectors

LOOKS_BACK: Final = 60
"""How many of the last messages are looked at for tools that were called, when a list begins anew."""

_UNSEEN: Final = {
    "en": (
        "'{name}' was not shown to you, so it did not run: its arguments may have been guessed.",
        "It is shown now: read its description, then call it again if it is what you need.",
    ),
    "zh": (
        "“{name}”之前没有展示给你，参数可能是猜的，因此没有运行。",
        "现在已展示：请先阅读它的说明，确实需要再重新调用。",
    ),
}


class Extendable(Protocol):
    """What the loop calls: tools that can be made more."""

    def __iter__(self) -> Iterator[Tool]: ...
    def __len__(self) -> int: ...
    def extended(self, *tools: Tool) -> Self:
        """These and some more."""
        ...


Tools = TypeVar("Tools", bound=Extendable)


class _Pool:
    """What is chosen among, as it is at one time."""

    def __init__(self, tools: Extendable) -> None:
        self.source = tools
        self.tools = tuple(tools)
        self.by_name = {tool.name: tool for tool in self.tools}
        self.among = frozenset(self.by_name)
        self.extended: Any = tools
        self.vectors: ToolVectors | None = None

    @cached_property
    def index(self) -> ToolIndex:
        """The index, made when it is first needed."""
        return ToolIndex(self.tools)


class Chooser:
    """The choice for one agent.

    Args:
        choose: how.

    Raises:
        SettingsError: when the embedding model's name cannot be read.
        MissingExtraError: when vectors are wanted and NumPy is not installed.
    """

    def __init__(self, choose: Choose) -> None:
        self.choose = choose
        self._pool: _Pool | None = None
        self._vectors_of = _vectors_of(choose)

    def is_needed(self, tools: Extendable) -> bool:
        """Whether there are more tools than are shown anyway."""
        return len(tools) > self.choose.k + len(self.choose.pinned)

    def ready(self, tools: Tools) -> Tools:
        """The tools with the one that finds others, where there is much to choose from; they are chosen among from now on.

        Args:
            tools: the tools of this moment.

        Raises:
            SettingsError: when a pinned tool is not there, or one has the name of the search tool.
        """
        if self._pool is None or self._pool.source is not tools:
            self._pool = self._made(tools)
        extended: Tools = self._pool.extended
        return extended

    def _made(self, tools: Extendable) -> _Pool:
        pool = _Pool(tools)
        for name in self.choose.pinned:
            if name not in pool.among:
                raise SettingsError(
                    say(f"Choose: there is no tool '{name}' to pin", f"Choose：没有可以固定的工具“{name}”")
                )
        if not self.is_needed(tools):
            pool.among = frozenset()  # nothing to choose: all are always shown
            return pool
        if self.choose.searches:
            if SEARCH_TOOLS in pool.among:
                raise SettingsError(
                    say(
                        f"Choose: a tool is named '{SEARCH_TOOLS}', as the one that finds tools: rename it, or searches=False",
                        f"Choose：有一个工具叫“{SEARCH_TOOLS}”，与查找工具的工具同名：请改名，或设置 searches=False",
                    )
                )
            pool.extended = tools.extended(search_tool(self.searched, pool.tools))
        pool.vectors = self._vectors_of(pool.tools)
        return pool

    async def begin(
        self,
        session: Session,
        text: str,
        context: RunContext,
        *,
        hidden: Collection[str],
        must: Iterable[str],
    ) -> None:
        """Chooses for a message, and makes the choice hold in its run.

        Args:
            session: the conversation, which keeps the list.
            text: what the user said last.
            context: the run's.
            hidden: tools that the user may not call.
            must: names that have to be shown, such as those of a tool choice.
        """
        started, pool = time.monotonic(), self._pool
        if pool is None or not pool.among:
            return
        is_new = session.shown_tools is None
        selection = Selection(pool.among, session.shown_tools or ())
        found, fault = await self.found(text, self.choose.k, without=hidden)
        wanted = [*self.choose.pinned, *must, *found]
        has_outgrown = len({*selection.names, *wanted} & pool.among) > max(self.choose.most, len(set(wanted)))
        if is_new or has_outgrown:
            earlier = _called(session) if has_outgrown or session.count > 1 else []
            room = self.choose.most - len(set(wanted))
            wanted = [*wanted, *earlier[: max(0, room)]]
            selection.restart(())
        new = selection.load(wanted)
        # Where words have found too few, the first tools fill up.
        if (room := self.choose.k - len(selection.names)) > 0:
            others = (name for name in pool.by_name if name not in selection and name not in hidden)
            new += selection.load(islice(others, room))
        session.shown_tools = selection.names
        selection.hidden = frozenset(hidden)
        select(context, selection)
        if new:
            self._tell("message", new, context, started=started, is_new=is_new or has_outgrown, fault=fault)

    async def searched(self, query: str, k: int, context: RunContext) -> list[Tool]:
        """The tools that fit what the model looks for; it is shown them from now on."""
        started = time.monotonic()
        selection = selection_of(context)
        hidden = selection.hidden if selection is not None else frozenset()
        found, fault = await self.found(query, k, without=hidden)
        if selection is not None and (new := selection.load(found)):
            self._tell("search", new, context, started=started, fault=fault)
        return [] if self._pool is None else [self._pool.by_name[name] for name in found]

    async def found(self, question: str, k: int, *, without: Collection[str] = ()) -> tuple[list[str], str]:
        """The names of the tools that a question is about, best first, and why vectors were not counted, or "".

        Args:
            question: in any words.
            k: how many at most.
            without: names that are left out.
        """
        pool = self._pool
        if pool is None:
            return [], ""
        fault = ""
        if pool.vectors is not None:
            from toolhand.choosing.vectors import together  # noqa: PLC0415 - only with vectors

            try:
                near = await pool.vectors.nearness(question)
            except ModelError as error:  # words alone are nearly as good, and better than no answer
                fault = str(error)
            else:
                scores = together(pool.index.scores(question), near)
                names = pool.index.names
                best = sorted(scores, key=lambda place: -scores[place])
                return [names[place] for place in best if names[place] not in without][:k], ""
        return [hit.name for hit in pool.index.search(question, k, without=without)], fault

    def looked_through(self, reply: Reply, tools: ToolCollection, context: RunContext) -> Reply:
        """A reply whose calls of tools that change something and were never shown go back to the model.

        Args:
            reply: what was read.
            tools: all tools.
            context: the turn's.
        """
        selection = selection_of(context)
        if selection is None:
            return reply
        unseen = [
            call for call in reply.calls if call.name not in selection and call.name not in selection.hidden
        ]
        if not unseen:
            return reply
        new = selection.load(call.name for call in unseen)
        self._tell("call", new, context, started=time.monotonic())
        if reply.program is not None:
            return reply
        refused = [call for call in unseen if (tool := tools.get(call.name)) and tool.rules.effect != "reads"]
        broken = tuple(_refused(call, context) for call in refused)
        calls = tuple(call for call in reply.calls if not any(call is other for other in refused))
        problems = tuple(call.problem for call in broken if call.problem is not None)
        return replace(
            reply, calls=calls, broken=(*reply.broken, *broken), problems=(*reply.problems, *problems)
        )

    def _tell(
        self,
        reason: Literal["message", "search", "call"],
        names: Sequence[str],
        context: RunContext,
        *,
        started: float,
        is_new: bool = False,
        fault: str = "",
    ) -> None:
        selection = selection_of(context)
        context.emit(
            ToolsChosen(
                reason=reason,
                names=tuple(names),
                shown=len(selection.names) if selection is not None else len(names),
                among=len(selection.among) if selection is not None else 0,
                seconds=time.monotonic() - started,
                is_new=is_new,
                fault=fault,
            )
        )


def _vectors_of(choose: Choose) -> Callable[[Sequence[Tool]], ToolVectors | None]:
    """Makes the vectors of some tools; None where words alone count."""
    if choose.embeddings is None:
        return lambda _: None
    from toolhand.choosing.vectors import ToolVectors, load_numpy  # noqa: PLC0415 - an extra
    from toolhand.models.embeddings import Embeddings  # noqa: PLC0415 - loads the HTTP client

    load_numpy()
    named = choose.embeddings
    model = Embeddings(named) if isinstance(named, str) else named
    return lambda tools: ToolVectors(tools, model)


def _called(session: Session) -> list[str]:
    """The tools that were called lately, the latest first."""
    messages = session.since(session.count - LOOKS_BACK)
    return list(dict.fromkeys(call.name for message in reversed(messages) for call in message.calls))


def _refused(call: ToolCall, context: RunContext) -> ToolCall:
    message, hint = _UNSEEN[context.language]
    problem = ToolError(
        code=ErrorCode.DOUBTFUL, message=message.format(name=call.name), hint=hint, retryable=True
    )
    return replace(call, problem=problem)
