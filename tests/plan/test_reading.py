"""The language: what its lines mean, what is mended, what is refused and where, and that it costs linear time."""

from __future__ import annotations

import itertools
import json
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timing import cpu_seconds
from toolhand.core.language import Language
from toolhand.parsing.plans.nodes import (
    Block,
    For,
    If,
    ListOf,
    Literal,
    ObjectOf,
    Parallel,
    Plan,
    Reference,
    Return,
    Step,
    Template,
    references,
)  # fmt: skip
from toolhand.parsing.plans.nodes import (
    Test as Condition,
)
from toolhand.plan import read
from toolhand.plan.language import grammar

MISTAKES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "plans" / "mistakes.jsonl")
    .read_text("utf-8")
    .splitlines()
]


@pytest.mark.parametrize("case", MISTAKES, ids=[case["source"][:30] for case in MISTAKES])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_mistake_is_named_with_its_place_and_a_caret(case, language: Language):
    problem = read(case["source"], language=language).problems[0]
    found = {key: problem.details[key] for key in ("mistake", "line", "column")}
    assert found == {key: case[key] for key in ("mistake", "line", "column")}
    said, line, caret = problem.message.split("\n")
    assert line == f"  {case['source'].split(chr(10))[case['line'] - 1].rstrip()}"
    assert caret.endswith("^")
    assert len(caret) == 2 + case["column"]
    assert str(case["line"]) in said
    assert str(case["column"]) in said


def test_every_mistake_has_a_case_and_both_languages():
    table = tomllib.loads(files("toolhand.parsing.plans").joinpath("mistakes.toml").read_text("utf-8"))
    tested = {case["mistake"] for case in MISTAKES} | {"deep", "long", "one", "dots", "other"}
    assert set(table) == tested
    assert all(row["en"] and row["zh"] for row in table.values())


@pytest.mark.parametrize(
    "written",
    ['"{$w + 1}"', 'f"{w.y * 2}"', '"{w.y.upper()}"', 'f"{a(1)}"', '"{$w if $x else 1}"', "`${w.y.b()}`"],
)
def test_no_tool_is_given_a_formula_for_a_value(written):
    plan = read(f"a() -> w\nb(x={written})")
    assert [problem.details["mistake"] for problem in plan.problems] == ["arithmetic"]


@pytest.mark.parametrize("written", ["{name}, 5 + 3", '{\\"a\\": 1 * 2}', "{ color: red }", "a{2,3}(b)"])
def test_braces_that_no_variable_stands_in_are_a_text(written):
    plan = read(f'a() -> w\nb(x="{written}")')
    assert plan.problems == ()
    assert not list(references(plan.steps[1].arguments["x"]))


def test_several_problems_are_reported_together():
    problems = read("a(x=)\nb() -> w\nc(x=$w * 2)\nwhile $w:\n    d()").problems
    assert [problem.details["line"] for problem in problems] == [1, 3, 4]


