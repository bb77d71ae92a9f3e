"""Every code block of the guide runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
PAGES = [
    page
    for name in ("builtin-tools", "web-tools", "databases", "documents")
    for page in sorted(DOCS.glob(f"{name}*.md"))
]


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


BLOCKS = [
    pytest.param(block, id=f"{page.name}-{i}") for page in PAGES for i, block in enumerate(blocks(page))
]


def test_both_languages_have_as_many_blocks():
    english = [page for page in PAGES if not page.name.endswith(".zh.md")]
    assert len(PAGES) == 2 * len(english)
    for page in english:
        assert 0 < len(blocks(page)) == len(blocks(page.with_suffix(".zh.md"))), page


@pytest.mark.parametrize("block", BLOCKS)
def test_block(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "block", "exec"), {"__name__": "block"})
