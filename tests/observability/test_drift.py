"""Drift: what is kept of a reply that was not as it should be, counted, and made into a case."""

from __future__ import annotations

import json
import stat

import pytest
import typer
from typer.testing import CliRunner

from tests.timing import cpu_seconds
from toolhand import Agent, RunContext, Toolset, parse, tool
from toolhand.cli import drift as command
from toolhand.core.errors import ErrorCode, SettingsError
from toolhand.core.events import ReadingMended
from toolhand.core.messages import Fix, RawCall, ToolCall
from toolhand.observability.defaults import default_sinks
from toolhand.observability.drift import DriftLog, counted, guessed_family
from toolhand.testing import ScriptedModel

from .events import CONTEXT, failure, finished, made

KEY = "sk-proj-abcdefghijklmnopqrstuvwx1234"


@tool
def find_bus(stop: str, count: int = 1) -> str:
    """Finds a bus."""
    return "N7"


def drifted(raw, toolset=None, model="small"):
    """What reading a text tells a drift log."""
    toolset = toolset or Toolset([find_bus])
    reply = parse(raw, toolset)
    calls = (*reply.calls, *reply.broken)
    return ReadingMended(raw=raw, problems=reply.problems, calls=calls, model=model, tools=tuple(toolset))


def logged_in(path, *events):
    log = DriftLog(path)
    for event in events:
        log(event, CONTEXT)
    return log


def test_what_is_kept(tmp_path):
    raw = (
        f'<tool_call>{{"name": "find_bus", "arguments": {{"stop": "Quay", "count": "2"}}}}</tool_call> {KEY}'
    )
    (record,) = logged_in(tmp_path / "d.jsonl", drifted(raw)).records()
    assert record.family == "tool_call_element"
    assert record.fixes == ("string_to_number",)
    assert record.model == "small"
    assert record.calls[0]["arguments"] == {"stop": "Quay", "count": 2}
    assert "find_bus" in record.raw
    assert KEY not in (tmp_path / "d.jsonl").read_text()
    assert [schema["function"]["name"] for schema in record.tools] == ["find_bus"]
    assert stat.S_IMODE((tmp_path / "d.jsonl").stat().st_mode) == 0o600


def test_nothing_says_who_asked(tmp_path):
    context = RunContext(user="ann-the-user", session_id="her-session")
    DriftLog(tmp_path / "d.jsonl")(drifted("find_bus(stop=Quay"), context)
    text = (tmp_path / "d.jsonl").read_text()
    assert "ann-the-user" not in text
    assert "her-session" not in text


def test_other_events_are_not_its_own(tmp_path):
    logged_in(tmp_path / "d.jsonl", finished(made()))
    assert not (tmp_path / "d.jsonl").exists()


def test_sensitive_arguments_are_masked_wherever_they_stand(tmp_path):
    of = made("order", sensitive=frozenset({"phone"}))
    call = ToolCall(id="c", name="order", arguments={"phone": "ext-qz81"}, fixes=(Fix(kind="x"),))
    event = ReadingMended(
        raw='order {"phone": "ext-qz81"}',
        problems=(failure(ErrorCode.UNPARSEABLE),),
        calls=(call,),
        raw_calls=(RawCall(id="c", name="order", arguments='{"phone": "ext-qz81"'),),
        tools=(of,),
    )
    logged_in(tmp_path / "d.jsonl", event)
    assert "qz81" not in (tmp_path / "d.jsonl").read_text()


async def test_a_run_writes_what_was_mended(tmp_path):
    log = DriftLog(tmp_path / "d.jsonl")
    raw = '```json\n{"name": "find_bus", "arguments": {"stop": "Quay", "count": "2"}}\n```'
    await Agent(ScriptedModel([raw, "N7"]), tools=[find_bus], sinks=[log]).run("?")
    (record,) = log.records()
    assert record.raw == raw
    assert record.family == "fenced"


