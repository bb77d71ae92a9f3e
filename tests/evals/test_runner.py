"""Whole evaluations on a scripted model: what is tried, kept, recorded and replayed."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.evals.models import calls, clerk, forgetful, says
from toolhand.core import plugins
from toolhand.core.errors import ModelError, SettingsError
from toolhand.core.messages import ModelOutput
from toolhand.evals import runner
from toolhand.evals.attempt import Conditions, attempt
from toolhand.evals.reading import read_case, read_suite
from toolhand.evals.results import Attempt, Subject, attempt_of
from toolhand.evals.runner import evaluate, run_stored, subjects_of
from toolhand.evals.store import Store
from toolhand.evals.summary import against, figures, inside
from toolhand.evals.tape import Tape
from toolhand.testing import ScriptedModel

SHOP = Path(__file__).parents[1] / "cases" / "evals" / "shop.yaml"
CLERK, FORGETFUL = Subject(model="clerk", protocol="native"), Subject(model="forgetful", protocol="native")
MODELS = {"clerk": clerk, "forgetful": forgetful}


@pytest.fixture(autouse=True)
def models(monkeypatch):
    """The names of this test's models are known where models are made; what is made is a public double."""
    made = []

    def resolve(spec, **options):
        del options
        made.append(ScriptedModel(MODELS[spec], name=spec))
        return made[-1]

    monkeypatch.setattr(runner, "resolve", resolve)
    return made


def asked(models):
    return sum(len(model.requests) for model in models)


async def test_a_good_model_passes_every_case(models):
    done = await evaluate(read_suite(SHOP), [CLERK])
    assert [(a.case, a.findings) for a in done if not a.passes] == []
    assert len(done) == 7
    assert models[0].is_closed
    by_case = {a.case: a for a in done}
    assert by_case["two-steps"].requests == 3
    assert by_case["two-steps"].tokens == 2 * 59 + 67
    assert sum(by_case["数量"].fixes.values()) == 1
    assert by_case["数量"].exchanges[0].stopped == "cut"
    assert by_case["read"].requests == 0
    assert by_case["read"].fixes


async def test_a_bad_model_fails_where_it_should_and_says_why():
    done = await evaluate(read_suite(SHOP), [FORGETFUL])
    failed = [a for a in done if not a.passes]
    assert [a.case for a in failed] == ["asks"]
    assert failed[0].wrong_calls == 1
    assert {finding.code for finding in failed[0].findings} == {"unexpected_call", "no_answer"}
    assert attempt_of(json.loads(json.dumps(failed[0].as_json()))) == failed[0]


async def test_repeats_and_several_subjects_at_once():
    done = await evaluate(read_suite(SHOP), [CLERK, FORGETFUL], repeat=3, concurrency=4)
    assert len(done) == 2 * 3 * 7
    assert len({(a.subject, a.case, a.repeat) for a in done}) == len(done)


async def test_a_replay_asks_nobody_and_gives_the_same(models, tmp_path):
    suite = read_suite(SHOP)
    tape = tmp_path / "tape.jsonl"
    recorded = await evaluate(
        suite, [CLERK], repeat=2, conditions=Conditions(tape=Tape(tape, plays=False, records=True))
    )
    before = asked(models)
    replayed = await evaluate(
        suite,
        [CLERK],
        repeat=2,
        conditions=Conditions(tape=Tape(tape, plays=True, records=False), plays_only=True),
    )
    assert asked(models) == before
    assert replayed == recorded
    assert tape.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("protocol", ["auto", *plugins.members("protocols", "PROTOCOL")])
async def test_every_protocol_replays_to_the_same(protocol, tmp_path, models, monkeypatch):
    """Also where the protocol is chosen by the file that an embedded model is in."""
    real = runner.resolve

    def resolve(spec, **options):
        made = real(spec, **options)
        made.settings = SimpleNamespace(path=Path("/models/qwen2.5-coder-1.5b-instruct.gguf"))
        return made

    monkeypatch.setattr(runner, "resolve", resolve)
    suite, subject, tape = (
        read_suite(SHOP),
        Subject(model="clerk", protocol=protocol),
        tmp_path / "tape.jsonl",
    )
    recorded = await evaluate(
        suite, [subject], conditions=Conditions(tape=Tape(tape, plays=False, records=True))
    )
    assert asked(models)
    replayed = await evaluate(
        suite, [subject], conditions=Conditions(tape=Tape(tape, plays=True, records=False), plays_only=True)
    )
    assert replayed == recorded


