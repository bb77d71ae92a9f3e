"""How much code one tool call goes through: distinct functions of the package entered, and the lines that they span.

The scenario: a question, a call by the model, the tool, the answer; the second (warm) run, with a scripted model.

    python scripts/walk.py [--list]
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType

import toolhand
from toolhand import Agent, tool
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.testing import ScriptedModel

PACKAGE = str(Path(toolhand.__file__).parent)
MOST_FUNCTIONS = 80
MOST_LINES = 1200


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def script() -> list[ModelOutput]:
    """The model's two replies."""
    call = RawCall(id="c1", name="add", arguments='{"a": 1, "b": 2}')
    return [ModelOutput(calls=(call,), finish_reason="tool_calls"), ModelOutput(text="3")]


def walked() -> dict[CodeType, int]:
    """Every function of the package that the second run enters, with the lines it spans."""
    entered: set[CodeType] = set()

    def profile(frame: FrameType, event: str, _: object) -> None:
        caller: FrameType | None = frame if event == "call" else None
        while (
            caller is not None
        ):  # the one that has been at work since before, such as a thread's loop, is on the way too
            if caller.f_code.co_filename.startswith(PACKAGE):
                entered.add(caller.f_code)
            caller = caller.f_back

    async def twice() -> None:
        agent = Agent(ScriptedModel(script() * 2), tools=[add])
        await agent.run("1 + 2?")
        entered.clear()
        await agent.run("1 + 2?")

    # From the first run on, as the thread that it starts for the tool is the second one's too.
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        asyncio.run(twice())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    # A thread waits for the next call after this one: whether that is still seen is chance.
    skipped = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<lambda>", "_awaited")
    return {
        code: _span(code)
        for code in entered
        if code.co_name not in skipped and "testing" not in code.co_filename
    }


def lines_of(found: dict[CodeType, int]) -> int:
    """How many lines there are to read: a function inside another one is read with it, and once."""
    inner = {constant for code in found for constant in code.co_consts if isinstance(constant, CodeType)}
    return sum(span for code, span in found.items() if code not in inner)


def _span(code: CodeType) -> int:
    lines = [line for _, _, line in code.co_lines() if line is not None]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            lines += [line for _, _, line in constant.co_lines() if line is not None]
    return max(lines) - code.co_firstlineno + 1


def _stage(code: CodeType) -> str:
    """The folder that a function stands in, or "loop" for the files above all folders."""
    parts = Path(code.co_filename).relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else "loop"


def main() -> int:
    """Prints the figures; fails where they are over the mark."""
    found = walked()
    functions, lines, files = len(found), lines_of(found), len({code.co_filename for code in found})
    if "--list" in sys.argv:
        for code, span in sorted(
            found.items(), key=lambda item: (item[0].co_filename, item[0].co_firstlineno)
        ):
            print(
                f"{span:4d}  {Path(code.co_filename).relative_to(PACKAGE)}:{code.co_firstlineno}  {code.co_qualname}"
            )
    stages = Counter(_stage(code) for code in found)
    for stage, count in stages.most_common():
        own = {code: span for code, span in found.items() if _stage(code) == stage}
        print(f"{stage:>14}: {count:3d} functions, {lines_of(own):4d} lines")
    print(
        f"one tool call: {functions} functions in {files} files, {lines} lines (at most {MOST_FUNCTIONS} and {MOST_LINES})"
    )
    return 0 if functions <= MOST_FUNCTIONS and lines <= MOST_LINES else 1


if __name__ == "__main__":
    sys.exit(main())
