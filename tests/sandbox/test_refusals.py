"""What is refused before anything runs: limits that are none, backends that are not, walls that do not hold."""

from __future__ import annotations

import pytest

from toolhand.core.errors import SettingsError
from toolhand.sandbox import Limits, SandboxError, run_code


def test_limits_that_are_none_are_refused() -> None:
    for wrong in ({"seconds": 0}, {"memory_mb": 1}, {"output_kb": -1}, {"calls": True}, {"seconds": "1"}):
        with pytest.raises(SettingsError, match=next(iter(wrong))):
            Limits(**wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="backends"):
        run_code("1", backend="none")


def test_a_sandbox_that_does_not_hold_is_refused_and_not_weakened(monkeypatch: pytest.MonkeyPatch) -> None:
    selftest = pytest.importorskip("toolhand.jails.selftest", reason="jails are made of Linux")
    monkeypatch.setattr(selftest, "_HELD", {"landlock": "no Landlock", "namespaces": "no namespaces"})
    monkeypatch.setenv("PATH", "/nowhere")
    for backend in ("process", "auto", "container"):
        with pytest.raises(SandboxError) as told:
            run_code("print(1)", backend=backend)
        assert "docker" in str(told.value).lower() or "Landlock" in str(told.value)
