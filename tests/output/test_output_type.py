"""What a model wrote as a value of a type."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from typing import Annotated, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, field_validator

from tests.timing import cpu_seconds
from toolhand.arguments.settings import BindSettings
from toolhand.core.errors import SettingsError, ToolError, ToolFailure
from toolhand.output import FINAL_ANSWER, OutputType
from toolhand.output.output_type import Made

NOW = dt.datetime(2026, 11, 30, 9, 0, tzinfo=dt.timezone(dt.timedelta(hours=8)))
SETTINGS = BindSettings(clock=lambda: NOW)


class Line(BaseModel):
    item: str
    count: int = Field(ge=1)


class Invoice(BaseModel):
    """An invoice as it was read."""

    number: str
    total: float
    due: dt.date | None = None
    lines: list[Line] = []

    @field_validator("number")
    @classmethod
    def _begins_with_r(cls, number: str) -> str:
        if not number.startswith("R"):
            raise ValueError("an invoice's number begins with R")
        return number


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Row(TypedDict):
    name: str
    price: float


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


def read(annotation, text, settings=SETTINGS):
    made = OutputType(annotation).read(text, settings)
    return made.value if isinstance(made, Made) else made


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (Invoice, '{"number": "R1", "total": 3.5}', Invoice(number="R1", total=3.5)),
        (Invoice, 'Here it is:\n```json\n{"number": "R1", "total": "3.5",}\n```\nDone.', Invoice(number="R1", total=3.5)),
        (Invoice, "{'number': 'R1', 'total': 3.5, 'lines': [{'item': 'tea', 'count': '三'}]}", Invoice(number="R1", total=3.5, lines=[Line(item="tea", count=3)])),
        (Invoice, '{"number": "R1", "total": 3, "due": "明天"}', Invoice(number="R1", total=3, due=dt.date(2026, 12, 1))),
        (Invoice, '{"final_answer": {"number": "R1", "total": 3}}', Invoice(number="R1", total=3)),
        (Invoice, '{"Number": "R1", "Total": 3, "extra": 1}', Invoice(number="R1", total=3)),
        (Invoice, '<think>{"number": "R9", "total": 9}</think>{"number": "R1", "total": 3}', Invoice(number="R1", total=3)),
        (Invoice, 'The shape is {"number": …}, so:\n{"number": "R1", "total": 3}', Invoice(number="R1", total=3)),
        (Point, '{"x": "1"}', Point(1)),
        (Row, '{"name": "tea", "price": "2.50"}', {"name": "tea", "price": 2.5}),
        (list[Point], '[{"x": 1}, {"x": 2, "y": 3}]', [Point(1), Point(2, 3)]),
        (list[str], '{"answer": ["a", "b"]}', ["a", "b"]),
        (list[int], "[1, 2, 3]", [1, 2, 3]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (int, "三", 3),
        (int, "42", 42),
        (int, "```\n42\n```", 42),
        (float, '{"answer": "3.5"}', 3.5),
        (bool, "true", True),
        (Literal["yes", "no"], "Yes", "yes"),
        (Literal["low", "high"], '"high"', "high"),
        (Colour, "RED", Colour.RED),
        (dt.date, "2026-12-24", dt.date(2026, 12, 24)),
        (Point | Line, '{"item": "tea", "count": 2}', Line(item="tea", count=2)),
        (int | None, '{"answer": null}', None),
        (str, "any words at all", "any words at all"),
        (Annotated[int, Field(ge=1)], "7", 7),
        (Tree, '{"name": "a", "children": [{"name": "b"}]}', Tree(name="a", children=[Tree(name="b")])),
        (list[Tree], '[{"name": "a", "children": [{"name": "b"}]}]', [Tree(name="a", children=[Tree(name="b")])]),
    ],
)  # fmt: skip
def test_what_is_meant_is_read(annotation, text, value):
    made = read(annotation, text)
    assert made == value
    assert type(made) is type(value)


@pytest.mark.parametrize(
    ("annotation", "text", "says"),
    [
        (Invoice, "I do not know.", "no JSON value"),
        (Invoice, '{"number": "R1"}', "total"),
        (Invoice, '{"number": "X1", "total": 3}', "begins with R"),
        (Invoice, '{"number": "R1", "total": 3, "lines": [{"item": "tea", "count": 0}]}', "count"),
        (Invoice, '{"number": "R1", "total": 3', "no JSON value"),
        (int, "about forty or so", "answer"),
        (Literal["yes", "no"], "perhaps", "yes"),
        (Annotated[int, Field(ge=1)], "0", "answer"),
    ],
)
def test_what_is_wrong_is_said(annotation, text, says):
    made = read(annotation, text)
    assert isinstance(made, ToolError)
    assert says in made.sentence
    assert made.retryable


def test_words_come_in_chinese_too():
    made = read(Invoice, "不知道", BindSettings(language="zh"))
    assert "没有可以作为答案" in made.message
    assert "最终答案" in OutputType(Invoice).tool("zh").description


def test_the_tool_tells_what_the_type_is():
    tool = OutputType(Invoice).tool("en")
    assert tool.name == FINAL_ANSWER
    assert tool.description.endswith("An invoice as it was read.")
    assert tool.required == ("number", "total")
    assert OutputType(list[int]).tool("en").parameters["properties"]["answer"]["items"] == {"type": "integer"}
    assert OutputType(list[Tree]).parameters["$defs"].keys() == {"Tree"}


async def test_validators_have_the_last_word():
    async def not_too_much(invoice: Invoice) -> str | None:
        return f"{invoice.total} is too much: at most 100" if invoice.total > 100 else None

    def fails(invoice: Invoice) -> None:
        if invoice.number == "R0":
            raise ToolFailure("there is no R0")

    output = OutputType(Invoice, [not_too_much, fails, lambda invoice: bool(invoice.lines)])
    said = [
        await output.objection(Invoice(number=n, total=t, lines=lines), "en")
        for n, t, lines in [
            ("R1", 500, []),
            ("R0", 1, []),
            ("R1", 1, []),
            ("R1", 1, [Line(item="a", count=1)]),
        ]
    ]
    assert "500.0 is too much" in said[0].message
    assert said[1].message == "there is no R0"
    assert "check it" in said[2].message
    assert said[3] is None


async def test_a_validator_may_object_as_pydantics_do():
    def numbered(invoice: Invoice) -> None:
        if invoice.number != "R7":
            raise ValueError("the number is R7: look again")
        TypeAdapter(int).validate_python("seven")

    output = OutputType(Invoice, [numbered])
    said = [await output.objection(Invoice(number=n, total=1, lines=[]), "en") for n in ("R1", "R7")]
    assert said[0].message == "the number is R7: look again"
    assert "integer" in said[1].message


@pytest.mark.parametrize("text", ["null", "None", "```json\nnull\n```"])
def test_nothing_is_an_answer_where_the_type_says_so(text):
    assert OutputType(Invoice | None).read(text, SETTINGS) == Made(None)
    assert OutputType(int | None).read(text, SETTINGS) == Made(None)
    assert isinstance(OutputType(Invoice).read(text, SETTINGS), ToolError)


@pytest.mark.parametrize("wrong", [lambda x: x, object(), type(None).__class__, open])
def test_what_is_no_type_is_refused_at_once(wrong):
    with pytest.raises(SettingsError, match="output="):
        OutputType(wrong)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text):
    for annotation in (Invoice, int, list[Point]):
        made = OutputType(annotation).read(text, SETTINGS)
        assert isinstance(made, Made | ToolError)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 20_000,
        "[{" * 10_000,
        "{'a': " * 10_000,
        "```json\n{" * 5_000,
        "<think>" * 20_000,
        '{"a": "' + "x" * 100_000,
    ],
)
def test_hostile_text_takes_no_time(text):
    assert cpu_seconds(lambda: read(Invoice, text), times=1) < 8
