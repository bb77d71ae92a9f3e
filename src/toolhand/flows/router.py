"""`Router`: one of several agents, tools or chains, by what is asked: by a rule, by words, or by a model."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self, Unpack

from toolhand.agent import Agent
from toolhand.choosing.index import ToolIndex
from toolhand.core.errors import ErrorCode, SettingsError, ToolError
from toolhand.core.language import Language, language_of, say
from toolhand.core.tools import Tool
from toolhand.execution.running import run_blocking
from toolhand.flows.action import Action, checked, is_tool, performed
from toolhand.flows.outcome import FlowRun
from toolhand.models import Model
from toolhand.models.resolve import resolve
from toolhand.options import RunOptions
from toolhand.policies import Policy
from toolhand.run import Limits
from toolhand.sessions.memory import MemoryStore
from toolhand.sessions.session import Session
from toolhand.tools.collect import each_tool
from toolhand.toolset import Toolset

MOST_KEPT: Final = 10_000
"""Sessions whose last route is remembered."""

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "ask": "Which of these does the message belong to? Answer with its name alone.\n{routes}\n\nThe message:\n{text}",
        "none": "No route fits the message; there is: {names}.",
    },
    "zh": {
        "ask": "下面的消息属于哪一类？只回答名称。\n{routes}\n\n消息：\n{text}",
        "none": "没有适合这条消息的路由；可选：{names}。",
    },
}


@dataclass(frozen=True, slots=True)
class Route:
    """One way that a message may go.

    Args:
        action: an agent, a tool or function, a chain or another router.
        about: what it is for, in a sentence: models and words decide by it. A tool's own description by default.
    """

    action: Action
    about: str = ""


class Router:
    """Sends each message one way.

    A message that decides nothing, such as "and tomorrow?", goes the way of the last one of its session, or else `otherwise`.

    Args:
        routes: by name, `Route`s or what one may be.
        by: who decides: "words" (no model is asked), a function of the message that gives a route's name or None, or a model
            or its name.
        otherwise: the route of what fits none.
        policies: the layers around tools instead of `default_policies()`.

    Raises:
        SettingsError: when there is no route, or `otherwise` is none.
    """

    def __init__(
        self,
        routes: Mapping[str, Route | Action],
        *,
        by: Literal["words"] | str | Model | Callable[[str], Any] = "words",  # noqa: PYI051 - the one word that is no model
        otherwise: str = "",
        policies: Sequence[Policy] | None = None,
    ) -> None:
        given = {name: route if isinstance(route, Route) else Route(route) for name, route in routes.items()}
        if not given:
            raise SettingsError(say("a router needs at least one route", "路由器至少需要一条路由"))
        if otherwise and otherwise not in given:
            raise SettingsError(
                say(
                    f"otherwise='{otherwise}' is no route; there is: {', '.join(given)}",
                    f"otherwise='{otherwise}' 不是路由；现有：{'、'.join(given)}",
                )
            )
        tools = {name: each_tool(route.action)[0] for name, route in given.items() if is_tool(route.action)}
        self.tools = Toolset(list({id(tool): tool for tool in tools.values()}.values()), policies=policies)
        self.otherwise = otherwise
        self._actions = {
            name: tools[name].name if name in tools else route.action for name, route in given.items()
        }
        self._about = {
            name: route.about or _about(tools.get(name), route.action) for name, route in given.items()
        }
        entries = [
            entry
            for name, route in given.items()
            for entry in _entries(name, self._about[name], route.action)
        ]
        self._routes = tuple(name for name, _ in entries)
        self._index = ToolIndex(tool for _, tool in entries)
        self._rule: Callable[[str], Any] | None = None
        self._judge: Agent[Any] | None = None
        if isinstance(by, str | Model):
            if by != "words":
                self._judge = Agent(resolve(by), output=_literal(list(given)), limits=Limits(turns=3))
        else:
            self._rule = by
        self._last: OrderedDict[str, str] = OrderedDict()

    @classmethod
    def by_category(
        cls,
        model: str | Model,
        tools: Any,
        *,
        by: Literal["words"] | str | Model | Callable[[str], Any] = "words",  # noqa: PYI051
        otherwise: str = "",
        **options: Any,
    ) -> Self:
        """A router with an agent for each category of some tools; those without one are given to each.

        Args:
            model: what the agents ask.
            tools: as for `Agent`.
            by: who decides.
            otherwise: the category of what fits none.
            options: as for `Agent`; the agents share sessions.

        Raises:
            SettingsError: when no tool has a category.
        """
        everything = tools if isinstance(tools, Toolset) else Toolset(tools)
        names = list(dict.fromkeys(tool.rules.category for tool in everything if tool.rules.category))
        if not names:
            raise SettingsError(
                say(
                    "no tool has a category: give some @tool(category=…)",
                    "没有工具设置了类别：请用 @tool(category=…) 设置",
                )
            )
        found = resolve(model)
        options.setdefault("store", MemoryStore())
        agents = {name: Agent(found, _of(everything, name), **options) for name in names}
        return cls(agents, by=by, otherwise=otherwise)

    @property
    def names(self) -> tuple[str, ...]:
        """The routes' names."""
        return tuple(self._actions)

    async def choose(self, text: str, session: str | Session | None = None) -> tuple[str, str]:
        """The route of a message, "" where none fits, and who decided: "rule", "model", "words", "session" or "otherwise".

        Args:
            text: the message.
            session: the conversation.

        Raises:
            SettingsError: when the rule names a route that is not there.
            ModelError: when the model's server fails.
        """
        decided, reason = await self._decided(text)
        key = session.id if isinstance(session, Session) else session or ""
        if not decided and key in self._last:
            decided, reason = self._last[key], "session"
        if not decided:
            decided, reason = self.otherwise, "otherwise"
        if key and decided:
            self._last[key] = decided
            self._last.move_to_end(key)
            if len(self._last) > MOST_KEPT:
                self._last.popitem(last=False)
        return decided, reason

    async def run(self, text: str, **options: Unpack[RunOptions]) -> FlowRun:
        """Runs the route of a message.

        Args:
            text: the message.
            options: as for `Agent.run`.

        Raises:
            SettingsError: when the rule names a route that is not there, or a tool cannot take a text.
            ModelError: when a model's server fails.
        """
        return await self.performed(text, checked("a router", options))

    def run_sync(self, text: str, **options: Unpack[RunOptions]) -> FlowRun:
        """`run` for code that is not async."""
        return run_blocking(self.run(text, **options))

    async def performed(self, value: Any, options: RunOptions) -> FlowRun:
        """`run`, with options that were looked at."""
        text = value if isinstance(value, str) else str(value)
        name, reason = await self.choose(text, options.get("session"))
        if not name:
            words = _WORDS[language_of(text)]["none"].format(names=", ".join(self._actions))
            error = ToolError(code=ErrorCode.PRECONDITION_FAILED, message=words)
            return FlowRun(output=None, stopped="error", error=error, steps=())
        ran = await performed(name, self._actions[name], self.tools, value, options)
        ran = replace(ran, reason=reason)
        return FlowRun(output=ran.output, stopped=ran.stopped, error=ran.error, steps=(ran,))

    async def _decided(self, text: str) -> tuple[str, str]:
        if self._rule is not None:
            found = self._rule(text)
            found = await found if inspect.isawaitable(found) else found
            if found is not None and found not in self._actions:
                raise SettingsError(
                    say(
                        f"the router's rule gave {found!r}, which is no route; there is: {', '.join(self._actions)}",
                        f"路由规则返回了 {found!r}，它不是路由；现有：{'、'.join(self._actions)}",
                    )
                )
            return found or "", "rule"
        if self._judge is not None:
            language = language_of(text)
            routes = "\n".join(f"- {name}: {about}" for name, about in self._about.items())
            asked = await self._judge.run(_WORDS[language]["ask"].format(routes=routes, text=text))
            return asked.output or "", "model"
        scores = self._index.scores(text)
        best = max(scores, key=lambda place: scores[place], default=None)
        return ("" if best is None else self._routes[best]), "words"


def _literal(names: list[str]) -> Any:
    return Literal[tuple(names)]


def _of(tools: Toolset, category: str) -> Toolset:
    return tools.filter(lambda tool: tool.rules.category in (category, ""))


def _about(tool: Tool | None, action: Any) -> str:
    if tool is not None:
        return tool.description
    if isinstance(action, Agent):
        return "; ".join(tool.description.strip().split("\n")[0] for tool in action.tools)[:600]
    return ""


def _entries(name: str, about: str, action: Any) -> list[tuple[str, Tool]]:
    """What words find a route by: its own, and each of its tools."""
    tools = list(action.tools) if isinstance(action, Agent) else [action] if isinstance(action, Tool) else []
    return [(name, Tool(name=name, description=about)), *((name, tool) for tool in tools)]
