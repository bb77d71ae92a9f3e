"""Case files: what they mean, and how their mistakes are named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from toolhand.core.errors import MissingExtraError
from toolhand.evals.case import Suite
from toolhand.evals.reading import read_case, read_suite
from toolhand.evals.spots import CaseFileError

SHOP = Path(__file__).parents[1] / "cases" / "evals" / "shop.yaml"

TOOLS = """
tools:
  - name: price
    description: The price of an item.
    parameters: {type: object, properties: {item: {type: string}}, required: [item]}
"""


def write(folder, text):
    file = folder / "cases.yaml"
    file.write_text(text, "utf-8")
    return file


def test_a_whole_file():
    suite = read_suite(SHOP)
    assert suite.name == "shop"
    cases = {case.id: case for case in suite.cases}
    assert list(cases) == ["price", "数量", "asks", "chat", "two-steps", "session", "read"]
    assert cases["price"].tools.names == ("get_price", "find_item", "order")
    assert [case.kind for case in suite.cases] == [
        "calls",
        "calls",
        "silence",
        "silence",
        "calls",
        "calls",
        "calls",
    ]
    assert len(cases["session"].questions) == 2
    assert cases["two-steps"].questions[0].expectation.orders == ((0, 1),)
    assert Path(cases["price"].written["tools"][0]).is_absolute()


def test_what_a_file_says_for_all_its_cases(tmp_path):
    file = write(
        tmp_path,
        TOOLS
        + """
instructions: Be brief.
turns: 3
fixtures: {price: 5}
user: ann
cases:
  - {id: 1, question: a, calls: [price]}
  - {id: b, question: b, calls: none, without: price, turns: 1, user: bob}
