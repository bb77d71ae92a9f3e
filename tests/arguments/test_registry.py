"""The tables that grow one entry at a time are complete."""

from __future__ import annotations

import re
from pathlib import Path

import toolhand.arguments
import toolhand.protocols
from toolhand.arguments.coerce.table import BY_TYPE
from toolhand.arguments.costs import COSTS, fix
from toolhand.arguments.words import _SENTENCES, NOTES

SOURCE = "\n".join(
    file.read_text(encoding="utf-8")
    for package in (toolhand.arguments, toolhand.protocols)
    for file in Path(str(package.__file__)).parent.rglob("*.py")
    if file.name != "costs.py"
)


def test_every_json_type_has_a_coercer():
    assert set(BY_TYPE) == {"string", "integer", "number", "boolean", "array", "object", "null"}


def test_every_liberty_in_the_table_is_taken_somewhere():
    assert [kind for kind in COSTS if f'"{kind}"' not in SOURCE] == []


def test_a_fix_has_its_price():
    assert fix("spoken_number", "$.n", "三", 3).cost == COSTS["spoken_number"]


def test_every_note_has_words_in_both_languages():
    used = set(re.findall(r'(?:note=|Unclear\(|NoQuantity\()"(\w+)"', SOURCE))
    assert used <= set(NOTES)
    assert all({"en", "zh"} == set(words) and all(words.values()) for words in NOTES.values())


def test_both_languages_have_the_same_sentences_with_the_same_gaps():
    english, chinese = _SENTENCES["en"], _SENTENCES["zh"]
    assert english.keys() == chinese.keys()
    for key, words in english.items():
        assert set(re.findall(r"{(\w+)}", words)) == set(re.findall(r"{(\w+)}", chinese[key])), key
