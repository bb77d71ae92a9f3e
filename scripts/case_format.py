"""Writes the reference of the case format from `toolhand.evals.format`: `python scripts/case_format.py` (a test compares)."""

from __future__ import annotations

import sys
from pathlib import Path

from toolhand.evals.format import reference

ROOT = Path(__file__).resolve().parent.parent
HEADS = {
    "en": "# Case files\n\n[中文](cases.zh.md)\n\n"
    "What a file for `toolhand eval` may hold. It is YAML, read as YAML 1.2 reads scalars: `NO`, `on`, "
    "`12:30` and dates stay\ntext; JSON will do as well. A key that is not here is an error with its line. Made from "
    "`toolhand.evals.format` by\n`scripts/case_format.py`; how to use it: [Evaluate](../how-to/evaluate.md).\n",
    "zh": "# 用例文件\n\n[English](cases.md)\n\n`toolhand eval` 的文件可以写什么。格式为 YAML，标量按 YAML 1.2 解读："
    "`NO`、`on`、`12:30` 和日期都是文本；JSON 也可以。不认识的键会报错并指出行号。\n"
    "由 `scripts/case_format.py` 根据 `toolhand.evals.format` 生成；用法见"
    "[评测](../how-to/evaluate.zh.md)。\n",
}
NOTES = {
    "en": "A plain value as an argument must be equal; a mapping with one of these keys is a matcher, and any other mapping an "
    "object with\nexactly these fields, each again a value or a matcher; a list must have these items in this order.\n",
    "zh": "参数写普通值表示必须相等；只含下列键之一的映射是匹配器，"
    "其他映射表示恰好包含这些字段的对象（每个字段又可以是值或匹配器）；列表表示按此顺序的这些项。\n",
}


def page(language: str) -> str:
    """The whole page."""
    body = reference("zh" if language == "zh" else "en")
    title = {"en": "## Matchers\n\n", "zh": "## 匹配器\n\n"}[language]
    return f"{HEADS[language]}\n{body.replace(title, f'{title}{NOTES[language]}{chr(10)}')}"


def main() -> int:
    """Writes both pages."""
    for language, name in (("en", "cases.md"), ("zh", "cases.zh.md")):
        (ROOT / "docs" / "reference" / name).write_text(page(language), encoding="utf-8")
    print("docs/reference/cases.md and cases.zh.md are written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