@pytest.mark.parametrize(
    ("raw", "family"),
    [
        ("<tool_call>{}</tool_call>", "tool_call_element"),
        ("<|tool_call|>[{}]", "tool_call_element"),
        ("<function=find_bus>{}</function>", "function_element"),
        ('<invoke name="find_bus">', "invoke_element"),
        ("<|channel|>commentary to=functions.find_bus<|message|>{}", "harmony"),
        ("<｜tool▁calls▁begin｜>", "deepseek"),
        ('[TOOL_CALLS][{"name": "find_bus"}]', "mistral"),
        ("<|python_tag|>find_bus(stop=1)", "python_tag"),
        ("Thought: so\nAction: find_bus", "labels"),
        ("思考：好\n**行动**：find_bus", "labels"),
        ('```json\n{"name": "x"}\n```', "fenced"),
        ('{"name": "find_bus"}', "json"),
        ('[find_bus(stop="Quay")]', "program"),
        ("name: find_bus\nargs: 1", "yaml"),
        ("I cannot say.", "text"),
        ("", "text"),
    ],
)
def test_families_are_guessed(raw, family):
    assert guessed_family(raw) == family


@pytest.mark.parametrize(
    "piece", ["\n", " ", "[", "{ ", "<", "*", "a=", "a.", "```", "-\n", "action", "<tool"]
)
def test_guessing_takes_no_time_on_odd_texts(piece):
    def seconds(count: int) -> float:
        text = (piece * count)[:count]
        return cpu_seconds(lambda: guessed_family(text), times=5)

    # Measured inside what is looked at: 4 times the text may take 4 times as long, not 16 times.
    short, long = seconds(8_000), seconds(32_000)
    assert long < 9 * short + 0.005
    assert seconds(4_000_000) < 4 * long + 0.05  # and of a longer one only the beginning is looked at


def test_only_the_tools_that_a_reply_names_are_kept(tmp_path):
    tools = tuple(made(f"tool_{number}") for number in range(30))
    problems = (failure(ErrorCode.UNPARSEABLE),)
    named = ReadingMended(raw='{"name": "tool-29", ', problems=problems, calls=(), tools=tools)
    nameless = ReadingMended(raw="{", problems=problems, calls=(), tools=tools)
    first, second = logged_in(tmp_path / "d.jsonl", named, nameless).records()
    assert [schema["function"]["name"] for schema in first.tools] == ["tool_29"]
    assert 0 < len(second.tools) <= 8


def test_patterns_are_counted(tmp_path):
    mended = '{"name": "find_bus", "arguments": {"stop": "Quay", "count": "2"}}'
    log = logged_in(
        tmp_path / "d.jsonl",
        drifted(mended),
        drifted(mended, model="other"),
        drifted(mended),
        drifted("{'name': 'find_bus',"),
    )
    first, *rest = counted(log.records())
    assert first == ("json: string_to_number", "small", 2)
    assert sorted(count for _, _, count in rest) == [1, 1]


def test_a_case_reads_as_it_did(tmp_path):
    raw = '动作：find_bus\n参数：{"stop": "码头", "count": "二"}'
    (record,) = logged_in(tmp_path / "d.jsonl", drifted(raw)).records()
    case = json.loads(json.dumps(record.case()))
    assert case["output"] == raw
    assert case["expect"] is None
    assert case["lang"] == "zh"
    again = parse(case["output"], Toolset.from_openai(case["tools"]))
    assert [{"name": c.name, "arguments": dict(c.arguments)} for c in again.calls] == case["understood"]


def test_it_is_off_until_its_file_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("TOOLHAND_DRIFT_LOG", raising=False)
    assert not any(isinstance(sink, DriftLog) for sink in default_sinks())
    monkeypatch.setenv("TOOLHAND_DRIFT_LOG", str(tmp_path / "d.jsonl"))
    (log,) = [sink for sink in default_sinks() if isinstance(sink, DriftLog)]
    assert [sink for sink in default_sinks() if isinstance(sink, DriftLog)] == [log]
    log(drifted("{'name': 'find_bus',"), CONTEXT)
    assert (tmp_path / "d.jsonl").exists()


