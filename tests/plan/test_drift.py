"""Plans as models write them, read, checked and run: what is meant runs, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plan.shop import shop
from toolhand import Agent, parse
from toolhand.protocols.parse import reader
from toolhand.testing import ScriptedModel

FOLDER = Path(__file__).parents[1] / "cases" / "plans"
DRIFT, WRITTEN, AROUND = (
    [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]
    for name in ("drift", "written", "around")
)
CASES = DRIFT + WRITTEN + AROUND
IDS = [case["id"] for case in CASES]


def as_parsed(case: dict[str, Any]) -> list[str]:
    """The kinds of a case's problems."""
    reply = parse(case["output"], shop([]), "plan")
    return [str(problem.details.get("mistake", problem.code)) for problem in reply.problems] + [
        str(problem.code) for problem in reply.problems
    ]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_runs_as_meant(case):
    ran: list[tuple[str, dict[str, Any]]] = []
    model = ScriptedModel([case["output"], "Done.", "Done."])
    run = Agent(model, shop(ran), protocol="plan").run_sync("?")
    done, wanted = [[name, arguments] for name, arguments in ran], case["runs"]
    if case.get("side_by_side"):  # which of two ends first is open
        done, wanted = sorted(done, key=str), sorted(wanted, key=str)
    assert done == wanted
    if "answer" in case:
        assert run.output == case["answer"]
        assert len(model.requests) == 1
    elif case["runs"] or "problem" in case:
        assert run.output == "Done."
        assert len(model.requests) == 2
    else:
        assert run.output == case["output"].strip()


@pytest.mark.parametrize("case", [c for c in CASES if "problem" in c], ids=lambda case: case["id"])
def test_the_problem_is_named(case):
    ran: list[tuple[str, dict[str, Any]]] = []
    model = ScriptedModel([case["output"], "Done."])
    run = Agent(model, shop(ran), protocol="plan").run_sync("?")
    kinds = as_parsed(case) + [str(result.error.code) for result in run.results if result.error]
    assert set(case["problem"].split("|")) & set(kinds), kinds
    assert model.requests[1].messages[-1].text


@pytest.mark.parametrize(
    ("case", "size"),
    [*((case, size) for case in DRIFT for size in (1, 3, 7)), *((case, 3) for case in WRITTEN + AROUND)],
)
def test_does_not_depend_on_the_cuts(case, size):
    tools, text = shop([]), case["output"]
    streaming = reader(tools, "plan")
    shown = "".join(streaming.feed(text[at : at + size]) for at in range(0, len(text), size))
    reply, whole = streaming.finish(), parse(text, tools, "plan")
    assert (reply.text or "").startswith(shown)
    assert reply.text == whole.text
    assert [(c.name, c.arguments, c.fixes) for c in reply.calls] == [
        (c.name, c.arguments, c.fixes) for c in whole.calls
    ]
    assert reply.problems == whole.problems
