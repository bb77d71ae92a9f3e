"""The reports: everything is in them, nothing of what a model wrote becomes markup."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from toolhand.cli.eval_verdict import Thresholds, complaints
from toolhand.core.markup import element
from toolhand.evals.findings import WORDS as FINDINGS
from toolhand.evals.findings import Finding
from toolhand.evals.report.html import page
from toolhand.evals.report.junit import junit
from toolhand.evals.report.terminal import show
from toolhand.evals.report.words import WORDS
from toolhand.evals.results import Attempt, Evaluation, Exchange, Subject
from toolhand.evals.summary import inside

GOOD, BAD = Subject(model="a"), Subject(model="b", protocol="json")
EVIL = '</style><script src="https://evil.example/x.js">alert(1)</script><img src=x onerror=alert(1)>&\x00\x1b\ud800"\''


def evaluation(text="hello", repeat=1):
    def attempt(subject, case, number, outcome):
        finding = Finding(code="value", path=f"tool.{text}", expected=text, actual=text)
        exchange = Exchange(
            question=text,
            calls=({"name": text, "arguments": {text: text}, "error": "", "result": text, "fixes": ["x"]},),
            text=text,
            stopped="answered",
            replies=(text, text),
        )
        return Attempt(
            subject=subject,
            case=case,
            kind="silence" if case == "quiet" else "calls",
            repeat=number,
            outcome=outcome,
            tags=(text,),
            findings=(finding,) if outcome == "failed" else (),
            exchanges=(exchange,),
            message=text if outcome in ("error", "no_record") else "",
            wrong_calls=1 if outcome == "failed" else 0,
            seconds=1.5,
            input_tokens=100,
            output_tokens=20,
            cost=0.002,
            currency="EUR",
            fixes={text: 2},
            problems={"unknown_tool": 1},
        )

    outcomes = {"first": "passed", text: "failed", "quiet": "error", "last": "no_record"}
    attempts = [
        attempt(subject, case, number, "passed" if subject == GOOD else outcome)
        for subject in (GOOD, BAD)
        for number in range(1, repeat + 1)
        for case, outcome in outcomes.items()
    ]
    return Evaluation(
        id="20250101-000000-abcd",
        suite=text,
        started="2025-01-01T00:00:00+00:00",
        subjects=(GOOD, BAD),
        cases=tuple(outcomes),
        written={case: {"id": case, "question": text, "calls": [{text: {text: text}}]} for case in outcomes},
        attempts=attempts,
        repeat=repeat,
        state="finished",
        note=text,
    )


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update((name, value) for name, value in attrs)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_page_holds_no_markup_of_others_and_no_outside_address(language):
    told = evaluation(EVIL)
    text = page(told, inside(told), language)
    found = Elements()
    found.feed(text)
    assert found.tags.isdisjoint({"script", "img", "iframe", "link", "object", "a", "base", "form"})
    assert not [
        name for name, _ in found.attributes if name.startswith("on") or name in ("src", "href", "style")
    ]
    addresses = re.findall(r"https?://[^\s\"'<&]+", text)
    assert {a for a in addresses if "evil.example" not in a} == {"http://www.w3.org/2000/svg"}
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src &#x27;none&#x27;" in text
    text.encode("utf-8")
    assert "\x00" not in text


@pytest.mark.parametrize(("language", "words"), [("en", "right calls"), ("zh", "调用正确")])
def test_a_page_holds_every_part(language, words):
    told = evaluation("tea", repeat=4)
    text = page(told, inside(told), language)
    assert words in text
    assert text.count("<svg") >= 7
    assert "prefers-color-scheme: dark" in text
    assert f'lang="{"zh-CN" if language == "zh" else "en"}"' in text
    assert "4/4" in text
    assert "0/4" in text
    assert "EUR" in text
    assert page(told, inside(told), language) == text
    assert text.count("<details") == 12


def test_junit_is_xml_whatever_a_model_wrote():
    root = ET.fromstring(junit(evaluation(EVIL), "en"))
    assert root.get("tests") == "8"
    assert (root.get("failures"), root.get("errors")) == ("1", "1")
    bad = root.findall("testsuite")[1]
    assert [len(bad.findall(f"testcase/{kind}")) for kind in ("failure", "error", "skipped")] == [1, 1, 1]
    assert "<script" in bad.find("testcase/failure").get("message")
    assert (
        ET.fromstring(junit(evaluation("a", repeat=2), "zh")).find("testsuite/testcase").get("name")
        == "first #1"
    )


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(), max_size=40))
def test_no_text_breaks_a_report(text):
    told = evaluation(text or "x")
    ET.fromstring(junit(told, "en"))
    found = Elements()
    found.feed(page(told, (), "zh"))
    assert "script" not in found.tags


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_terminal_tells_figures_and_failures(language, capsys):
    told = evaluation("[bold]tea[/]", repeat=2)
    console = Console(width=200, soft_wrap=True)
    show(told, inside(told), console, language)
    out = capsys.readouterr().out
    assert "[bold]tea[/]" in out
    assert "100 %" in out
    assert ("wrong calls" if language == "en" else "错误调用") in out
    assert "#2 [b · json]" in out


def test_a_model_that_answered_nothing_cannot_be_judged():
    told = evaluation("x")
    failed = [replace(attempt, outcome="error", message="gone") for attempt in told.attempts]
    said = complaints(replace(told, attempts=tuple(failed)), (), Thresholds())
    assert len(said) == len(told.subjects)
    assert "gave no answer at all" in said[0]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_figure_is_cut_in_a_pipe_or_a_narrow_terminal(language, capsys):
    told = evaluation("x" * 60)
    show(told, (), Console(width=40, soft_wrap=True), language)
    row = capsys.readouterr().out.splitlines()[2]
    assert row.count("%") == 3
    assert "…" not in row
    show(told, (), Console(width=40, soft_wrap=True, force_terminal=True), language)
    assert "…" not in capsys.readouterr().out.split("✗")[0]


def test_an_element_escapes_what_it_is_given():
    assert (
        element("p", "<b>&", title='"x"', hidden=True, lang=None)
        == '<p title="&quot;x&quot;" hidden>&lt;b&gt;&amp;</p>'
    )
    assert element("div", element("p", "<")) == "<div><p>&lt;</p></div>"


def test_every_word_is_there_in_both_languages():
    for words in (*WORDS.values(), *FINDINGS.values()):
        assert words["en"]
        assert words["zh"]
    source = Path(__file__).parents[2] / "src" / "toolhand" / "evals"
    used = {
        code
        for file in source.rglob("*.py")
        for code in re.findall(r'code="(\w+)"|_about\("(\w+)"', file.read_text("utf-8"))
        for code in code
        if code
    }
    assert used == set(FINDINGS)