FIXES = [
    ("a() => w", "a() -> w", "other_arrow"),
    ("a() w", "a() -> w", "missing_arrow"),
    ("w = a()", "a() -> w", "assignment_for_arrow"),
    ('a() -> "w"', "a() -> w", "quoted_name"),
    ("a() -> 22", "a()", "invented_result"),
    ('a() -> {"t": 1}', "a()", "invented_result"),
    ("a() -> w\nb(x=w.y)", "a() -> w\nb(x=$w.y)", "bare_variable"),
    ('a() -> w\nb(x="$w")', "a() -> w\nb(x=$w)", "quoted_variable"),
    ("if $w == 1\n    a()", "if $w == 1:\n    a()", "missing_colon"),
    ("if $w = 1: a()", "if $w == 1:\n    a()", "other_operator"),
    ("1. a()", "a()", "numbered_line"),
    ("a（x=“b”）", 'a(x="b")', "full_width_punctuation"),
    ("a(x=“b”)", 'a(x="b")', "typographic_quotes"),
    ("a(x=f'{w}')", "a(x=$w)", "string_prefix"),
    ('a() -> w\nb(x=f"{w:.1f}")', 'a() -> w\nb(x="{$w:.1f}")', "string_prefix"),
    ("a(x=`b ${w.y}`)", 'a(x="b {$w.y}")', "other_quotes"),
    ("if ($w) { a(); } else { b() }", "if $w:\n    a()\nelse:\n    b()", "braces_for_block"),
    (
        "for x in $w {\nif $x.y {\na()\n}\nb()\n}\nc()",
        "for x in $w:\n    if $x.y:\n        a()\n    b()\nc()",
        "braces_for_block",
    ),
    ("v, w = a(), b()", "parallel:\n    a() -> v\n    b() -> w", "assignment_for_arrow"),
    ("if len($w) is at least 2: a()", "if $w.length >= 2:\n    a()", "python_function"),
    ("if $w is not empty: a()", "if $w:\n    a()", "other_operator"),
    ("对 $w 中的每个 x：\n    a()", "for x in $w:\n    a()", "full_width_punctuation"),
    ("第二步：调用 a()，结果保存为 w", "a() -> w", "other_arrow"),
    ("$a(x=1) -> w", "a(x=1) -> w", "marked_tool"),
    ("b(x=a(y=1))", "a(y=1) -> _1_1\nb(x=$_1_1)", "nested_call"),
    ("a() if $w", "if $w:\n    a()", "condition_behind"),
    ('a(x="b" + $w)', 'a(x="b{$w}")', "joined_texts"),
    ("a(x={$w.y})", "a(x=$w.y)", "braced_variable"),
    ("a(1)", "a(1)", "positional_argument"),
    ("if $w:\na()", "if $w:\n    a()", "missing_indent"),
    ("a() # b", "a()", "comment"),
    ('print("b")', 'return "b"', "printed"),
    ("a(x=1 -> w", "a(x=1) -> w", "missing_closer"),
    ("a(x='b\nc')", 'a(x="b\\nc")', "raw_newline"),
    ('a(x="b "c" d")', 'a(x="b \\"c\\" d")', "inner_quotes"),
]


@pytest.mark.parametrize(
    ("source", "meant", "kind"), FIXES, ids=[f"{kind}-{place}" for place, (_, _, kind) in enumerate(FIXES)]
)
def test_drift_is_mended_and_written_down(source, meant, kind):
    plan = read(source)
    assert not plan.problems
    assert str(plan) == meant
    assert kind in {fix.kind for fix in plan.fixes}


def test_a_plan_without_drift_is_read_without_a_fix():
    source = (
        'get_weather(city="北京") -> w\nif $w.temperature >= 30 and not $w.tags contains "x":\n    a(x=[1, true, null])\n'
        'elif $w.a in ["b"]:\n    b(x={"k": $w.c[0]["d e"]})\nelse:\n    pass\nfor i in $w.list:\n    c(x="{$i} \\$5")\n'
        "parallel:\n    d() -> p\n    e() -> q\nreturn $p"
    )
    plan = read(source)
    assert (plan.problems, plan.fixes) == ((), ())
    assert str(plan) == source


def test_a_known_variable_may_stand_bare():
    assert str(read("a(x=w)", known={"w"})) == "a(x=$w)"