""",
    )
    first, second = read_suite(file).cases
    assert (first.id, first.instructions, first.turns, first.user) == ("1", "Be brief.", 3, "ann")
    assert first.fixtures["price"][0].result == 5
    assert (second.turns, second.user, second.tools.names, dict(second.fixtures)) == (1, "bob", (), {})
    assert second.written["instructions"] == "Be brief."


def test_a_written_case_reads_back_the_same():
    for case in read_suite(SHOP).cases:
        again = read_case(case.written)
        assert again.questions == case.questions
        assert again.written == case.written


CASE = "cases:\n  - id: a\n    question: q\n"

MISTAKES = [
    ("", 1, "empty"),
    ("cases: []\n", 1, "no cases"),
    ("casess: 1\n", 1, "did you mean 'cases'"),
    (CASE, 2, "nothing is expected"),
    (CASE + "    cals: none\n", 4, "did you mean 'calls'"),
    (CASE + "    calls: [nothing]\n", 4, "no tool 'nothing'"),
    (CASE + "    calls:\n      - price:\n          itm: a\n", 6, "no parameter 'itm'; it has: item"),
    (CASE + "    calls:\n      - price: {item: {likes: a}}\n", 5, "no matcher 'likes'; did you mean 'like'"),
    (CASE + "    calls:\n      - price: {item: a}\n        other: {}\n", 5, "one `tool: {arguments}`"),
    (CASE + "    calls: [price]\n    order: [[2]]\n", 5, "from 1 to 1"),
    (CASE + "    calls: none\n    text: {regex: '('}\n", 5, "regular expression"),
    (CASE + "    calls: none\n    turns: 0\n", 5, "at least 1"),
    (CASE + "    calls: none\n    turns: yes\n", 5, "a number belongs here"),
    (CASE + "    calls: none\n    language: fr\n", 5, "one of en, zh"),
    (CASE + "    calls: none\n    tags: [1]\n", 5, "a text belongs here"),
    (CASE + "    calls: none\n    tool_choice: prise\n", 5, "no tool 'prise'"),
    (CASE + "    calls: none\n    fixtures: {prise: 1}\n", 5, "no tool 'prise'"),
    (
        CASE + "    calls: [price]\n    fixtures: {price: [{result: 1, error: x}]}\n",
        5,
        "either a result or an error",
    ),
    (CASE + "    calls: [price]\n    fixtures: {price: [{error: {code: odd, message: x}}]}\n", 5, "one of"),
    (CASE + "    calls: [price]\n    text: x\n", 2, "only a schema is given"),
    (
        CASE + "    calls: none\n  - id: a\n    question: q\n    calls: none\n",
        5,
        "another case is called 'a'",
    ),
    (CASE + "    calls: none\n    history: [{user: a, assistant: b}]\n", 5, "an entry is one of"),
    (CASE + "    calls: none\n    history: [{call: {prise: {}}, result: 1}]\n", 5, "no tool 'prise'"),
    ("cases:\n  - question: q\n    calls: none\n", 2, "needs an id"),
    ("cases:\n  - id: a\n    calls: none\n", 2, "needs either a question"),
    ("cases:\n  - id: a\n    questions: []\n", 3, "the list is empty"),
    (
        "cases:\n  - id: a\n    calls: none\n    questions:\n      - question: q\n",
        3,
        "belongs to the question",
    ),
    ("cases:\n  - id: a\n    questions:\n      - qestion: q\n", 4, "did you mean 'question'"),
    ("cases: {a: 1}\n", 1, "a list belongs here"),
    ("- a\n", 1, "a mapping belongs here"),
]


@pytest.mark.parametrize(("text", "line", "words"), MISTAKES, ids=[words for *_, words in MISTAKES])
def test_a_mistake_is_named_with_its_line_and_the_cure(tmp_path, monkeypatch, text, line, words):
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    above = TOOLS.lstrip("\n") if text.startswith("cases:\n") else ""
    file = write(tmp_path, above + text)
    with pytest.raises(CaseFileError) as raised:
        read_suite(file)
    message = str(raised.value)
    assert f"cases.yaml, line {line + above.count(chr(10))}: " in message
    assert words in message
    monkeypatch.setenv("TOOLHAND_LANG", "zh")
    with pytest.raises(CaseFileError, match=f"cases.yaml 第 {line + above.count(chr(10))} 行："):
        read_suite(file)


@pytest.mark.parametrize(
    ("source", "words"),
    [("missing.py", "no file"), ("no_such_module_here", "no module"), ("broken.py", "line 2")],
)
def test_tools_that_cannot_be_had(tmp_path, monkeypatch, source, words):
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    (tmp_path / "broken.py").write_text("x = 1\ny = x.nothing\n")
    file = write(tmp_path, f"tools: [{source}]\n{CASE}    calls: none\n")
    with pytest.raises(CaseFileError, match=rf"line 1: .*{words}"):
        read_suite(file)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(CaseFileError, match=r"nothing\.yaml"):
        read_suite(tmp_path / "nothing.yaml")


def test_without_pyyaml_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[eval\]'"):
        read_suite(SHOP)


def test_a_tool_that_writes_needs_a_fixture_or_leave_where_the_text_is_judged():
    case = {
        "id": "a",
        "question": "q",
        "tools": [str(SHOP.with_name("shop_tools.py"))],
        "calls": ["order"],
        "text": "ok",
    }
    with pytest.raises(CaseFileError, match="effect"):
        read_case(case)
    assert read_case({**case, "fixtures": {"order": "ok"}}).kind == "calls"
    assert read_case(case, runs_writing_tools=True).kind == "calls"


def test_choosing_cases():
    suite = read_suite(SHOP)
    assert [case.id for case in suite.chosen(tags=("steps",)).cases] == ["two-steps", "session"]
    assert [case.id for case in suite.chosen(ids=("chat",)).cases] == ["chat"]
    assert [case.id for case in suite.chosen(limit=3).cases] == ["price", "asks", "two-steps"]
    with pytest.raises(ValueError, match="sleps"):
        suite.chosen(tags=("sleps",))
    with pytest.raises(ValueError, match="chatt"):
        suite.chosen(ids=("chatt",))
    with pytest.raises(ValueError, match="price"):
        suite.joined(suite)
    assert len(suite.joined(Suite(name="x", cases=())).cases) == 7
