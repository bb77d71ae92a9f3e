"""Full Python: what Monty sends on to it, tables and plots, and the files that may come out."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from tests.sandbox.places import place
from toolhand import tool
from toolhand.sandbox import Limits, SandboxError, run_code, running

CALLED: list[Any] = []


@tool(effect="writes")
def order(item: str) -> str:
    """Orders."""
    CALLED.append(item)
    return f"ordered {item}"


@tool
def price(item: str) -> int:
    """The price."""
    CALLED.append(item)
    return len(item)


@pytest.fixture(autouse=True)
def _there() -> None:
    place("monty")
    CALLED.clear()


def needs(*names: str) -> None:
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed (extra sandbox-full)")


LIMITS = Limits(seconds=30, memory_mb=512)


@pytest.mark.parametrize(
    ("code", "value", "backend"),
    [
        ("sum(range(10))", 45, "monty"),
        ("def g():\n    yield 1\nlist(g())", [1], "process"),
        (
            "class A(Exception):\n    pass\ntry:\n    raise A('x')\nexcept A as e:\n    r = str(e)\nr",
            "x",
            "process",
        ),
        ("import statistics\nstatistics.mean([1, 2, 3])", 2, "process"),
        ("x = [1, 2]\ndel x[0]\nx", [2], "process"),
        ("open('a.txt', 'w').write('abc')", 3, "process"),
        ("from decimal import Decimal\nDecimal('1.10') + 1", "2.10", "monty"),
        ("import fractions\nfractions.Fraction(1, 3)", "1/3", "process"),
    ],
)
def test_auto_takes_the_one_that_fits(code: str, value: Any, backend: str) -> None:
    outcome = run_code(code, limits=LIMITS)
    assert outcome.error is None, str(outcome.error)
    assert (outcome.value, outcome.backend) == (value, backend)


def test_what_monty_lacks_late_goes_on_in_full_python_and_no_call_runs_twice() -> None:
    code = "a = order(item='tea')\nimport re\nb = re.sub('e', lambda m: 'E', a)\nb + order(item='rice')"
    outcome = run_code(code, [order], limits=LIMITS)
    assert outcome.error is None, str(outcome.error)
    assert outcome.value == "ordErEd tEaordered rice"
    assert outcome.backend == "process"
    assert CALLED == ["tea", "rice"]
    assert [dict(call.arguments) for call in outcome.calls] == [{"item": "tea"}, {"item": "rice"}]


def test_a_program_that_asks_differently_the_second_time_is_stopped() -> None:
    code = "import random, re\norder(item=str(random.random()))\nre.sub('e', lambda m: 'E', 'tea')"
    outcome = run_code(code, [order], limits=LIMITS)
    assert outcome.error.kind == "replay"
    assert len(CALLED) == 1


def test_only_reading_calls_may_differ() -> None:
    code = "import random, re\nprice(item=str(random.random()))\nre.sub('e', lambda m: 'E', 'tea')"
    outcome = run_code(code, [price], limits=LIMITS)
    assert outcome.value == "tEa"


def test_where_only_monty_is_wanted_it_says_what_is_lacking() -> None:
    outcome = run_code("def g():\n    yield 1\nlist(g())", backend="monty")
    assert outcome.error.kind == "unsupported"
    assert "yield" in outcome.error.message
    assert "generators" in outcome.error.message


@pytest.fixture(params=["namespaces", "landlock"])
def jail(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    backend = place(request.param)
    monkeypatch.setattr(running.plugins, "member", lambda *_: backend)
    yield backend
    backend.end()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_tables_and_plots(jail: Any) -> None:
    needs("numpy", "pandas", "matplotlib")
    code = (
        "import numpy as np, pandas as pd, matplotlib.pyplot as plt\n"
        "df = pd.DataFrame({'city': ['长沙', '三亚'], 't': [21.5, np.nan]})\n"
        "df.to_csv('table.csv', index=False)\nplt.plot([1, 2, 3])\nplt.show()\n"
        "print(df.shape, np.arange(3).sum())\ndf"
    )
    outcome = run_code(code, backend="process", limits=LIMITS)
    assert outcome.error is None, str(outcome.error)
    assert outcome.output == "(2, 2) 3\n"
    assert outcome.value == [{"city": "长沙", "t": 21.5}, {"city": "三亚", "t": None}]
    assert outcome.files["plot_1.png"].startswith(b"\x89PNG\r\n")
    assert outcome.files["table.csv"].decode() == "city,t\n长沙,21.5\n三亚,\n"
    again = run_code("import matplotlib.pyplot as plt\nplt.get_fignums()", backend="process", limits=LIMITS)
    assert again.value == []


def test_only_files_that_are_what_they_say_come_out(jail: Any) -> None:
    code = (
        "import os\n"
        "for name, content in {'a.txt': b'x', 'b.png': b'no picture', 'c.csv': b'\\xff\\xfe', 'd.py': b'x', 'e.html': b'x'}.items():\n"
        "    open(name, 'wb').write(content)\n"
        "os.mkdir('f.txt')\nopen('f.txt/g.txt', 'w').write('x')\nopen('\\n.txt', 'w').write('x')"
    )
    outcome = run_code(code, backend="process", limits=LIMITS)
    assert outcome.error is None, str(outcome.error)
    assert outcome.files == {"a.txt": b"x"}


def test_random_numbers_differ_from_program_to_program(jail: Any) -> None:
    code = "import random\nrandom.random()"
    drawn = {run_code(code, backend="process", limits=LIMITS).value for _ in range(4)}
    assert len(drawn) == 4


def test_a_jail_that_is_not_closed_runs_nothing(jail: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = pytest.importorskip("toolhand.jails.processes", reason="jails are made of Linux")
    jail.end()
    monkeypatch.setattr(processes, "readable_paths", lambda: ("/nowhere\0",))
    with pytest.raises(SandboxError):
        run_code("print(1)", backend="process", limits=LIMITS)
