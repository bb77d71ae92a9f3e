"""The probe on models that play a part, its figures, and its tasks."""

from __future__ import annotations

import json
from collections import Counter
from itertools import count

import pytest

from toolhand.arguments.bind import bind
from toolhand.cli.app import run_app
from toolhand.core.errors import ModelError, ModelFault, ToolError
from toolhand.core.messages import ModelOutput, Odds, ToolCall, Usage
from toolhand.ladder import profile_of
from toolhand.probe import RUNGS, Probe, Trial, recommended, scores
from toolhand.probe.scores import FEWEST_TASKS, best_threshold, clearly_worse
from toolhand.probe.suite import WantedCall, suite
from toolhand.testing import ScriptedModel

TASKS = suite()


def first(value):
    """One value that a task accepts."""
    if isinstance(value, dict):
        return (
            first(value["any"][0])
            if set(value) == {"any"}
            else {key: first(item) for key, item in value.items()}
        )
    return [first(item) for item in value] if isinstance(value, list) else value


def calls_of(wanted):
    return [{"tool": call.tool, "args": {k: first(v) for k, v in call.arguments.items()}} for call in wanted]


def task_of(request):
    said = "\n".join(message.text for message in request.messages)
    return max((task for task in TASKS if task.text in said), key=lambda task: len(task.text))


def answered(request):
    """What a model answers that knows every task and takes only constrained prompts until it has a result."""
    task = task_of(request)
    has_result = any(
        m.role == "tool" or "tool_result" in m.text for m in request.messages if m.role != "system"
    )
    if request.grammar is None and not has_result:
        return "I cannot read this."
    wanted = task.calls_then if has_result else task.calls
    if not wanted:
        return '{"fits": false, "answer": "No."}'
    return json.dumps({"fits": True, "calls": calls_of(wanted)}, ensure_ascii=False)


async def measured(probe):
    return [trial async for trial in probe.run()]


def test_the_suite_is_whole():
    assert len(TASKS) >= 55
    kinds = Counter(task.kind for task in TASKS)
    assert set(kinds) == {"one", "several", "none", "missing", "unknown", "long", "nested", "two_step"}
    assert len({task.id for task in TASKS}) == len(TASKS)
    chinese = sum(task.language == "zh" for task in TASKS)
    assert abs(chinese - len(TASKS) / 2) <= 3
    assert {task.kind for task in TASKS[:16]} == set(kinds), "any beginning keeps the mix"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_every_wanted_call_fits_its_tool_and_is_met_by_itself(task):
    for wanted in (*task.calls, *task.calls_then):
        (made,) = calls_of([wanted])
        arguments = {key: value for key, value in made["args"].items() if value is not None}
        bound = bind(ToolCall(id="c", name=made["tool"], arguments=arguments), task.tools)
        assert not isinstance(bound, ToolError), bound
        assert wanted.is_met_by(bound.call, bound.tool)
    assert (task.kind in ("none", "missing", "unknown")) <= (not task.calls)
    assert bool(task.calls_then) == (task.kind == "two_step")


LAMP = TASKS[0].tools
WANTED = WantedCall(
    tool="t", arguments={"city": {"any": ["Köln", "Cologne"]}, "day": {"any": ["today", None]}}
)


@pytest.mark.parametrize(
    ("arguments", "is_met"),
    [
        ({"city": "köln"}, True),
        ({"city": "Cologne", "day": "today"}, True),
        ({"city": "Cologne", "day": "tomorrow"}, False),
        ({}, False),
        ({"city": "Köln", "unit": "c"}, False),
        ({"city": "Köln", "unit": None}, True),
        ({"city": ["Köln"]}, False),
    ],
)
def test_what_meets_a_wanted_call(arguments, is_met):
    from toolhand.core.tools import Tool  # noqa: PLC0415

    assert WANTED.is_met_by(ToolCall(id="c", name="t", arguments=arguments), Tool(name="t")) is is_met


async def test_a_model_that_takes_one_protocol_only_is_found_out_and_the_rest_is_not_measured():
    probe = Probe(ScriptedModel(answered, name="x:only-constrained"))
    trials = await measured(probe)
    found = scores(trials)
    assert found[0].rung == "constrained_first"
    assert found[0].share == 1.0, [
        trial.task.id for trial in trials if trial.rung == "constrained_first" and not trial.is_right
    ]
    assert set(probe.dropped) == {"native", "json", "template", "react"}
    assert set(probe.dropped.values()) == {"worse"}
    assert len(trials) < len(TASKS) * len(RUNGS) / 2
    profile = recommended(found)
    assert profile is not None
    assert profile.rungs == ("constrained_first", "calls_first")  # whose first replies are the same here
    assert profile.drops_idle  # as it was measured


