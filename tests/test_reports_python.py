"""What went wrong for people elsewhere while calls were run: each case is a small program over the harness's face."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from tests.reports_harness import Harness

FILE = Path(__file__).parent / "cases" / "reports" / "python.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def h():
    harness = Harness()
    yield harness
    harness.close()


# The programs open files as people do in a few lines, and leave them to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
async def test_case(case, h, tmp_path):
    namespace: dict[str, Any] = {}
    exec(compile(case["input"], f"<{case['id']}>", "exec", dont_inherit=True), namespace)
    probe = namespace["probe"]
    arguments = [h, str(tmp_path)][: len(inspect.signature(probe).parameters)]
    found = probe(*arguments)
    found = await found if inspect.isawaitable(found) else found
    check(json.loads(json.dumps(found)), case["expect"])


def check(found: Any, expect: dict[str, Any]) -> None:
    """Whether what a program found is what is right: a word at a key's end says how it is compared."""
    for key, wanted in expect.items():
        if key == "equals":
            assert found == wanted
        elif key == "all_true":
            assert found
            assert all(found.values())
        elif isinstance(found, list):
            check_parts(found, expect)
            return
        else:
            check_field(found, key, wanted)


def check_field(found: dict[str, Any], key: str, wanted: Any) -> None:
    for ending, fits in COMPARED.items():
        if key.endswith(ending):
            name = key.removesuffix(ending)
            # "second_choice" is the second of the "choices".
            value = found[name] if name in found else found[f"{name.removeprefix('second_')}s"][1]
            assert fits(value, wanted), (key, value, wanted)
            return
    assert found[key] == wanted, key


COMPARED = {
    "_max": lambda value, wanted: value <= wanted,
    "_min": lambda value, wanted: value >= wanted,
    "_at_least": lambda value, wanted: value >= wanted,
    "_contains": lambda value, wanted: wanted in value,
    "_between": lambda value, wanted: wanted[0] <= value <= wanted[1],
    "_in": lambda value, wanted: value in wanted,
}


def check_parts(found: list[Any], expect: dict[str, Any]) -> None:
    """What came as a list: the codes of several calls, then facts about the last one in the order of `expect`."""
    codes, *facts = found
    assert codes[-len(expect["codes_tail"]) :] == expect["codes_tail"]
    rest = {key: wanted for key, wanted in expect.items() if key != "codes_tail"}
    for value, (key, wanted) in zip(facts, rest.items(), strict=True):
        check_field({key.removesuffix("_between"): value}, key, wanted)
