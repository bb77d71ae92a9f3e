"""Programs looked at and not run: what is surely wrong, what Monty lacks, which calls are awaited."""

from __future__ import annotations

import ast

import pytest

from tests.timing import cpu_seconds
from toolhand.jails.inside.awaiting import awaited_calls
from toolhand.parsing.programs.checks import Problem, problems_of, read_program
from toolhand.parsing.programs.subset import beyond_monty

TOOLS = {"add": ["a", "b"], "look": []}


def found(code: str) -> list[tuple[int, str]]:
    tree = read_program(code)
    assert isinstance(tree, ast.Module)
    wrong = problems_of(tree, TOOLS, lambda name, known, others: "bad" if known.get("a") == "bad" else "")
    return [(one.line, one.message) for one in wrong]


@pytest.mark.parametrize(
    "code",
    [
        "add(1, 2)",
        "def f(x):\n    return x + y\ny = 1\nf(2)",
        "try:\n    nothing\nexcept NameError:\n    pass",
        "from math import *\nprint(sqrt(2))",
        "globals()['a'] = 1\nprint(a)",
        "add = lambda a: a\nadd('bad')",
        "[x for x in range(3)]\nimport os.path as p\np",
        "match {'a': 1}:\n    case {'a': v, **rest}:\n        print(v, rest)",
        "with open('x') as f:\n    f",
        "values = (1, 2)\nadd(*values)",
        "try:\n    add(a='bad')\nexcept ToolError as e:\n    e",
        "class A:\n    x = 1\nA().x",
        "api.call_tool('add', a='bad')\napi.parallel([])",
        "print(__name__)",
    ],
)
def test_what_may_be_right_is_let_through(code: str) -> None:
    assert found(code) == []


@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        ("x = 1\nnothing(x)", 2, "nothing"),
        ("ad(1, 2)", 1, "add"),
        ("api.ad(1, 2)", 1, "api.add"),
        ("add(1, 2, 3)", 1, "2"),
        ("if True:\n    add(a='bad')", 2, "bad"),
        ("try:\n    pass\nexcept ValueError:\n    nothing", 4, "nothing"),
    ],
)
def test_what_is_surely_wrong_is_told(code: str, line: int, said: str) -> None:
    ((where, message),) = found(code)
    assert where == line
    assert said in message


@pytest.mark.parametrize("code", ["x = (", "a b", "\0", "(" * 10_000, "x" * 300_000, "if x:\nprint(1)"])
def test_what_is_no_program_is_told(code: str) -> None:
    assert isinstance(read_program(code), Problem)


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("await add(1, 2)", 1),
        ("add(1, 2)", 0),
        ("await asyncio.gather(add(1, 2), api.add(3, 4), api.call_tool('add'))", 3),
        ("await asyncio.gather(*[add(i, 1) for i in range(3)])", 1),
        ("ts = [add(1, 2)]\nts.append(look())\nawait asyncio.gather(*ts)", 2),
        ("ts = {}\nts['a'] = add(1, 2)\nfor t in ts:\n    await t", 1),
        ("t = asyncio.create_task(add(1, 2))\nawait t", 1),
        ("city = look()\nawait add(city, 1)", 1),
        ("async def f():\n    return add(1, 2)\nasyncio.run(f())", 0),
        ("await other(add(1, 2))", 0),
    ],
)
def test_calls_that_are_awaited_are_found(code: str, count: int) -> None:
    assert len(awaited_calls(ast.parse(code), TOOLS)) == count


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import math\n[math.sqrt(x) for x in range(3)]", ""),
        ("import pandas as pd", "import pandas"),
        ("from os import path", "import os"),
        ("def f():\n    yield 1", "yield"),
        ("class A(B):\n    pass", "class A(…)"),
        ("class A:\n    @property\n    def x(self):\n        return 1", "a decorator in class A"),
        ("class A:\n    def __len__(self):\n        return 1", "__len__"),
        ("open('x')", "open()"),
        ("del x", "del"),
    ],
)
def test_what_monty_lacks_is_seen(code: str, reason: str) -> None:
    assert beyond_monty(ast.parse(code)) == reason


def test_looking_is_linear() -> None:
    def look(count: int) -> None:
        tree = read_program("x = add(1, 2)\nawait x\n" * count)
        assert isinstance(tree, ast.Module)
        problems_of(tree, TOOLS, lambda *_: "")
        awaited_calls(tree, TOOLS)

    small, large = cpu_seconds(lambda: look(300)), cpu_seconds(lambda: look(1200))
    assert large < max(12 * small, 0.5)


@pytest.mark.parametrize("name", ["nothing_{}", "print{}", "nothing", "api.nothing_{}()", "value_{}"])
def test_what_is_wrong_in_thousands_of_places_is_told_ten_times(name):
    code = "\n".join(
        [*(f"value_{place}x = 1" for place in range(500)), *(name.format(place) for place in range(2_000))]
    )
    assert cpu_seconds(lambda: found(code), times=1) < 5
    assert 0 < len(found(code)) <= 10
    assert found(code)[0][0] == 501


def test_a_choice_among_thousands_is_looked_through():
    code = f"x = 1\ny = await ({'look() if x else ' * 900}add(1, 2))"
    assert len(awaited_calls(ast.parse(code), TOOLS)) == 901
