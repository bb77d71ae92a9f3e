"""How a tool is named to another process, and which tools cannot run in one."""

from __future__ import annotations

import base64
import functools
import types
from dataclasses import dataclass
from typing import Any

from toolhand.core.errors import SettingsError, ToolDefinitionError
from toolhand.core.language import say
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
            say(
                f"tool '{tool.name}' asks for isolation='process', which cannot be had here: {reason}; use "
                "isolation='thread' if a call that goes on after its timeout does no harm, or make the tool async",
                f"工具“{tool.name}”要求 isolation='process'，这里做不到：{reason}；如果调用超时后继续运行也无害，"
                "请用 isolation='thread'，或把工具写成 async",
            )
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
            say(
                f"tool '{tool.name}' is async and asks for isolation='process': leave isolation out, since an async tool is "
                "cancelled at its timeout, or make it a plain function",
                f"工具“{tool.name}”是 async，又要求 isolation='process'：async 工具超时会被取消，"
                "请去掉 isolation，或改成普通函数",
            )
        )
    place = importable(function)
    if place is not None:
        return Definition(family=place[0], place=":".join(place))
    try:
        carried = pack(_plain_function(function))
    except CannotTravelError as error:
        raise ToolDefinitionError(
            say(
                f"tool '{tool.name}' cannot run in a process of its own, because {error}: move the function to the top level "
                "of a module that can be imported, hand it what it needs as arguments, or use isolation='thread'",
                f"工具“{tool.name}”不能在自己的进程中运行，因为{error}：请把函数移到可导入模块的顶层、"
                "用参数传入它需要的东西，或用 isolation='thread'",
            )
        ) from None
    return Definition(
        family=str(getattr(function, "__module__", "")), carried=base64.b64encode(carried).decode()
    )


def _plain_function(function: Any) -> types.FunctionType:
    function = without_own_wrapper(function)  # it is made anew on the other side
    if isinstance(function, types.FunctionType):
        return function
    if isinstance(function, types.MethodType):
        owner = type(function.__self__).__name__
        raise CannotTravelError(
            say(
                f"it is a method of a {owner} that lives in this process alone",
                f"它是 {owner} 的方法，而那个对象只在本进程中",
            )
        )
    if isinstance(function, functools.partial):
        raise CannotTravelError(
            say(
                "it is a partial, whose arguments live in this process alone",
                "它是 partial，其参数只在本进程中",
            )
        )
    kind = type(function).__name__
    raise CannotTravelError(
        say(f"it is a {kind} that lives in this process alone", f"它是 {kind}，只在本进程中")
    )
