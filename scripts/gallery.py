"""Writes the gallery of mended outputs from the reading cases: `python scripts/gallery.py` (a test compares)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from toolhand import Toolset, parse

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases" / "reading" / "drift.jsonl"
HEADS = {
    "en": "# Gallery of mended outputs\n\n[中文](gallery.zh.md)\n\n"
    "What models wrote, what was read, and the liberties taken (`fix.kind`). Made from "
    "`tests/cases/reading` by `scripts/gallery.py`; every entry is a test.\n",
    "zh": "# 修正示例\n\n[English](gallery.md)\n\n模型写了什么、读出了什么、做了哪些修正（`fix.kind`）。"
    "由 `scripts/gallery.py` 根据 `tests/cases/reading` 生成，每一条都是一个测试。\n",
}
WORDS = {"en": ("read as", "mended", "as it stands"), "zh": ("读作", "修正", "无需修正")}
A_FAMILY = 2
MOST_CHARACTERS = 400


def chosen() -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Family, output, calls and fixes: per family the cases that needed most mending."""
    found: dict[str, list[tuple[str, str, str, tuple[str, ...]]]] = {}
    for case in map(json.loads, CASES.read_text(encoding="utf-8").splitlines()):
        if case["kind"] != "call" or len(case["output"]) > MOST_CHARACTERS:
            continue
        reply = parse(case["output"], Toolset.from_openai(case["tools"]))
        fixes = tuple(dict.fromkeys(fix.kind for call in reply.calls for fix in call.fixes))
        calls = "\n".join(
            f"{c.name} {json.dumps(dict(c.arguments), ensure_ascii=False)}" for c in reply.calls
        )
        found.setdefault(case["family"], []).append((case["family"], case["output"], calls, fixes))
    return [row for rows in found.values() for row in sorted(rows, key=lambda row: -len(row[3]))[:A_FAMILY]]


def gallery(language: str) -> str:
    """The page."""
    read_as, mended, nothing = WORDS[language]
    parts = [HEADS[language]]
    family = ""
    for name, output, calls, fixes in chosen():
        if name != family:
            family = name
            parts.append(f"## {name}\n")
        kinds = ", ".join(f"`{kind}`" for kind in fixes) or nothing
        parts.append(
            f"````text\n{output}\n````\n\n{read_as}:\n\n````text\n{calls}\n````\n\n{mended}: {kinds}\n"
        )
    return "\n".join(parts)


def main() -> int:
    """Writes both pages."""
    for language, name in (("en", "gallery.md"), ("zh", "gallery.zh.md")):
        (ROOT / "docs" / "reference" / name).write_text(gallery(language), encoding="utf-8")
    print("docs/reference/gallery.md and gallery.zh.md are written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
