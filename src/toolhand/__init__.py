"""Toolhand: tool use that holds up with any model.

    from toolhand import Agent, tool

The names below are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own constant, without the 8 ms that importing typing takes

if TYPE_CHECKING:
    from typing import Any

    from toolhand.agent import Agent
    from toolhand.choosing.choose import Choose
    from toolhand.core.context import RunContext
    from toolhand.core.errors import ErrorCode, FatalError, ToolError, ToolFailure, ToolhandError
    from toolhand.core.messages import Message, Reply, ToolCall, ToolResult
    from toolhand.core.tokens import estimate_tokens
    from toolhand.core.tools import Tool
    from toolhand.flows.chain import Chain
    from toolhand.flows.router import Router
    from toolhand.protocols.parse import parse, reader
    from toolhand.run import Limits, Run
    from toolhand.sessions.session import Session
    from toolhand.sessions.trimming.history import History
    from toolhand.tools.decorator import tool
    from toolhand.tools.signature import Injected
    from toolhand.toolset import Toolset

__version__ = "0.1.0"

_HOMES = {
    "Agent": "agent",
    "Chain": "flows.chain",
    "Choose": "choosing.choose",
    "ErrorCode": "core.errors",
    "FatalError": "core.errors",
    "History": "sessions.trimming.history",
    "Injected": "tools.signature",
    "Limits": "run",
    "Message": "core.messages",
    "Reply": "core.messages",
    "Router": "flows.router",
    "Run": "run",
    "RunContext": "core.context",
    "Session": "sessions.session",
    "Tool": "core.tools",
    "ToolCall": "core.messages",
    "ToolError": "core.errors",
    "ToolFailure": "core.errors",
    "ToolResult": "core.messages",
    "Toolset": "toolset",
    "ToolhandError": "core.errors",
    "estimate_tokens": "core.tokens",
    "parse": "protocols.parse",
    "reader": "protocols.parse",
    "tool": "tools.decorator",
}

__all__ = [
    "Agent",
    "Chain",
    "Choose",
    "ErrorCode",
    "FatalError",
    "History",
    "Injected",
    "Limits",
    "Message",
    "Reply",
    "Router",
    "Run",
    "RunContext",
    "Session",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolFailure",
    "ToolResult",
    "ToolhandError",
    "Toolset",
    "estimate_tokens",
    "parse",
    "reader",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its home when it is first used (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'toolhand' has no attribute '{name}'")
    from importlib import import_module  # noqa: PLC0415 - only when a name is used

    value = getattr(import_module(f"toolhand.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
