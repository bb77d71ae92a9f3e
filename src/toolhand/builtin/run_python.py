"""`run_python`: a program that the model writes, in the sandbox of `toolhand.sandbox`; never in the agent's own process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, NotRequired, TypedDict

from pydantic import Field

from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.context import RunContext
from toolhand.core.tools import Effect, Tool
from toolhand.parsing.programs.checks import MOST_CHARACTERS
from toolhand.sandbox import Limits, arun_code
from toolhand.tools.decorator import tool
from toolhand.tools.stubs import stubs
from toolhand.toolset import Toolset

_MORE_SECONDS: Final = 30.0
"""What a sandbox may take to start, beyond what the program may take."""


class Ran(TypedDict):
    """How a program went: what it printed, and the value of its last line or the error that ended it."""

    output: str
    value: NotRequired[Any]
    error: NotRequired[str]
    files: NotRequired[list[str]]


def offer(settings: BuiltinSettings) -> list[Tool]:
    """`run_python`, where the settings give it limits."""
    return [] if settings.python is None else [python_tool(limits=settings.python)]


def python_tool(tools: Any = (), *, limits: Limits | None = None, backend: str = "auto") -> Tool:
    """A tool that runs Python.

    Args:
        tools: what a program may call, as for `Agent`; each call goes through its policies. A call that waits for a person
            ends the program.
        limits: how far a program may go.
        backend: what runs it, as for `run_code`.
    """
    held, bounds = tools if isinstance(tools, Toolset) else Toolset(tools), limits or Limits()

    async def run_python(
        code: Annotated[str, Field(max_length=MOST_CHARACTERS, examples=["print(sum(range(10)))"])],
        context: RunContext,
    ) -> Ran:
        """Runs a Python program in a sandbox, without internet and without your files.

        在沙箱中运行 Python 程序，没有网络，也看不到你的文件。

        Args:
            code: the program; print what you want to know, or end with an expression. 程序，用 print 输出结果，或以表达式结尾。
            context: the run's.

        Returns:
            What it printed, the value of its last line, or the error with its line.
        """
        outcome = await arun_code(code, held, limits=bounds, backend=backend, context=context)
        ran = Ran(output=outcome.output)
        if outcome.error is not None:
            ran["error"] = str(outcome.error)
        elif outcome.value is not None:
            ran["value"] = outcome.value
        if outcome.files:
            ran["files"] = list(outcome.files)
        return ran

    made = tool(
        run_python,
        effect=_effect(held),
        timeout=bounds.seconds + _MORE_SECONDS,
        category="code",
        untrusted=any(one.rules.untrusted for one in held),
    )
    if not len(held):
        return made
    listed = "The program can call these functions, which are there already / 程序可以直接调用这些函数：\n"
    return replace(made, description=f"{made.description}\n\n{listed}{stubs(held)}")


def _effect(tools: Toolset) -> Effect:
    """The gravest of what a program can do."""
    grave: Mapping[Effect, int] = {"reads": 0, "writes": 1, "destroys": 2}
    return max((one.rules.effect for one in tools), key=lambda effect: grave[effect], default="reads")
