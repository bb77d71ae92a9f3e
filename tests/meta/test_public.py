"""The public names, what importing them costs, and what the package's text may not hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import toolhand

ROOT = Path(__file__).parents[2]

NAMES = [
    "Agent", "Chain", "Choose", "ErrorCode", "FatalError", "History", "Injected", "Limits", "Message", "Reply", "Router", "Run", "RunContext", "Session", "Tool",
    "ToolCall",
    "ToolError", "ToolFailure", "ToolResult", "Toolset", "ToolhandError", "estimate_tokens", "parse", "reader",
    "tool",
]  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint(chr(10).join(sys.modules))"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], check=True, text=True, capture_output=True
        ).stdout.split()
    )


def test_the_public_names_are_pinned():
    assert sorted(toolhand.__all__) == sorted(NAMES)
    for name in NAMES:
        assert getattr(toolhand, name) is not None
        assert name in dir(toolhand)


def test_importing_loads_no_network_model_or_web_library():
    loaded = loaded_by("import toolhand; from toolhand import tool, Toolset, parse")
    for name in (
        "aiohttp",
        "httpx",
        "openai",
        "rich",
        "typer",
        "click",
        "xllamacpp",
        "sqlite3",
        "huggingface_hub",
    ):
        assert name not in loaded, name


def test_importing_the_package_alone_loads_next_to_nothing():
    ours = {name for name in loaded_by("import toolhand") if name.startswith("toolhand")}
    assert ours == {"toolhand"}


def test_the_core_has_at_most_five_dependencies():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^dependencies = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    assert block is not None
    assert len(re.findall(r'"', block[1])) / 2 <= 5


def test_nothing_is_left_undone_in_the_source():
    for file in (ROOT / "src").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"\b(?:TODO|FIXME|XXX|NotImplementedError)\b", text), file
