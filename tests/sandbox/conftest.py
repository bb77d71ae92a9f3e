"""The sandbox of these tests: every backend and jail that this machine has, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.sandbox.places import PLACES, place
from toolhand.sandbox import Limits, Outcome, arun_code, run_code
from toolhand.sandbox import running as module


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of the walls run in every jail (`JAILS = True` in their module), those of what runs inside in one."""
    if "sandbox" in metafunc.fixturenames:
        names = PLACES if getattr(metafunc.module, "JAILS", False) else ("monty", "process")
        metafunc.parametrize("sandbox", names, indirect=True, scope="module")


@pytest.fixture(scope="module")
def sandbox(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of the backend that a test runs in, held to one jail."""
    backend = place(request.param)
    found = module.plugins.member

    def member(group: str, name: str, what: str) -> Any:
        return backend if group == "sandbox.backends" else found(group, name, what)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.plugins, "member", member)
        yield request.param
    backend.end()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def run(sandbox: str) -> Callable[..., Outcome]:
    """Runs a program in that backend."""

    def run(code: str, tools: Any = (), *, seconds: float = 20, **options: Any) -> Outcome:
        limits = options.pop("limits", None) or Limits(seconds=seconds)
        return run_code(code, tools, limits=limits, backend="process", **options)

    return run


@pytest.fixture(scope="module")
def arun(sandbox: str) -> Callable[..., Any]:
    """The same for code that is async."""

    def arun(code: str, tools: Any = (), *, seconds: float = 20, **options: Any) -> Any:
        return arun_code(code, tools, limits=Limits(seconds=seconds), backend="process", **options)

    return arun
