"""How fast text is read: median and 99th percentile over the case files, and hostile texts of 1 and 2 MB.

Run with `python bench/reading.py [cases.jsonl …]`. Published figures beside it, for one family that the parser is told:
vLLM 8 µs and SGLang 5 µs in the median.
"""

import json
import statistics
import sys
import time
from pathlib import Path

from toolhand.protocols.parse import parse
from toolhand.tools.collect import collect

FOLDER = Path(__file__).parents[1] / "tests" / "cases" / "reading"
HOSTILE = [
    "{",
    '{"a":',
    '{"',
    '<tool_call>{"name":',
    "<a",
    "<think>",
    "Action:\n",
    "find_bus(\n",
    "```json\n{",
    "``` ",
    "[TOOL: find_bus]\n",
    "\\",
    "The fox runs. ",
]


def microseconds(text, tools, repeat=7):
    best = 1e9
    for _ in range(repeat):
        begin = time.perf_counter_ns()
        parse(text, tools)
        best = min(best, time.perf_counter_ns() - begin)
    return best / 1000


def main():
    shared = {
        tool["function"]["name"]: tool for tool in json.loads((FOLDER / "tools.json").read_text("utf-8"))
    }
    cases = []
    for path in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            case = json.loads(line)
            tools = [shared[tool] if isinstance(tool, str) else tool for tool in case["tools"]]
            cases.append((case["output"], collect(tools)))
    for text, tools in cases:
        parse(text, tools)
    times = sorted(microseconds(text, tools) for text, tools in cases)
    print(
        f"{len(times)} cases: median {statistics.median(times):.1f} µs, p99 {times[int(len(times) * 0.99)]:.1f} µs, with binding"
    )
    tools = collect([shared["find_bus"]])
    for unit in HOSTILE:
        seconds = [
            microseconds((unit * (size // len(unit) + 1))[:size], tools, repeat=2) / 1e6
            for size in (1_000_000, 2_000_000)
        ]
        print(f"{unit!r:24} 1 MB {seconds[0]:.2f} s   2 MB {seconds[1]:.2f} s")


if __name__ == "__main__":
    main()