# ---------------------------------------------------------------------- the command


@pytest.fixture
def run(monkeypatch):
    app = typer.Typer()
    app.add_typer(command.app, name="drift")
    app.command("other")(lambda: None)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("TOOLHAND_DRIFT_LOG", raising=False)
    return lambda *words: CliRunner().invoke(app, ["drift", *words])


@pytest.fixture
def path(tmp_path):
    logged_in(
        tmp_path / "d.jsonl",
        drifted('{"name": "find_bus", "arguments": {"stop": "[red]Quay", "count": "2"}}'),
        drifted("{'name': 'find_bus',"),
    )
    return str(tmp_path / "d.jsonl")


def test_the_command_lists(run, path):
    done = run("--log", path)
    assert done.exit_code == 0
    assert "json: string_to_number" in done.output
    assert "[red]Quay" in done.output
    assert len(done.output.splitlines()) == 3


def test_the_command_counts(run, path, monkeypatch):
    monkeypatch.setenv("TOOLHAND_DRIFT_LOG", path)
    done = run("--count")
    assert done.exit_code == 0
    assert len(done.output.splitlines()) == 3


def test_the_command_prints_a_case(run, path):
    for words in (("case", "1", "--log", path), ("--log", path, "case", "1")):
        done = run(*words)
        assert done.exit_code == 0
        assert len(done.output.splitlines()) == 1
        assert json.loads(done.output)["output"].startswith('{"name": "find_bus"')


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "TOOLHAND_DRIFT_LOG"),
        (("--log", "/no/such/file"), "/no/such/file"),
        (("case", "9"), "9"),
        (("case", "0"), "0"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(run, path, words, said):
    words = (*words, "--log", path) if words[:1] == ("case",) else words
    done = run(*words)
    assert isinstance(done.exception, SettingsError)
    assert said in str(done.exception)


@tool(sensitive=["passport", "护照"], aliases={"passport": ["travel_paper"]})
def check_in(passport: str, seat: str, 护照: str = "") -> str:
    """Checks in."""
    return "ok"


@pytest.mark.parametrize(
    "raw",
    [
        '<tool_call>{"name": "check_in", "arguments": {"passprot": "moonlight", "seat": "3A"}}</tool_call>',
        '<tool_call>{"name": "check_in", "arguments": {"pasport": "moonlight", "seat": 3, "x": </tool_call>',
        '<tool_call>{"name": "check_in", "arguments": {"travel_paper": "moonlight"}}</tool_call>',
        '<tool_call>{"name": "check_in", "arguments": {"document": "moonlight"}}</tool_call>',
        '<tool_call>{"name": "check_in", "arguments": {"护照号": "moonlight"}}</tool_call>',
        "check_in(pass_port='moonlight', seat='3A')",
        "[TOOL: check_in]\npaspoort = moonlight\n[/TOOL]",
        "Action: check_in\nAction Input: {'Passporte': 'moonlight',",
    ],
)
def test_a_misspelt_sensitive_name_keeps_its_value_out_of_the_log(tmp_path, raw):
    path = tmp_path / "drift.jsonl"
    event = drifted(raw, Toolset([check_in]))
    assert event.problems or event.calls
    logged_in(path, event)
    text = path.read_text(encoding="utf-8")
    assert "check_in" in text
    assert "moonlight" not in text


def test_a_misspelt_sensitive_name_in_a_structured_call(tmp_path):
    path = tmp_path / "drift.jsonl"
    for arguments in ({"passprot": "moonlight"}, '{"passprot": "moonlight"}', '{"passprot": "moonlight"'):
        raw = (RawCall(id="1", name="check_in", arguments=arguments),)
        logged_in(path, ReadingMended(raw="", problems=(), calls=(), raw_calls=raw, tools=(check_in,)))
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3
    assert "moonlight" not in path.read_text(encoding="utf-8")
