"""The how-to on models names every provider with its key variable, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolhand.core.errors import ModelFault
from toolhand.models.resolve import ADAPTERS, providers
from toolhand.tools.forms import _forms

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.mark.parametrize("file", ["models.md", "models.zh.md"])
def test_everything_is_named(file: str) -> None:
    text = (HOW_TO / file).read_text(encoding="utf-8")
    for name, row in {**ADAPTERS, **providers()}.items():
        lines = [line for line in text.splitlines() if f'"{name}:' in line]
        assert any(f"`{row['key_variable']}`" in line for line in lines), name
    assert all(f"`{fault}`" in text for fault in ModelFault)
    assert all(f"`{form}`" in text for form in _forms())
