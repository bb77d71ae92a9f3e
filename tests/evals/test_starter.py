"""The starter suite for a user's own tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tests.evals.models import calls, says
from toolhand import tool
from toolhand.builtin import builtin_tools
from toolhand.evals.attempt import Conditions, attempt
from toolhand.evals.reading import read_case, read_suite
from toolhand.evals.results import Subject
from toolhand.evals.starter import effects, example, starter_suite
from toolhand.load import load_tools
from toolhand.testing import ScriptedModel

SHOP = Path(__file__).parents[1] / "cases" / "evals" / "shop_tools.py"


class Address(BaseModel):
    city: str
    zip: int = Field(ge=10000, le=99999)


@tool
def send(
    to: Address,
    parcels: list[Annotated[float, Field(gt=0, lt=30)]],
    speed: Literal["slow", "fast"],
    note: Annotated[str, Field(examples=["leave at the door"])] = "",
) -> str:
    """Sends parcels."""
    return "sent"


def suite_of(tools, tmp_path, language="en", source="builtin"):
    file = tmp_path / "cases.yaml"
    file.write_text(starter_suite(list(tools), source, file, language), "utf-8")
    return read_suite(file)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_four_classes_for_the_builtin_tools(tmp_path, language):
    suite = suite_of(builtin_tools(), tmp_path, language)
    tags = [case.tags[0] for case in suite.cases]
    assert set(tags) == {"normal", "missing_argument", "unknown_tool", "chatter"}
    kinds = {case.tags[0]: case.kind for case in suite.cases}
    assert (kinds["normal"], kinds["missing_argument"], kinds["chatter"]) == ("calls", "silence", "silence")
    text = (tmp_path / "cases.yaml").read_text("utf-8")
    assert ("闲聊" if language == "zh" else "Chatter") in text


async def test_a_model_that_does_as_it_is_told_passes_the_normal_call(tmp_path):
    suite = suite_of(load_tools(str(SHOP)), tmp_path, source=str(SHOP))
    case = next(case for case in suite.cases if case.id == "normal-get_price")
    model = ScriptedModel([calls("get_price", '{"item": "EXAMPLE"}'), says("1")])
    assert (await attempt(case, Subject(model="m", protocol="native"), 1, model, Conditions())).passes
    asks = next(case for case in suite.cases if case.id == "missing_argument-order")
    for reply, passes in (("Which item?", True), ("Done!", False)):
        done = await attempt(
            asks, Subject(model="m", protocol="native"), 1, ScriptedModel([reply]), Conditions()
        )
        assert done.passes == passes


def test_errands_that_a_tool_can_do_are_left_out(tmp_path):
    @tool
    def play_music(song: str) -> str:
        """Plays a song in a room."""
        return song

    from toolhand.evals.starter import _unknown  # noqa: PLC0415

    assert not any("jazz" in str(case["question"]) for case in _unknown([play_music], "en"))
    assert any("jazz" in str(case["question"]) for case in _unknown([], "en"))


def test_values_fit_the_schema():
    written = {name: example(name, schema, "en") for name, schema in send.properties.items()}
    jsonschema.validate(written, dict(send.parameters))
    assert written["note"] == "leave at the door"
    assert written["speed"] == "slow"
    assert read_case({"id": "a", "question": "q", "calls": "none"}).kind == "silence"


@settings(deadline=None)
@given(st.integers(-50, 50), st.integers(0, 60), st.sampled_from(["integer", "number"]))
def test_numbers_stay_within_their_bounds(low, span, kind):
    schema = {"type": kind, "minimum": low, "maximum": low + span}
    jsonschema.validate(example("n", schema, "en"), schema)
    jsonschema.validate(example("n", {"type": kind, "minimum": low}, "en"), {"type": kind, "minimum": low})
    jsonschema.validate(example("n", {"type": kind, "maximum": low}, "en"), {"type": kind, "maximum": low})


def test_what_will_not_run_is_named():
    assert effects(load_tools(str(SHOP))) == ["order"]
