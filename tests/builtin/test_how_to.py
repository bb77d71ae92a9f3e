"""Every code block of the guide runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{i}")
    for name in ("builtin-tools", "web-tools", "databases", "documents")
    for page in sorted(DOCS.glob(f"{name}*.md"))
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


def test_both_languages_have_blocks():
    assert len(BLOCKS) == 20


@pytest.mark.parametrize("block", BLOCKS)
def test_block(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "block", "exec"), {"__name__": "block"})