async def test_a_changed_prompt_has_no_record_and_the_gaps_can_be_filled(models, tmp_path):
    suite = read_suite(SHOP)
    tape = tmp_path / "tape.jsonl"
    await evaluate(suite, [CLERK], conditions=Conditions(tape=Tape(tape, plays=False, records=True)))
    plays = Conditions(tape=Tape(tape, plays=True, records=False), plays_only=True)
    changed = read_case({**suite.cases[0].written, "instructions": "Be brief."})
    (gone,) = await evaluate(runner.Suite(name="x", cases=(changed,)), [CLERK], conditions=plays)
    assert gone.outcome == "no_record"
    assert "1" in gone.message
    assert not gone.counts
    before = asked(models)
    fills = Conditions(tape=Tape(tape, plays=True, records=True))
    both = runner.Suite(name="x", cases=(changed, *suite.cases[1:]))
    assert all(a.passes for a in await evaluate(both, [CLERK], conditions=fills))
    assert asked(models) == before + 2  # the changed case's two turns
    plays = Conditions(tape=Tape(tape, plays=True, records=False), plays_only=True)
    assert all(a.passes for a in await evaluate(both, [CLERK], conditions=plays))


async def test_a_replay_knows_no_model_that_was_not_recorded(tmp_path):
    tape = tmp_path / "tape.jsonl"
    await evaluate(
        read_suite(SHOP), [CLERK], conditions=Conditions(tape=Tape(tape, plays=False, records=True))
    )
    plays = Conditions(tape=Tape(tape, plays=True, records=False), plays_only=True)
    with pytest.raises(SettingsError, match="forgetful.*clerk|clerk"):
        await evaluate(read_suite(SHOP), [FORGETFUL], conditions=plays)
    with pytest.raises(SettingsError, match="--record"):
        Tape(tmp_path / "nothing.jsonl", plays=True, records=False)


async def test_the_results_of_real_tools_are_replayed_too(tmp_path):
    (tmp_path / "clock.py").write_text(
        "import itertools\nfrom toolhand import tool\nN = itertools.count(1)\n\n@tool\ndef number() -> int:\n    'A new number.'\n    return next(N)\n"
    )
    file = tmp_path / "c.yaml"
    file.write_text("tools: clock.py\ncases:\n  - {id: a, question: A number?, calls: [number], text: '1'}\n")

    def counts(request):
        results = [r for m in request.messages for r in m.results]
        return says(f"It is {results[0].data}.") if results else calls("number", "{}")

    MODELS["counts"] = counts
    subject, tape = Subject(model="counts", protocol="native"), tmp_path / "tape.jsonl"
    suite = read_suite(file)
    first = await evaluate(
        suite, [subject], conditions=Conditions(tape=Tape(tape, plays=False, records=True))
    )
    assert first[0].passes
    again = await evaluate(
        suite, [subject], conditions=Conditions(tape=Tape(tape, plays=True, records=False), plays_only=True)
    )
    assert again == first  # a live tool would have given 2, and the prompt would have had no record


