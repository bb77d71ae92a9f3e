"""The command in the process of the tests, for what is not about processes: a start takes most of a second."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from toolhand.cli.app import run_app


@pytest.fixture
def here(capsys) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `toolhand` with some words."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        capsys.readouterr()
        code = run_app(list(words))
        seen = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, seen.out, seen.err)

    return run