async def test_a_rung_that_the_server_refuses_is_left_out_at_once():
    def script(request):
        if request.tools:
            raise ModelError("no tools here", fault=ModelFault.REFUSED, status=400)
        return "No."

    probe = Probe(ScriptedModel(script), rungs=("native", "json"), tasks=TASKS[:20])
    trials = await measured(probe)
    assert probe.dropped["native"] == "no tools here"
    assert sum(trial.rung == "native" for trial in trials) == 1
    assert trials[-1].rung == "json"


async def test_a_server_that_is_not_there_is_an_error():
    model = ScriptedModel([ModelError("gone", fault=ModelFault.UNREACHABLE)])
    with pytest.raises(ModelError, match="gone"):
        await measured(Probe(model))


async def test_it_ends_in_time_and_keeps_what_it_has():
    ticks = count(0.0, 10.0)
    probe = Probe(ScriptedModel(answered), seconds=200, clock=lambda: next(ticks))
    trials = await measured(probe)
    assert 3 < len(trials) < 15
    assert probe.trials == trials
    assert probe.seconds_left == 0.0


async def test_what_was_measured_stays_when_it_is_stopped():
    probe = Probe(ScriptedModel(answered))
    async for _ in probe.run():
        if len(probe.trials) == 7:
            break
    assert len(probe.trials) == 7
    assert probe.trials_left == len(TASKS) * len(RUNGS) - 7
    assert scores(probe.trials)


async def test_how_sure_the_model_was_is_kept_and_nothing_follows_from_it():
    def script(request):
        odds = (Odds('{"fits', {}), Odds(" true", {" true": 0.3, " false": 0.1}))
        if request.grammar is None:
            return ModelOutput(text="no", odds=(Odds("no", {"no": 0.9, "yes": 0.1}),))
        return ModelOutput(text=answered(request), odds=odds, usage=Usage(requests=1, input_tokens=5))

    calling = [task for task in TASKS if task.calls and task.kind == "one"][:2]
    probe = Probe(ScriptedModel(script), rungs=("constrained",), tasks=calling)
    trials = await measured(probe)
    assert all(trial.is_right and trial.calls for trial in trials)
    assert all(trial.sure is not None and 0 < trial.sure < 0.5 for trial in trials)


def trial(number, *, right, rung="json", sure=None, needs=True):
    task = next(task for task in TASKS if bool(task.calls) is needs)
    from dataclasses import replace  # noqa: PLC0415

    calls = int(needs or not right)
    return Trial(
        task=replace(task, id=str(number)),
        rung=rung,
        is_right=right,
        sure=sure,
        calls=calls,
        wrong_calls=int(not right),
    )


def test_the_threshold_parts_good_calls_from_false_ones_in_the_widest_gap():
    good = [trial(n, right=True, sure=sure) for n, sure in enumerate([0.95, 0.9, 0.72])]
    false = [trial(n + 9, right=False, sure=sure, needs=False) for n, sure in enumerate([0.4, 0.52])]
    assert best_threshold([*good, *false]) == pytest.approx(0.62)
    assert best_threshold([trial(1, right=True)]) == 0.0
    (score,) = scores([*good, *false])
    assert (score.right, score.wrong_calls, score.silent) == (5, 0, (2, 2))


def test_a_rung_is_left_out_only_when_chance_does_not_explain_it():
    def trials(rung, right, of):
        return [trial(n, right=n < right, rung=rung) for n in range(of)]

    assert clearly_worse([*trials("a", 16, 16), *trials("b", 6, 16)], ("a", "b")) == ["b"]
    assert clearly_worse([*trials("a", 16, 16), *trials("b", 13, 16)], ("a", "b")) == []
    few = FEWEST_TASKS - 1
    assert clearly_worse([*trials("a", few, few), *trials("b", 0, few)], ("a", "b")) == []
    assert clearly_worse(trials("a", 16, 16), ("a",)) == []