async def test_what_a_tool_gave_is_recorded_as_a_model_sees_it(tmp_path):
    (tmp_path / "t.py").write_text(
        "from toolhand import tool\n\n@tool\ndef customer() -> dict:\n    'A customer.'\n    return {'phone': '13812345678', 'name': 'Li'}\n"
    )
    file = tmp_path / "c.yaml"
    file.write_text("tools: t.py\ncases:\n  - {id: a, question: Who?, calls: [customer], text: Li}\n")
    MODELS["teller"] = lambda request: says("Li") if request.messages[-1].results else calls("customer", "{}")
    tape, subject = tmp_path / "tape.jsonl", Subject(model="teller", protocol="native")
    done = await evaluate(
        read_suite(file), [subject], conditions=Conditions(tape=Tape(tape, plays=False, records=True))
    )
    assert done[0].passes
    assert '"tool": "customer"' in tape.read_text("utf-8")
    assert "13812345678" not in tape.read_text("utf-8")
    again = await evaluate(
        read_suite(file),
        [subject],
        conditions=Conditions(tape=Tape(tape, plays=True, records=False), plays_only=True),
    )
    assert again == done


async def test_a_hundred_cases_are_replayed_quickly_and_to_the_same_figures(tmp_path):
    written = [case.written for case in read_suite(SHOP).cases]
    cases = [read_case({**written[n % 7], "id": f"{written[n % 7]['id']}-{n}"}) for n in range(100)]
    suite, tape = runner.Suite(name="many", cases=tuple(cases)), tmp_path / "tape.jsonl"
    await evaluate(suite, [CLERK], conditions=Conditions(tape=Tape(tape, plays=False, records=True)))
    store = Store(tmp_path / "evals.db")
    told = []
    for _ in range(3):
        started, used = time.perf_counter(), time.process_time()
        conditions = Conditions(tape=Tape(tape, plays=True, records=False), plays_only=True)
        evaluation = await run_stored(suite, store.begin(suite, [CLERK]), store, conditions=conditions)
        told.append(figures(evaluation, CLERK))
        # The processor's time: on a machine that others use the clock says nothing about us.
        seconds = min(time.process_time() - used, time.perf_counter() - started)
        assert seconds < 12
    assert told[0] == told[1] == told[2]
    assert told[0].cases == 100
    assert told[0].passed.value == 1.0


async def test_errors_of_the_server_are_no_passes_and_a_dead_one_ends_it():
    def down(request):
        raise ModelError("the server is down")

    MODELS["down"] = down
    with pytest.raises(ModelError, match="down"):
        await evaluate(read_suite(SHOP), [Subject(model="down", protocol="native")])
    count = 0

    def flaky(request):
        nonlocal count
        count += 1
        if count == 3:
            raise ModelError("once")
        return clerk(request)

    MODELS["flaky"] = flaky
    done = await evaluate(read_suite(SHOP), [Subject(model="flaky", protocol="native")])
    assert [a.outcome for a in done].count("error") == 1
    assert next(a for a in done if a.outcome == "error").message == "once"


async def test_what_was_finished_is_kept_when_it_is_stopped(tmp_path):
    store, suite = Store(tmp_path / "e.db"), read_suite(SHOP)
    evaluation = store.begin(suite, [CLERK])
    task, ended = None, []

    def stop(done: Attempt) -> None:
        ended.append(done.case)
        if done.case == "asks":
            task.cancel()

    task = asyncio.ensure_future(run_stored(suite, evaluation, store, on_attempt=stop))
    with pytest.raises(asyncio.CancelledError):
        await task
    kept = store.load("last")
    assert kept.state == "stopped"
    assert [a.case for a in kept.attempts] == ended
    assert ended[:3] == ["price", "数量", "asks"]
    assert len(ended) < 7
    assert store.counts(kept.id) == {"passed": len(ended)}


async def test_two_evaluations_compared(tmp_path):
    store, suite = Store(tmp_path / "e.db"), read_suite(SHOP)
    old = await run_stored(suite, store.begin(suite, [CLERK]), store)
    new = await run_stored(suite, store.begin(suite, [FORGETFUL]), store)
    (pair,) = against(new, old)
    assert (pair.won, pair.lost, pair.cases, pair.p) == ((), ("asks",), 7, 1.0)
    assert pair.difference.value == pytest.approx(-1 / 7)
    assert pair.difference.low < -1 / 7 < pair.difference.high
    both = await run_stored(suite, store.begin(suite, [CLERK, FORGETFUL]), store)
    (within,) = inside(both)
    assert within.lost == ("asks",)
    assert [head.id for head in store.heads()][-1] == old.id
    with pytest.raises(SettingsError, match="compared|比较"):
        against(both, store.begin(runner.Suite(name="x", cases=()), [CLERK]))


