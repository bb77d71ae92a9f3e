"""Whatever a tool gives back becomes JSON that a strict reader takes."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import itertools
import json
import pathlib
import uuid
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.messages import ToolResult, Value


def strict(text: str):
    def refuse(word):
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


class Color(enum.Enum):
    RED = "红"


class Model(BaseModel):
    when: dt.date


@dataclasses.dataclass
class Point:
    x: int
    secret: str = dataclasses.field(default="s", repr=False)


def test_times_ids_and_paths():
    value = {
        "at": dt.datetime(2026, 3, 5, 8, 30),
        "day": dt.date(2026, 3, 5),
        "clock": dt.time(8, 30),
        "length": dt.timedelta(minutes=90),
        "id": uuid.UUID(int=5),
        "path": pathlib.PurePosixPath("/数据/一.csv"),
        dt.date(2026, 3, 6): "键",
    }
    assert strict(result_text(value)) == {
        "at": "2026-03-05T08:30:00",
        "day": "2026-03-05",
        "clock": "08:30:00",
        "length": "1:30:00",
        "id": "00000000-0000-0000-0000-000000000005",
        "path": "/数据/一.csv",
        "2026-03-06": "键",
    }


def test_decimals_keep_their_digits():
    assert strict(result_text({"合计": Decimal("10203040506070.10")})) == {"合计": "10203040506070.10"}


def test_nan_and_infinities_become_null():
    assert strict(result_text([float("nan"), float("inf"), 1.5, Decimal("NaN")])) == [None, None, 1.5, None]


def test_a_value_that_contains_itself_is_cut_at_the_loop():
    value = {"名": "环"}
    value["自己"] = value
    value["表"] = [value]
    text = result_text(value)
    assert strict(text)["名"] == "环"
    assert len(text) < 200


def test_the_same_object_twice_is_no_loop():
    shared = [1]
    assert jsonable([shared, shared]) == [[1], [1]]


def test_bytes_are_text_where_they_are_text():
    assert jsonable("国标编码".encode("gb18030")) == "国标编码"
    assert jsonable("好".encode()) == "好"
    assert jsonable(b"\x89PNG\r\n\x1a\n" + bytes(2000)) == "(PNG image, 2008 bytes)"


def test_objects_of_all_kinds():
    assert jsonable([Color.RED, Model(when=dt.date(2026, 1, 2)), Point(1), {3, 1, 2}, range(3), int]) == [
        "红", {"when": "2026-01-02"}, {"x": 1}, [1, 2, 3], [0, 1, 2], "int",
    ]  # fmt: skip


def test_an_endless_iterator_is_bounded():
    assert len(jsonable(itertools.count())) == 10_001


def test_deep_nesting_is_bounded():
    value = []
    for _ in range(10_000):
        value = [value]
    strict(result_text(value))


def test_a_hostile_object_does_not_break_the_result():
    class Hostile:
        def __iter__(self):
            raise RuntimeError("no")

        def __str__(self):
            raise RuntimeError("no")

    assert "Hostile" in jsonable({"x": Hostile()})["x"]


def test_huge_integers_do_not_break_the_result():
    strict(result_text([10**6000]))


def test_lone_surrogates_can_be_encoded():
    assert result_text("坏\ud83d").encode() == "坏\ufffd".encode()


def test_text_is_never_escaped():
    assert result_text({"城市": "北京"}) == '{"城市": "北京"}'


@pytest.mark.parametrize("language", ["en", "zh"])
def test_empty_results_read_as_answers(language):
    texts = [result_text(value, language) for value in ([], None, "", {})]
    assert all(texts)
    assert len(set(texts)) == 4


def test_an_error_reads_as_one():
    error = ToolError(code=ErrorCode.TIMEOUT, message="Too slow.", hint="Ask for less.")
    assert (
        result_text(ToolResult(call_id="1", name="t", outcome=error))
        == "Error (timeout): Too slow. Ask for less."
    )
    assert result_text(ToolResult(call_id="1", name="t", outcome=Value("好"))) == "好"


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.decimals()
    | st.datetimes(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers() | st.none(), inner)
        | st.tuples(inner, inner)
    ),
)


@given(ANY)
def test_anything_becomes_strict_json(value):
    plain = jsonable(value)
    assert strict(json.dumps(plain, ensure_ascii=False, allow_nan=False)) == plain
    result_text(value).encode()


def test_a_graph_of_objects_ends():
    class Employee:
        def __init__(self, name):
            self.name, self.others = name, []

    staff = [Employee(str(n)) for n in range(40)]
    for one in staff:
        one.others = [other for other in staff if other is not one]
    assert len(result_text(staff)) < 1_000_000
    assert result_text(json) == "json"


def test_the_same_instance_in_a_list_is_shown_each_time():
    point = Point(1)
    assert jsonable([point, point]) == [{"x": 1}, {"x": 1}]


def test_keys_that_look_alike_as_text_keep_their_values():
    assert jsonable({1: "a", "1": "b"}) == {"1 (int)": "a", "1": "b"}
    assert jsonable({"1": "b", 1: "a"}) == {"1": "b", "1 (int)": "a"}
    assert jsonable({None: 0, "null": 1, "null (NoneType)": 2}) == {
        "null (NoneType 2)": 0,
        "null": 1,
        "null (NoneType)": 2,
    }
    assert jsonable({(1, 2): 0, "[1, 2]": 1}) == {"[1, 2] (tuple)": 0, "[1, 2]": 1}
    assert list(jsonable({dt.date(2026, 1, 2): 1, "2026-01-02": 2}).values()) == [1, 2]
    assert jsonable({1: "a", "2": "b"}) == {"1": "a", "2": "b"}
