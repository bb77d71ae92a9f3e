"""An error for people is said in their language: none is written down in English alone."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "toolhand"
WRITTEN = re.compile(
    r"(?:Settings|ToolDefinition|UnknownTool|Session|Store|Weights|Sandbox|Run)Error\(\s*f?(['\"])(?P<said>.*?)(?<!\\)\1"
)


def english_alone(text: str) -> list[str]:
    """What stands in an error without `say(…)` around it; names and other sentences put together are no words of its own."""
    found = (match["said"] for match in WRITTEN.finditer(text))
    return [said for said in found if re.search(r"[A-Za-z]{2}", re.sub(r"\{[^{}]*\}", "", said))]


def test_an_error_for_people_is_in_both_languages():
    written = {str(file): english_alone(file.read_text(encoding="utf-8")) for file in SOURCE.rglob("*.py")}
    assert {file: said for file, said in written.items() if said} == {}


def test_one_in_english_alone_is_found():
    assert english_alone('raise SettingsError(\n    f"{where} is no \\"rate\\" at all"\n)') != []
    assert english_alone('raise SettingsError(f"{where}: {error}")') == []
