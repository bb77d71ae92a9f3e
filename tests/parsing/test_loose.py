import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.parsing.loose import LooseError, read_value

MENDED = [
    ('{"a": True, "b": None,}', {"a": True, "b": None}, {"python_literal", "trailing_comma"}),
    (
        "{tool: probe, args: {to: moon}}",
        {"tool": "probe", "args": {"to": "moon"}},
        {"unquoted_key", "unquoted_value"},
    ),
    ('{"a": "x" "b": "y"}', {"a": "x", "b": "y"}, {"missing_comma"}),
    ('["oak" "elm"]', ["oak", "elm"], {"missing_comma"}),
    ('{"b": "he said "go", twice", "c": 1}', {"b": 'he said "go", twice', "c": 1}, {"inner_quotes"}),
    ('{"p": "C:\\Users\\Me"}', {"p": "C:\\Users\\Me"}, {"literal_backslash"}),
    ('{"a": "one\ntwo"}', {"a": "one\ntwo"}, {"raw_newline"}),
    ('{"a": """x "y"\nz"""}', {"a": 'x "y"\nz'}, {"triple_quotes"}),
    ('{"a" => "b"}', {"a": "b"}, {"other_separator"}),
    ('{"a": 007, "b": +2.5}', {"a": 7, "b": 2.5}, {"number_spelling"}),
    ('{"a": 12,500}', {"a": 12500}, {"number_spelling"}),
    ('{\\"a\\": \\"b\\"}', {"a": "b"}, {"escaped_quotes"}),
    (
        "｛“a”：“b”，“c”：［1，2］｝",
        {"a": "b", "c": [1, 2]},
        {"full_width_punctuation", "typographic_quotes"},
    ),
    ('{"a": 1, // one\n "b": /* two */ 2}', {"a": 1, "b": 2}, {"comment"}),
    ('{"a": [1, 2}', {"a": [1, 2]}, {"mismatched_closer"}),
    ('{a:<|"|>x,y<|"|>,b:true}', {"a": "x,y", "b": True}, {"unquoted_key", "marked_quotes"}),
]


@pytest.mark.parametrize(("text", "value", "kinds"), MENDED)
def test_mends_and_says_what(text, value, kinds):
    loose = read_value(text)
    assert loose.value == value
    assert loose.end == len(text)
    assert loose.is_complete
    assert {taken.kind for taken in loose.fixes} == kinds


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_strict_json_is_read_as_it_is(value):
    if not isinstance(value, list | dict | str):
        value = [value]
    text = json.dumps(value, ensure_ascii=False)
    loose = read_value(text + " tail")
    assert loose.value == value
    assert loose.end == len(text)
    assert not loose.fixes


@pytest.mark.parametrize(
    ("text", "open_path", "is_cut"),
    [
        ('{"a": {"b": 1}', (), False),
        ('{"a": {"b": "x"', ("a",), False),
        ('{"a": ["x", "y"', ("a",), False),
        ('{"a": "half of', ("a",), True),
        ('{"a": 1, "b', (), True),
        ('{"a": 12', ("a",), True),
    ],
)
def test_tells_a_missing_bracket_from_a_cut_value(text, open_path, is_cut):
    loose = read_value(text)
    assert not loose.is_complete
    assert loose.open_path == open_path
    assert loose.is_cut is is_cut


@pytest.mark.parametrize(
    ("text", "key"), [('{"a": 2, "b": }', "b"), ("{...}", ""), ("{so}", ""), ("", ""), ("words", "")]
)
def test_what_is_no_value_is_refused_with_its_place(text, key):
    with pytest.raises(LooseError) as caught:
        read_value(text)
    assert caught.value.key == key


def test_surrogates_are_joined_or_replaced():
    loose = read_value('{"a": "\\ud83d\\ude80", "b": "x\\ud83d"}')
    assert loose.value == {"a": "🚀", "b": "x\ufffd"}


def test_not_a_number_is_no_number():
    assert read_value('{"a": NaN}').value == {"a": "NaN"}


@given(st.text(alphabet="{}[]\"':,\\ab1 \n｛：“”", max_size=120))
def test_never_raises_anything_else(text):
    try:
        loose = read_value(text)
    except LooseError as problem:
        position = problem.position
    else:
        position = loose.end
    assert 0 <= position <= len(text)