async def test_one_reply_only_where_a_case_says_so(models):
    case = read_case(
        {
            "id": "a",
            "question": "What does tea cost?",
            "tools": [str(SHOP.with_name("shop_tools.py"))],
            "turns": 1,
            "calls": ["get_price"],
        }
    )
    (done,) = await evaluate(runner.Suite(name="x", cases=(case,)), [CLERK])
    assert done.passes
    assert (done.requests, asked(models)) == (1, 1)
    assert done.exchanges[0].stopped == "turn_limit"


async def test_fixtures_answer_by_arguments_in_turn_and_with_errors():
    case = read_case(
        {
            "id": "a",
            "question": "q",
            "tools": [
                {"name": "look", "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}}}
            ],
            "fixtures": {
                "look": [
                    {
                        "when": {"id": 1},
                        "error": {"message": "Busy.", "code": "rate_limited", "retryable": True},
                        "times": 1,
                    },
                    {"when": {"id": {"between": [1, 2]}}, "result": {"name": "tea"}},
                ]
            },
            "calls": [{"look": {"id": 1}}],
            "text": "tea",
            "extra_calls": True,
        }
    )
    seen = []

    def model(request):
        seen.extend(r for m in request.messages[-1:] for r in m.results)
        steps = ['{"id": 1}', '{"id": 1}', '{"id": 9}', '{"id": 2}']
        turn = sum(1 for m in request.messages if m.role == "assistant")
        return calls("look", steps[turn]) if turn < 4 else says("tea")

    done = await attempt(case, CLERK, 1, ScriptedModel(model), Conditions())
    assert done.passes, done.findings
    assert [r.ok for r in seen] == [False, True, False, True]
    assert "Busy." in seen[0].error.message
    assert "look" in seen[2].error.message


async def test_what_is_kept_is_masked():
    case = read_case(
        {"id": "a", "question": "My key is sk-proj-abcdefghijklmnopqrstuvwx1234567890", "calls": "none"}
    )
    secret = "sk-proj-abcdefghijklmnopqrstuvwx1234567890"
    done = await attempt(case, CLERK, 1, ScriptedModel([f"Your key is {secret}"]), Conditions())
    assert secret not in json.dumps(done.as_json())


async def test_an_approval_that_nobody_gives_is_a_call_all_the_same(tmp_path):
    (tmp_path / "t.py").write_text(
        "from toolhand import tool\n\n@tool(approval=True)\ndef pay(amount: int) -> str:\n    'Pays.'\n    return 'paid'\n"
    )
    file = tmp_path / "c.yaml"
    file.write_text("tools: t.py\ncases:\n  - {id: a, question: Pay 5, calls: [{pay: {amount: 5}}]}\n")
    (case,) = read_suite(file).cases
    done = await attempt(case, CLERK, 1, ScriptedModel([calls("pay", '{"amount": 5}')]), Conditions())
    assert done.passes, done.findings


def test_every_protocol_and_unknown_ones():
    labels = [subject.label for subject in subjects_of(["a", "b"], ["all"])]
    assert {"a · native", "a · json", "b · react", "b · template"} <= set(labels)
    assert subjects_of(["a"], []) == (Subject(model="a", protocol="auto"),)
    with pytest.raises(SettingsError, match="nativ"):
        subjects_of(["a"], ["nativ"])


async def test_a_stream_is_watched_as_well():
    from toolhand.evals.subject_model import Progress, WatchedModel  # noqa: PLC0415

    watched = WatchedModel("m", "a", 1, Progress(), model=ScriptedModel(["hello"]))
    pieces = [piece async for piece in watched.stream(runner_request())]
    assert isinstance(pieces[-1], ModelOutput)
    assert pieces[0].text == "hello"


def runner_request():
    from toolhand.core.messages import ModelRequest, user  # noqa: PLC0415

    return ModelRequest(messages=(user("hi"),))
