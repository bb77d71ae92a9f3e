"""Runs one agent, tool, chain or router for a step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias, cast, runtime_checkable

from toolhand.agent import Agent
from toolhand.core.approvals import pending_of
from toolhand.core.context import RunContext
from toolhand.core.errors import SettingsError
from toolhand.core.events import Event
from toolhand.core.jsonable import jsonable
from toolhand.core.language import language_of, say
from toolhand.core.messages import ToolResult
from toolhand.core.tools import Tool
from toolhand.flows.outcome import FlowRun, StepRun
from toolhand.observability import listening
from toolhand.observability.defaults import default_sinks
from toolhand.options import RunOptions, check_values, refuse_unknown
from toolhand.sessions.session import Session
from toolhand.toolset import Toolset

_NOT_FOR_TOOLS: Final = ("limits", "tool_choice", "message_history")


@runtime_checkable
class Flow(Protocol):
    """A chain or a router."""

    async def performed(self, value: Any, options: RunOptions) -> FlowRun:
        """Its run."""
        ...


Action: TypeAlias = "Agent[Any] | Tool | Flow | Callable[..., Any]"
"""What a step may be. A plain function is made a tool."""


def checked(where: str, options: RunOptions) -> RunOptions:
    """The options of a run, once they have been looked at.

    Raises:
        SettingsError: when one is none, or cannot be what it says.
    """
    refuse_unknown(where, options, RunOptions.__optional_keys__)
    check_values(where, **options)
    return options


def is_tool(action: Any) -> bool:
    """Whether an action goes through `dispatch`."""
    return isinstance(action, Tool) or not isinstance(action, Agent | Flow)


async def performed(name: str, action: Any, tools: Toolset, value: Any, options: RunOptions) -> StepRun:
    """One action's run.

    Args:
        name: the step's.
        action: an agent, a flow, or the name of one of `tools`.
        tools: the tools of the chain or router.
        value: what it is given.
        options: the run's.

    Raises:
        SettingsError: when a tool cannot take the value.
        ModelError: when a model's server fails.
    """
    started = time.monotonic()
    if isinstance(action, Agent):
        done = _by_agent(name, await action.run(_text(value), **options))
    elif isinstance(action, Flow):
        inner = await action.performed(value, options)
        done = StepRun(name=name, output=inner.output, stopped=inner.stopped, error=inner.error, run=inner)
    else:
        done = _by_tool(name, await _called(tools, tools[action], value, options))
    return replace(done, seconds=time.monotonic() - started)


def _by_agent(name: str, run: Any) -> StepRun:
    return StepRun(name=name, output=run.output, stopped=run.stopped, run=run)


def _by_tool(name: str, result: ToolResult) -> StepRun:
    stopped = "answered" if result.ok else "approval" if pending_of(result) else "error"
    return StepRun(name=name, output=result.data, stopped=stopped, error=result.error, run=result)


async def _called(tools: Toolset, tool: Tool, value: Any, options: RunOptions) -> ToolResult:
    session, listen = options.get("session"), options.get("on_event")
    context = RunContext(
        user=options.get("user", ""),
        session_id=session.id if isinstance(session, Session) else session or "",
        permissions=frozenset(options.get("permissions", ())),
        roles=frozenset(options.get("roles", ())),
        facts=options.get("facts", {}),
        language=language_of(value if isinstance(value, str) else ""),
    )

    def hear(event: Event, context: RunContext) -> None:
        del context
        if listen is not None:
            listen(event)

    context = listening(context, (hear, *default_sinks()))
    return await tools.call(tool.name, _arguments(tool, value), context=context)


def _arguments(tool: Tool, value: Any) -> Mapping[str, Any]:
    """A value as arguments: an object as it is, anything else for the one parameter that there is."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", jsonable(value))
    if not tool.properties:
        return {}
    names = tool.required or tuple(tool.properties)
    if len(names) != 1:
        raise SettingsError(
            say(
                f"the tool '{tool.name}' takes {', '.join(tool.properties)}: say which with Step(…, takes=lambda passed: {{…}})",
                f"工具“{tool.name}”需要 {'、'.join(tool.properties)}：请用 Step(…, takes=lambda passed: {{…}}) 指明",
            )
        )
    return {names[0]: jsonable(value)}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False)
