"""The backends and jails that can be had on this machine, and why the others cannot."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from toolhand.sandbox.backends import SandboxBackend

PLACES = ("monty", "namespaces", "landlock")


def place(name: str) -> SandboxBackend:
    """A fresh backend with one jail; the test is skipped, with a reason, where this machine has none."""
    if sys.platform != "linux":
        pytest.skip(f"jails are made of Linux, and this is {sys.platform}")
    from toolhand.jails.selftest import failure  # noqa: PLC0415 - only Linux has what it loads
    from toolhand.sandbox.backends.monty import MontyBackend  # noqa: PLC0415
    from toolhand.sandbox.backends.process import ProcessBackend  # noqa: PLC0415

    if name == "monty":
        if importlib.util.find_spec("pydantic_monty") is None:
            pytest.skip("pydantic-monty is not installed")
        if failure("landlock") and failure("namespaces"):
            pytest.skip(f"no jail holds here: {failure('landlock')}")
        return MontyBackend()
    if name == "process":
        name = "landlock" if failure("namespaces") else "namespaces"
    if failure(name):
        pytest.skip(f"{name}: {failure(name)}")
    return ProcessBackend((name,))