async def test_a_task_that_the_provider_refuses_or_cannot_read_is_wrong_and_the_rest_is_measured():
    faults = [ModelFault.CONTENT_FILTER, ModelFault.CONTEXT_OVERFLOW, ModelFault.GARBLED]

    def script(request):
        place = TASKS.index(task_of(request))
        if place in (0, 2, 4):
            raise ModelError("not this one", fault=faults[place // 2])
        return answered(request)

    probe = Probe(ScriptedModel(script), rungs=("constrained_first",), tasks=TASKS[:8])
    trials = await measured(probe)
    assert [trial.is_right for trial in trials] == [place not in (0, 2, 4) for place in range(8)]
    assert [trial.problems for trial in trials if not trial.is_right] == [(fault.value,) for fault in faults]

    def never(request):
        raise ModelError("a web page", fault=ModelFault.GARBLED)

    with pytest.raises(ModelError, match="a web page"):
        await measured(Probe(ScriptedModel(never), rungs=("native", "json"), tasks=TASKS[:8]))


@pytest.fixture
def commanded(tmp_path, monkeypatch, capsys):
    """Runs `toolhand probe` with a script in the model's place; gives the exit code and what was said."""
    monkeypatch.setenv("TOOLHAND_CONFIG", str(tmp_path))
    monkeypatch.setattr("toolhand.probe.measuring.suite", lambda: TASKS[:10])

    def run(script, *options):
        model = ScriptedModel(script, name="x:played")
        monkeypatch.setattr("toolhand.cli.probe.resolve", lambda name: model)
        code = run_app(["probe", "x:played", "-p", "constrained_first", "-p", "json", *options])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def test_a_probe_that_was_stopped_goes_on_where_it_was(commanded, tmp_path):
    whole = commanded(answered)
    assert whole[0] == 0
    (profile,) = tmp_path.rglob("*.toml")
    expected = profile.read_text("utf-8")
    profile.unlink()
    asked = []

    def stopped(after, error):
        def script(request):
            if len(asked) == after:
                raise error
            asked.append(request)
            return answered(request)

        return script

    code, said = commanded(stopped(8, KeyboardInterrupt()))
    assert code == 130
    assert "trials are left; the same command goes on" in said
    (kept,) = tmp_path.rglob("*.trials.jsonl")
    with kept.open("a", encoding="utf-8") as file:
        file.write('{"task": "half a li')
    code, said = commanded(stopped(16, ModelError("gone in the middle", fault=ModelFault.UNREACHABLE)))
    assert (code, "going on after" in said, "gone in the middle" in said) == (1, True, True)
    code, said = commanded(stopped(-1, None))
    assert code == 0
    steps = sum(2 if task.calls_then else 1 for task in TASKS[:10])
    assert len(asked) <= 2 * steps + 2, "nothing is asked twice but what was broken off"
    assert profile.read_text("utf-8") == expected
    assert not kept.exists()


def test_nothing_is_recommended_where_no_call_was_right(commanded, tmp_path):
    code, said = commanded(lambda request: "I would rather talk.")
    assert (code, "no call was right on any protocol" in said) == (1, True)

    def refused(request):
        raise ModelError("no such thing here", fault=ModelFault.REFUSED, status=400)

    code, said = commanded(refused, "--fresh")
    assert (code, "json: the server refused it: no such thing here" in said) == (1, True)
    assert not list(tmp_path.rglob("*.toml"))


def test_a_dry_run_writes_nothing(commanded, tmp_path):
    assert commanded(answered, "--dry-run")[0] == 0
    assert not list(tmp_path.rglob("*.*"))


def test_an_unknown_rung_is_named(capsys):
    assert run_app(["probe", "local:small", "--protocol", "nothing"]) == 1
    assert "nothing" in capsys.readouterr().err


@pytest.mark.model
def test_the_command_on_the_embedded_model(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TOOLHAND_CONFIG", str(tmp_path))
    monkeypatch.setattr("toolhand.probe.measuring.suite", lambda: TASKS[:1])
    code = run_app(["probe", "local:small", "-p", "constrained", "-p", "json"])
    out = capsys.readouterr().out
    assert "constrained" in out
    # So small a model may have no call right of one task.
    assert ("no call was right" if code else "too little was measured") in out
    assert not list(tmp_path.rglob("*.toml"))
    monkeypatch.setattr("toolhand.probe.measuring.suite", lambda: TASKS[1:3])
    monkeypatch.setattr("toolhand.cli.probe._FEWEST", 2)
    assert run_app(["probe", "local:small", "-p", "calls_first"]) == 0
    assert "written" in capsys.readouterr().out
    from toolhand.models.resolve import resolve  # noqa: PLC0415

    assert profile_of(resolve("local:small")).rungs == ("calls_first",)
