"""A found failure becomes a case in one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evals.models import clerk
from toolhand import Agent, Session, tool
from toolhand.core.errors import SettingsError
from toolhand.evals.attempt import Conditions, attempt
from toolhand.evals.export import from_drift, from_evaluation, from_messages
from toolhand.evals.reading import read_case, read_suite
from toolhand.evals.results import Attempt, Evaluation, Subject
from toolhand.evals.writing import append_cases
from toolhand.observability.drift import DriftLog
from toolhand.testing import ScriptedModel

SHOP = Path(__file__).parents[1] / "cases" / "evals" / "shop.yaml"
NATIVE = Subject(model="m", protocol="native")


async def again(path, model):
    return [
        await attempt(case, NATIVE, 1, ScriptedModel(model), Conditions()) for case in read_suite(path).cases
    ]


async def test_from_an_evaluation_into_a_new_file_and_an_old_one(tmp_path):
    suite = read_suite(SHOP)
    told = Evaluation(
        id="e",
        suite="s",
        started="",
        subjects=(NATIVE,),
        cases=("price",),
        written={case.id: case.written for case in suite.cases},
        attempts=[
            Attempt(subject=NATIVE, case="price", kind="calls", repeat=1, outcome="failed"),
        ],
    )
    file = tmp_path / "deep" / "cases.yaml"
    assert append_cases(file, [from_evaluation(told, "price")]) == ["price"]
    assert append_cases(file, [from_evaluation(told, "price"), from_evaluation(told, "session")]) == [
        "price-2",
        "session",
    ]
    assert [a.passes for a in await again(file, clerk)] == [True, True, True]
    assert "../" in file.read_text()
    with pytest.raises(SettingsError, match="nothing"):
        from_evaluation(told, "nothing")


def test_what_people_wrote_stays_as_it_is(tmp_path):
    file = tmp_path / "cases.yaml"
    before = "# Ours.\nname: ours\ncases:\n    # the first\n    - id: a   # why\n      question: hi\n      calls: none"
    file.write_text(before)
    append_cases(file, [{"id": "b", "question": "NO", "calls": "none"}])
    text = file.read_text()
    assert text.startswith(before)
    assert [case.id for case in read_suite(file).cases] == ["a", "b"]
    assert read_suite(file).cases[1].questions[0].text == "NO"


@pytest.mark.parametrize(
    "text",
    [
        "cases: [{id: a, question: q, calls: none}]\n",
        "cases:\n  - {id: a, question: q, calls: none}\nname: x\n",
    ],
)
def test_where_nothing_can_be_added_nothing_is_written(tmp_path, text):
    file = tmp_path / "cases.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match="last key|最后一个键"):
        append_cases(file, [{"id": "b", "question": "q", "calls": "none"}])
    assert file.read_text() == text


async def test_from_a_drift_log(tmp_path):
    @tool
    def price(item: str) -> float:
        """The price of an item."""
        return 3.5

    log = DriftLog(tmp_path / "drift.jsonl")
    model = ScriptedModel(["Sure: {'name': 'price', 'arguments': {'item': 'tea',}}", "3.5"], name="m")
    await Agent(model, [price], protocol="json", sinks=[log]).run("What does tea cost?")
    (record,) = log.records()
    log.close()
    file = tmp_path / "cases.yaml"
    append_cases(file, [from_drift(record)])
    (case,) = read_suite(file).cases
    assert case.kind == "calls"
    (done,) = await again(file, [])  # no model is asked
    assert done.passes, done.findings
    broken = read_case({**case.written, "output": case.outputs[0].replace("tea", "cups")})
    assert not (await attempt(broken, NATIVE, 1, ScriptedModel([]), Conditions())).passes


async def test_from_a_session(tmp_path):
    (tools,) = {case.tools for case in read_suite(SHOP).cases[:1]}
    session = Session()
    agent = Agent(ScriptedModel(clerk), tools, protocol="native")
    await agent.run("What does tea cost?", session=session)
    await agent.run("And in dollars?", session=session)
    written = from_messages("dollars", session.messages, list(tools))
    file = tmp_path / "cases.yaml"
    append_cases(file, [written])
    (case,) = read_suite(file).cases
    assert [message.role for message in case.history] == ["user", "assistant", "tool", "assistant"]
    assert case.questions[0].text == "And in dollars?"
    (done,) = await again(file, clerk)
    assert done.passes, done.findings
    with pytest.raises(SettingsError):
        from_messages("x", (), ())
