"""YAML with the lines that things stand on."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.evals.spots import CaseFileError, spots_of
from toolhand.evals.writing import yaml_text


def value_of(text):
    return spots_of(text, name="cases.yaml").value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NO", "NO"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2025-03-01", "2025-03-01"),
        ("2025-03-01 10:00:00", "2025-03-01 10:00:00"),
        ("007", 7),
        ("1e3", 1000.0),
        ("0x1f", 31),
        ("true", True),
        ("~", None),
        ("'12'", "12"),
        ('"true"', "true"),
        ("[1, a, {b: 2}]", [1, "a", {"b": 2}]),
        ("a: &x {k: 1}\nb: {<<: *x, l: 2}", {"a": {"k": 1}, "b": {"k": 1, "l": 2}}),
        ('{"a": [1.5, null, "\\u4f60"]}', {"a": [1.5, None, "你"]}),
        ("", None),
    ],
)
def test_scalars_are_read_as_yaml_1_2_reads_them(text, value):
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("a: 1\nb: [1\n", 3, "YAML"),
        ("a: 1\nb: 2\na: 3\n", 3, "twice"),
        ("a:\n\t- 1\n", 2, "YAML"),
        ("? [1]\n: 2\n", 1, "plain text"),
        ("a: &x 1\nb: {<<: *x}\n", 2, "merged"),
        ("a: *nobody\n", 1, "YAML"),
    ],
)
def test_a_mistake_is_named_with_its_line(text, line, word, monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    with pytest.raises(CaseFileError, match=rf"cases\.yaml, line {line}: .*{word}"):
        value_of(text)


def test_aliases_of_aliases_have_an_end():
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    with pytest.raises(CaseFileError, match="large|过大"):
        value_of(f"l0: &l0 [x]\n{levels}")
    with pytest.raises(CaseFileError):
        value_of("[" * 200 + "]" * 200)


def test_the_line_of_what_stands_deep_in_a_list():
    spot = spots_of("cases:\n  - id: a\n    calls:\n      - b:\n          c: 1\n", name="x")
    assert spot.child("cases").child(0).child("calls").child(0).child("b").child("c").line == 5


YAML = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(-1e6, 1e6)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]))
    | st.sampled_from(
        [
            "NO",
            "1e5",
            "0o7",
            "~",
            "2025-03-01",
            "12:30",
            ".5",
            "a: b",
            "- x",
            "x\ny",
            " x\n",
            "x \ny\n",
            "#",
            "",
            "...",
            "\t",
        ]
    ),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc_ é中", max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(YAML)
def test_what_is_written_reads_back_the_same(value):
    assert json.dumps(value_of(yaml_text({"v": value}))) == json.dumps({"v": value})