# ---------------------------------------------------------------------- every plan that can be made, there and back
NAMES = st.sampled_from(["a", "w", "北京", "x_1", "item2"])
TEXTS = st.text(st.sampled_from("ab\"\\{}$w 雨\n'#->()"), max_size=12)
REFERENCES = st.builds(
    Reference,
    NAMES,
    st.lists(st.one_of(st.sampled_from(["k", "两 字", "a-b"]), st.integers(-2, 9)), max_size=3).map(tuple),
)
VALUES = st.recursive(
    st.one_of(
        st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none(), TEXTS).map(Literal),
        REFERENCES,
        st.tuples(TEXTS.filter(bool), REFERENCES).map(Template),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: ListOf(tuple(items))),
        st.lists(st.tuples(TEXTS, inner), max_size=3, unique_by=lambda pair: pair[0]).map(lambda pairs: ObjectOf(tuple(pairs))),
    ),
    max_leaves=6,
)  # fmt: skip
OPERATORS = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "contains"])
TESTS = st.recursive(
    st.builds(lambda op, a, b: Condition(op, (a, b)), OPERATORS, VALUES, VALUES),
    lambda inner: st.one_of(
        st.builds(lambda op, a, b: Condition(op, (a, b)), st.sampled_from(["and", "or"]), inner, inner),
        inner.map(lambda test: Condition("not", (test,))),
    ),
    max_leaves=4,
)
STEPS = st.builds(
    lambda tool, arguments, name: Step(tool=tool, arguments=arguments, save_as=name),
    st.sampled_from(["find", "get_weather", "查询"]),
    st.dictionaries(st.sampled_from(["city", "n", "城市"]), VALUES, max_size=3),
    st.sampled_from(["", "r", "结果"]),
)


def _blocks(depth: int) -> st.SearchStrategy[Block]:
    statements = [STEPS, VALUES.map(lambda value: Return(value=value))]
    if depth:
        inner = _blocks(depth - 1)
        statements += [
            st.lists(STEPS, min_size=1, max_size=3).map(lambda steps: Parallel(steps=tuple(steps))),
            st.builds(lambda name, items, body: For(name=name, items=items, body=body), NAMES, VALUES, inner),
            st.builds(
                lambda a, one, b, two: If(branches=((a, one), (b, two))),
                TESTS,
                inner,
                st.none() | TESTS,
                inner,
            ),
        ]
    return st.lists(st.one_of(statements), min_size=1, max_size=3).map(tuple)


@settings(deadline=None, max_examples=60)
@given(_blocks(2))
def test_what_is_written_is_read_again(body):
    written = str(Plan(body=body))
    plan = read(written)
    assert not plan.problems, plan.problems[0].message
    assert str(plan) == written


# ---------------------------------------------------------------------- anything at all
PIECES = st.sampled_from([
    "a(", ")", "x=", '"', "'", "$w", ".k", "[0]", "->", "→", "if ", "elif ", "else:", "for x in ", "end", "parallel", "return ",
    ":", "\n", "    ", ",", ";", "{", "}", "[", "]", "1", "-", "+", "*", "and ", "not ", "（", "）", "“", "如果", "包含", "#", "//",
    "\\", '"""', "…", "<b>", "\x00", "\ud800", "１", "print(", "...", "==", "=", "f'", "${", "{{w}}", "步骤1：", "- ", "\t", "\r\n",
])  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_it_never_raises_and_what_it_reads_it_reads_again(source):
    plan = read(source)
    if not plan.problems and plan.body:
        again = read(str(plan))
        assert not again.problems
        assert str(again) == str(plan)


HOSTILE = [
    "a(", "a(x=", '"', "'", "(", "[", "{", "“", '"""', "\\", "$w", "if $a:\n", "if $a: ", "- ", "1. ", "a() -> w\n", "a(x=\n", "#", "not ",
    "((", "a(x=[", "$w.", "w[0]", "a;", "for x in $y:\n ", "else:\n", "\n", "a(b(", "+", '"{$w}', "end\n", "，", "a() -> \n", '"\n', 'f(x="\n',
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_it_takes_linear_time(unit):
    grammar()

    def seconds(count: int) -> float:
        text = unit * (count // len(unit))
        return cpu_seconds(lambda: read(text))

    small, large = seconds(5_000), seconds(40_000)
    assert large < 0.3 or large < 16 * small


def test_a_plan_that_is_far_too_long_is_refused_at_once():
    (problem,) = read("a()\n" * 100_000).problems
    assert problem.details["mistake"] == "long"


def test_nesting_is_bounded():
    deep = "\n".join(itertools.chain("    " * n + "if $a:" for n in range(20))) + "\n" + "    " * 20 + "a()"
    assert "deep" in {problem.details["mistake"] for problem in read(deep).problems}
    assert read(f"a(x={'[' * 5000}{']' * 5000})").problems
