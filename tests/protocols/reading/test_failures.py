"""What could not be read is said in the run's language."""

from __future__ import annotations

import re
import string

import pytest

from toolhand import Toolset, tool
from toolhand.arguments.settings import BindSettings
from toolhand.core.messages import RawCall
from toolhand.parsing.loose import LooseError, read_value
from toolhand.protocols.reading.failures import WORDS, syntax_problem
from toolhand.protocols.reading.stream import TextReader


@tool(effect="writes")
def save(path: str, content: str) -> str:
    """Saves a file."""
    return "saved"


TOOLS = Toolset([save])
ENGLISH = re.compile(r"[A-Za-z]{4,}")
KNOWN = re.compile(r"save|path|content|JSON|tool_call")


def problems(text, calls=(), finish_reason="stop", language="zh"):
    reader = TextReader(TOOLS, iter(f"c{i}" for i in range(99)).__next__, BindSettings(language=language))
    return reader.read(text, calls, finish_reason).problems


def test_both_languages_have_the_same_words_and_facts():
    assert WORDS["en"].keys() == WORDS["zh"].keys()
    for kind, words in WORDS["en"].items():
        facts = [
            {field for _, field, _, _ in string.Formatter().parse(w) if field}
            for w in (words, WORDS["zh"][kind])
        ]
        assert facts[0] == facts[1], kind


@pytest.mark.parametrize(
    ("text", "calls", "reason"),
    [
        ("<tool_call>hello</tool_call>", (), "stop"),
        ('<tool_call>{"name": "save", "arguments": {"path": "a", "content": "x', (), "length"),
        ("Good.\n<tool_call>", (), "stop"),
        ('<think>{"name": "save", "arguments": {"path": "a", "content": "b"}}</think>', (), "stop"),
        ('<tool_call>{"name": "save", "arguments": {"path" "a"}}</tool_call>', (), "stop"),
        ("", [RawCall(id="1", name="save", arguments='{"path": "a", "content": "x')], "length"),
        ("", [RawCall(id="1", name="save", arguments='{"path": "a", "content": "x')], "stop"),
        ("", [RawCall(id="1", name="save", arguments='{"path": "a"}{"path": "b"}')], "stop"),
        ("", [RawCall(id="1", name="save", arguments='{"path" "a"}')], "stop"),
    ],
)
def test_a_chinese_run_gets_no_english_sentence(text, calls, reason):
    found = problems(text, calls, reason)
    assert found
    for problem in found:
        assert not ENGLISH.search(KNOWN.sub("", problem.sentence)), problem.sentence
    for problem in problems(text, calls, reason, "en"):
        assert ENGLISH.search(problem.sentence)


@pytest.mark.parametrize("text", ['{"a" 1}', '{"a": }', "{1: 2", "[" * 90, "{{}", '{"a": 1, : 2}', "f(1"])
def test_what_was_expected_is_said_in_chinese_too(text):
    try:
        read_value(text)
    except LooseError as error:
        said = syntax_problem(error, text).said("zh")
        assert not ENGLISH.search(said.replace("JSON", "")), said
