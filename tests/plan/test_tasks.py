"""The tasks on which models are measured can be solved: each has a right plan, and it gives the right answer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from toolhand import Tool, Toolset
from toolhand.plan_runs import run_plan

DATA = json.loads((Path(__file__).parents[2] / "bench" / "data" / "plans.json").read_text("utf-8"))


def tools_of(task: dict[str, Any], ran: list[Any]) -> Toolset:
    """The task's tools, which answer its own calls."""

    def tool(name: str) -> Tool:
        step = next(step for step in task["steps"] if step["tool"] == name)

        def answer(**arguments: Any) -> Any:
            ran.append((name, arguments))
            return step["result"]

        declared = DATA["tools"][name]
        return Tool(
            name=name, description=declared["description"], parameters=declared["parameters"], function=answer
        )

    return Toolset([tool(name) for name in task["tools"]])


@pytest.mark.parametrize("task", DATA["tasks"], ids=[task["id"] for task in DATA["tasks"]])
async def test_the_right_plan_gives_the_right_answer(task):
    ran: list[Any] = []
    run = await run_plan(task["plan"], tools_of(task, ran))
    assert run.ending == "answered", run.error
    assert [name for name, _ in ran] == [step["tool"] for step in task["steps"]]
    for (_, arguments), step in zip(ran, task["steps"], strict=True):
        for key, wanted in step["arguments"].items():
            assert arguments[key] in (wanted if isinstance(wanted, list) else [wanted])
    assert all(re.search(pattern, str(run.answer)) for pattern in task["answer"])
