"""What is given out: the wheel holds the package and nothing else, the sdist what is needed to work on it, the version one number."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import toolhand

ROOT = Path(__file__).parents[2]


@pytest.fixture
def release(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("check_release")


def test_the_version_stands_in_one_place(release):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert project["dynamic"] == ["version"]
    assert release.version() == toolhand.__version__


@pytest.mark.slow
def test_the_wheel_and_the_sdist_hold_what_they_should(release, tmp_path):
    built = [sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path)]
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True)
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    assert release.findings(wheel, sdist) == []
    assert {"local", "mcp", "all"} <= set(release.extras(wheel))
    poor = tmp_path / "poor.whl"
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(poor, "w") as less:
        for name in whole.namelist():
            if not name.endswith("py.typed"):
                less.writestr(name, whole.read(name))
        less.writestr("tests/stray.py", "")
    assert release.findings(poor, sdist) == [
        "the wheel lacks toolhand/py.typed",
        "the wheel has tests/stray.py",
    ]


def test_hooks_before_a_commit_are_local():
    import yaml  # noqa: PLC0415 - an extra

    told = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [repository["repo"] for repository in told["repos"]] == ["local"]
    assert all(hook["entry"].startswith(".venv/bin/") for hook in told["repos"][0]["hooks"])
