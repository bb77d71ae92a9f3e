from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.arguments.suggest import close, closest, distance, is_near

WORDS = st.text(alphabet="abcde", max_size=8)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", 0),
        ("abc", "abc", 0),
        ("abc", "acb", 1),
        ("abc", "abcd", 1),
        ("abc", "xyz", 3),
        ("kitten", "sitting", 3),
    ],
)
def test_distance(one, other, expected):
    assert distance(one, other, 9) == expected


def test_distance_stops_at_its_limit():
    assert distance("a" * 5000, "b" * 5000, 2) == 3


@given(WORDS, WORDS)
def test_distance_is_symmetric_and_zero_only_for_the_same(one, other):
    assert distance(one, other, 20) == distance(other, one, 20)
    assert (distance(one, other, 20) == 0) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("getwether", "getweather"),
        ("timeot", "timeout"),
        ("meduim", "medium"),
        ("dyas", "days"),
        ("iwdth", "width"),
    ],
)
def test_slips(one, other):
    assert is_near(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("on", "in"),
        ("cat", "cut"),
        ("reportv1", "reportv2"),
        ("很高", "高"),
        ("查天汽站", "查天气站"),
        ("view", "review"),
        ("decrease", "increase"),
        ("descending", "ascending"),
        ("setuser", "getuser"),
    ],
)
def test_no_slips(one, other):
    assert not is_near(one, other)


def test_close_names_come_best_first_and_far_ones_not_at_all():
    assert close("get_wether", ["get_news", "get_weather", "zzz"])[0] == "get_weather"
    assert "zzz" not in close("get_wether", ["get_news", "get_weather", "zzz"])
    assert closest("qqqq", ["zzz"]) == ""
