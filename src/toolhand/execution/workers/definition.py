"""How a tool is named to another process, and which tools cannot run in one."""

from __future__ import annotations

import base64
import functools
import types
from dataclasses import dataclass
from typing import Any

from toolhand.core.errors import SettingsError, ToolDefinitionError
from toolhand.core.tools import Tool
from toolhand.execution.stopping import is_async
from toolhand.execution.workers import linux
from toolhand.execution.workers.carried import CannotTravelError, importable, pack, without_own_wrapper


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool's function, named so that another process can have it.

    Args:
        family: the module whose workers can run it.
        place: "module:qualified.name" for what can be imported, or "".
        carried: the function itself, packed (`carried.pack`) and in base64, or "".
    """

    family: str
    place: str = ""
    carried: str = ""

    @property
    def sent(self) -> dict[str, str]:
        """As it is sent."""
        return {"family": self.family, "place": self.place, "carried": self.carried}


def check_isolation(tool: Tool) -> None:
    """Refuses a tool that asks for a process and cannot have one; never is it run with less than it asked for.

    Raises:
        SettingsError: where the system cannot end processes with their children.
        ToolDefinitionError: when the tool's function cannot run in another process; the message says what to do.
    """
    if tool.function is None:
        return
    reason = linux.unsupported()
    if reason:
        raise SettingsError(
            f"tool '{tool.name}' asks for isolation='process', which cannot be had here: {reason}; use "
            "isolation='thread' if a call that goes on after its timeout does no harm, or make the tool async"
        )
    define(tool)


def define(tool: Tool) -> Definition:
    """The tool's function as another process can have it: by name where it can be imported, else by value.

    Raises:
        ToolDefinitionError: when neither is possible; the message says what to do.
    """
    function = tool.function
    if is_async(function):
        raise ToolDefinitionError(
            f"tool '{tool.name}' is async and asks for isolation='process': leave isolation out, since an async tool is "
            "cancelled at its timeout, or make it a plain function"
        )
    place = importable(function)
    if place is not None:
        return Definition(family=place[0], place=":".join(place))
    try:
        carried = pack(_plain_function(function))
    except CannotTravelError as error:
        raise ToolDefinitionError(
            f"tool '{tool.name}' cannot run in a process of its own, because {error}: move the function to the top level of a "
            "module that can be imported, hand it what it needs as arguments, or use isolation='thread'"
        ) from None
    return Definition(
        family=str(getattr(function, "__module__", "")), carried=base64.b64encode(carried).decode()
    )


def _plain_function(function: Any) -> types.FunctionType:
    function = without_own_wrapper(function)  # it is made anew on the other side
    if isinstance(function, types.FunctionType):
        return function
    if isinstance(function, types.MethodType):
        raise CannotTravelError(
            f"it is a method of a {type(function.__self__).__name__} that lives in this process alone"
        )
    if isinstance(function, functools.partial):
        raise CannotTravelError("it is a partial, whose arguments live in this process alone")
    raise CannotTravelError(f"it is a {type(function).__name__} that lives in this process alone")
