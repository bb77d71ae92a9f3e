"""Lines through `logging`: what they say, what they never say, and what they cost where nobody reads them."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time

import pytest

from toolhand import Injected, RunContext, Toolset, tool
from toolhand.core.errors import ErrorCode, ModelError
from toolhand.core.events import (
    CallRetried,
    CircuitChanged,
    FallbackTaken,
    LimitReached,
    ModelReplaced,
    ModelRetried,
    ReadingMended,
    RunFailed,
    TextDelta,
)
from toolhand.core.messages import Fix, RawCall, ToolCall
from toolhand.observability import listening
from toolhand.observability.log import EventLog, JsonFormatter

from .events import CONTEXT, call_of, cancelled, caught, failure, finished, logged, made, raised, started

LOG = EventLog()
KEY = "AIzaSyD-0123456789abcdefghijklmnopqrstu"


def line_for(*events, level=logging.INFO, formatter=None, context=CONTEXT):
    with logged(level, formatter) as lines:
        for event in events:
            LOG(event, context)
    return lines


def test_a_call_that_went_well_is_one_line_with_all_that_says_which():
    lines = line_for(finished(made(), seconds=0.25, attempts=3))
    assert len(lines.lines) == 1
    assert lines.text.startswith("INFO toolhand.calls call finished ")
    for word in (f"trace_id={'t' * 32}", "session_id=s1", "user=ann", "turn=2"):
        assert word in lines.text
    for word in ("tool=get_price", "outcome=ok", "seconds=0.25", "attempts=3"):
        assert word in lines.text


def test_the_same_stands_in_the_records_fields():
    record = line_for(finished(made(), outcome=ErrorCode.TIMEOUT)).records[0]
    assert (record.trace_id, record.session_id, record.user, record.turn) == ("t" * 32, "s1", "ann", 2)
    assert (record.tool, record.outcome, record.levelno) == ("get_price", "timeout", logging.WARNING)
    assert record.name == "toolhand.calls"


@pytest.mark.parametrize(
    ("event", "level", "words"),
    [
        (LimitReached(limit="turn_limit"), "WARNING toolhand.runs", "limit=turn_limit"),
        (
            CircuitChanged(name="erp", state="open", retry_after=30.0),
            "WARNING toolhand.circuits",
            "state=open",
        ),
        (CircuitChanged(name="erp", state="closed"), "INFO toolhand.circuits", "circuit=erp"),
        (RunFailed(exception=RuntimeError("gone")), "ERROR toolhand.runs", "exception=RuntimeError"),
        (RunFailed(exception=KeyboardInterrupt()), "INFO toolhand.runs", "exception=KeyboardInterrupt"),
        (cancelled(made(effect="writes")), "WARNING toolhand.calls", "outcome=outcome_unknown"),
        (cancelled(made()), "WARNING toolhand.calls", "outcome=cancelled"),
        (
            CallRetried(call=call_of(made()), error=failure(ErrorCode.NETWORK), attempt=2, wait_seconds=1.5),
            "WARNING toolhand.calls",
            "outcome=network attempt=2 wait_seconds=1.5",
        ),
        (
            ModelRetried(model="m", error=ModelError("busy", retryable=True), attempt=2, wait_seconds=1.5),
            "WARNING toolhand.runs",
            "model=m text=busy attempt=2 wait_seconds=1.5",
        ),
        (
            ModelReplaced(model="m", error=ModelError("gone"), fallback="n"),
            "WARNING toolhand.runs",
            "fallback=n",
        ),
        (
            FallbackTaken(call=call_of(made()), error=failure(ErrorCode.UPSTREAM), fallback="other"),
            "WARNING toolhand.calls",
            "fallback=other",
        ),
    ],
)
def test_what_else_is_told(event, level, words):
    lines = line_for(event)
    assert len(lines.lines) == 1
    assert lines.text.startswith(level)
    assert words in lines.text
    assert "trace_id=" in lines.text


def test_text_as_it_streams_is_not_logged():
    assert line_for(TextDelta(text="hello"), level=logging.DEBUG).lines == []


def test_a_reply_that_could_not_be_read_is_there_with_its_text_masked():
    event = ReadingMended(
        raw=f'<tool_call>{{"name": "get_price", "key": "{KEY}", "phone": "x-17"</tool',
        problems=(failure(ErrorCode.UNPARSEABLE, "The call could not be read."),),
        calls=(),
        raw_calls=(RawCall(id="1", name="get_price", arguments='{"phone": "x-17"'),),
        tools=(made(sensitive=frozenset({"phone"})),),
    )
    lines = line_for(event)
    assert lines.text.startswith("WARNING toolhand.reading reply could not be read")
    assert "unparseable" in lines.text
    assert "<tool_call>" in lines.text
    assert KEY not in lines.text
    assert "x-17" not in lines.text


def test_a_liberty_is_one_line():
    call = ToolCall(
        id="c1",
        name="get_price",
        arguments={"n": 3},
        fixes=(Fix(kind="string_to_number", path="$.n", before="3", after=3),),
    )
    lines = line_for(started(made(), call))
    assert len(lines.lines) == 1
    assert "INFO toolhand.reading call mended" in lines.text
    assert "fix=string_to_number path=$.n" in lines.text


def test_what_a_liberty_was_taken_with_is_masked_by_its_name():
    fix = Fix(kind="number_to_string", path="$.password", before=4711, after="4711x")
    call = ToolCall(id="c1", name="get_price", fixes=(fix,))
    assert "4711" not in line_for(started(made(), call)).text


async def test_an_argument_under_an_injected_parameters_name_can_be_seen():
    @tool
    def recall(q: str, user_id: Injected("user_id")) -> str:  # type: ignore[valid-type]
        """Recalls."""
        return f"notes of {user_id}"

    with logged() as lines:
        result = await Toolset([recall]).call(
            "recall", {"q": "x", "user_id": "bob"}, context=listening(RunContext(user="ann"), [LOG])
        )
    assert result.data == "notes of ann"
    assert "extra_dropped" in lines.text
    assert "user_id" in lines.text


def test_it_is_a_warning_of_its_own():
    @tool
    def recall(q: str, user_id: Injected("user_id")) -> str:  # type: ignore[valid-type]
        """Recalls."""
        return q

    fixes = (
        Fix(kind="extra_dropped", path='$["User-Id"]', before="bob"),
        Fix(kind="extra_dropped", path="$.colour", before="red"),
    )
    lines = line_for(started(recall, ToolCall(id="c1", name="recall", fixes=fixes)))
    assert "WARNING toolhand.reading argument of the program's own ignored" in lines.lines[0]
    assert "INFO toolhand.reading call mended" in lines.lines[1]


async def test_what_a_tool_raised_is_there_with_its_traceback_and_without_its_secrets():
    @tool
    async def fetch(x: int) -> str:
        """Fetches."""
        raise RuntimeError(f"503 for https://api.test/v1?key={KEY}&model=m")

    @tool
    def store(x: int) -> str:
        """Stores."""
        raise RuntimeError("connect postgres://svc:S3cr3t%21pw@db.test:5432/orders failed")

    toolset = Toolset([fetch, store])
    with logged(logging.DEBUG) as lines:
        for name in ("fetch", "store"):
            await toolset.call(name, {"x": 1}, context=listening(RunContext(), [LOG]))
    assert "AIzaSyD" not in lines.text
    assert "S3cr3t" not in lines.text
    for word in ("503", "db.test", "RuntimeError", "in fetch", "Traceback"):
        assert word in lines.text


def test_a_sensitive_value_in_an_exception_is_masked():
    of = made(sensitive=frozenset({"phone"}))
    lines = line_for(raised(of, ValueError("nobody has ext-qz81"), call_of(of, phone="ext-qz81")))
    assert "ValueError" in lines.text
    assert "qz81" not in lines.text


def test_arguments_and_results_stand_in_it_only_for_debugging_and_masked():
    of = made(sensitive=frozenset({"phone"}))
    event = finished(of, call_of(of, item="tea", phone="ext-qz81"), {"price": 3, "for": "ext-qz81"})
    assert "tea" not in line_for(event).text
    lines = line_for(event, level=logging.DEBUG)
    assert "tea" in lines.text
    assert "price" in lines.text
    assert "qz81" not in lines.text


def test_the_arguments_for_a_tool_that_there_is_not_are_never_in_it():
    event = finished(None, outcome=ErrorCode.UNKNOWN_TOOL)
    assert "arguments" not in line_for(event, level=logging.DEBUG).text


def test_nothing_that_a_model_or_user_wrote_begins_a_line_of_its_own():
    call = ToolCall(id="c\nERROR forged", name="x\r\nERROR forged\u2028ERROR forged\x1b[31m")
    context = RunContext(user="ann\nERROR forged", session_id="s=1 tool=y")
    event = finished(None, call, ErrorCode.UNKNOWN_TOOL)
    for formatter in (None, JsonFormatter()):
        text = line_for(event, context=context, formatter=formatter).text
        assert len(text.splitlines()) == 1
        assert "\x1b" not in text
    assert 'session_id="s=1 tool=y"' in line_for(event, context=context).text


def test_a_name_that_no_tool_has_is_cut():
    event = finished(None, ToolCall(id="c", name="x" * 10_000), ErrorCode.UNKNOWN_TOOL)
    assert len(line_for(event).text) < 1_000


def test_as_json():
    events = (finished(made(), seconds=0.5), raised(made(), ValueError("bad")))
    first, second = map(json.loads, line_for(*events, formatter=JsonFormatter()).lines)
    assert (first["event"], first["level"], first["logger"]) == ("call finished", "INFO", "toolhand.calls")
    assert (first["tool"], first["seconds"], first["user"], first["turn"]) == ("get_price", 0.5, "ann", 2)
    assert first["time"].endswith("+00:00")
    assert "traceback" not in first
    assert second["traceback"].endswith("ValueError: bad")


def test_the_json_formatter_writes_other_libraries_records_too():
    with logged(formatter=JsonFormatter()) as lines:
        logging.getLogger("toolhand.other").error(
            "a %s message", "plain", extra={"n": {1, 2}}, exc_info=caught(ValueError("no"))
        )
    line = json.loads(lines.text)
    assert line["event"] == "a plain message"
    assert "ValueError: no" in line["traceback"]
    assert "n" in line


def test_chinese_is_readable():
    context = RunContext(user="安")
    assert "user=安" in line_for(finished(made()), context=context).text


def test_nothing_is_printed_and_no_logger_set_up_where_the_program_sets_up_none():
    code = (
        "import asyncio, logging\n"
        "from toolhand import RunContext, Toolset, tool\n"
        "from toolhand.observability import listening\n"
        "from toolhand.observability.log import EventLog\n"
        "@tool\n"
        "def fails(x: int) -> str:\n"
        "    '''Fails.'''\n"
        "    raise ValueError('no')\n"
        "asyncio.run(Toolset([fails]).call('fails', {'x': 1}, context=listening(RunContext(), [EventLog()])))\n"
        "assert not logging.root.handlers\n"
        "assert logging.getLogger('toolhand').level == logging.NOTSET\n"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "event", [finished(made()), started(made()), TextDelta(text="x")], ids=lambda e: type(e).__name__
)
def test_it_costs_next_to_nothing_where_nobody_reads(event):
    logger = logging.getLogger("toolhand")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        best = min(_seconds(event) for _ in range(20))
    finally:
        logger.setLevel(before)
    assert best < 5e-6  # about 0.5 µs; the rest is for a busy machine


def _seconds(event) -> float:
    start = time.perf_counter()
    for _ in range(500):
        LOG(event, CONTEXT)
    return (time.perf_counter() - start) / 500
