"""What is refused before anything runs: limits that are none, backends that are not, walls that do not hold."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.sandbox.places import place
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


def test_without_a_folder_to_write_in_it_says_so_and_not_for_good(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place("process")
    from toolhand.jails import selftest  # noqa: PLC0415 - only Linux has what it loads

    monkeypatch.setattr(selftest, "_HELD", {})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert "TMPDIR" in selftest.failure("landlock")
    assert not selftest._HELD
