"""What the sandbox costs: a warm program in Monty and in full Python, tool calls from code, and how fast a program is ended.

    python -m bench sandbox

Best and median of several rounds, in one process. The machine's other work moves the median, hardly the best.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from importlib.util import find_spec

from toolhand import Toolset, tool
from toolhand.sandbox import Limits, Outcome, arun_code

ROUNDS = 20
PANDAS = "import pandas as pd\nint(pd.DataFrame({'a': range(1000)}).groupby(lambda i: i % 7).a.sum().max())"
CALLS = "t = 0\nfor i in range(1000):\n    t = add(t, i)\nt"


@tool
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


TOOLS = Toolset([add])


async def timed(title: str, backend: str, code: str, limits: Limits, rounds: int = ROUNDS) -> None:
    """Prints how long a program takes, from the call to its outcome."""
    taken: list[float] = []
    for _ in range(rounds):
        await asyncio.sleep(0.2)  # another process is made ready behind each run
        began = time.perf_counter()
        outcome = await arun_code(code, TOOLS, limits=limits, backend=backend)
        taken.append((time.perf_counter() - began) * 1e3)
        assert outcome.ok, str(outcome.error)
    print(f"{title:<44} best {min(taken):8.2f} ms   median {statistics.median(taken):8.2f} ms")


async def ended(backend: str) -> None:
    """Prints by how much a loop outlives its limit."""
    over: list[float] = []
    for _ in range(6):
        began = time.perf_counter()
        outcome: Outcome = await arun_code(
            "while True:\n    pass", limits=Limits(seconds=0.5), backend=backend
        )
        over.append((time.perf_counter() - began - 0.5) * 1e3)
        assert outcome.error is not None
        assert outcome.error.kind == "time"
    print(
        f"{f'{backend}: over a limit of 500 ms':<44} best {min(over):8.2f} ms   median {statistics.median(over):8.2f} ms"
    )


async def started() -> None:
    """Prints what the first program of a process pays: the self-test and the first worker."""
    for backend in ("monty", "process"):
        began = time.perf_counter()
        await arun_code("print(1)", backend=backend)
        print(f"{f'{backend}: the first program of all':<44} {(time.perf_counter() - began) * 1e3:13.0f} ms")


async def main() -> None:
    """All figures."""
    await started()
    limits = Limits(seconds=20, memory_mb=512)
    await timed("monty: print(1), warm", "monty", "print(1)", limits)
    await timed("monty: 1,000 tool calls", "monty", CALLS, limits, 5)
    await timed("full Python: print(1), warm", "process", "print(1)", limits)
    if find_spec("pandas") is not None:
        await timed("full Python: a pandas operation, warm", "process", PANDAS, limits)
    await timed("full Python: 1,000 tool calls", "process", CALLS, limits, 5)
    await ended("monty")
    await ended("process")


if __name__ == "__main__":
    asyncio.run(main())
