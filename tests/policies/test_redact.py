import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timing import cpu_seconds
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import BoundCall, ToolCall, ToolResult, Value
from toolhand.core.tools import Rules, Tool
from toolhand.policies.redact import Redact, redact
from toolhand.policies.redaction import DEFAULT, KINDS, Pattern, redacted, redacted_text
from toolhand.policies.redaction.checks import has_luhn_digit, is_resident_id

CASES = Path(__file__).parents[1] / "cases" / "policies"
ID = "110101199003074530"
CARD = "6222021234567890128"


def cases(name):
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def through(policy, outcome, *, rules=None, arguments=None):
    tool = Tool(name="t", rules=rules or Rules())
    call = BoundCall(call=ToolCall(id="c1", name="t", arguments=arguments or {}), tool=tool)

    async def proceed(call, context):
        return ToolResult(call_id="c1", name="t", outcome=outcome)

    return await policy(call, RunContext(), proceed)


def test_ordinary_records_stay_as_they_are():
    records = [case["record"] for case in cases("ordinary.jsonl")]
    assert len(records) >= 1000
    wrong = [record for record in records if redacted(record) != record]
    assert len(wrong) <= 5, wrong


def test_secrets_are_masked_and_the_rest_stays():
    found = cases("secrets.jsonl")
    assert len(found) >= 200
    missed = []
    for case in found:
        seen = as_text(redacted(case["record"]))
        missed += [part for part in case["gone"] if part in seen]
        assert all(part in seen for part in case["kept"]), seen
    assert len(missed) <= 0.02 * len(found), missed


@pytest.mark.parametrize("case", cases("redaction.jsonl"), ids=lambda case: str(case["record"])[:50])
def test_written_cases(case):
    assert redacted(case["record"], sensitive=case.get("sensitive", [])) == case["masked"]


def test_masking_twice_is_masking_once():
    for case in cases("secrets.jsonl"):
        once = redacted(case["record"])
        assert redacted(once) == once


PIECES = st.sampled_from(
    [ID, CARD, "13812345678", "a.b@example.com", "sk-abcdefghijklmnop1234", "AKIAABCDEFGHIJKLMNOP", "password", "token", "api_key",
     "密码", "：", ":", "=", '"', "'", " ", "\n", "-", "://", "@", "user", "?key=", "&", "[masked", "]", "[masked:secret]", "是", "1", "。",
     "Bearer ", "eyJhbGciOi.eyJzdWIiOi.sig", "-----BEGIN PRIVATE KEY-----", "phone", "order", "+86", "１３８１２３４５６７８", "\\", "x"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=60)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_a_text_masked_twice_is_masked_once(text):
    once = redacted_text(text)
    assert redacted_text(once) == once


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_any_value_is_masked_without_raising(value):
    once = redacted(value, sensitive={"phone"}, echoes=["user"])
    assert repr(redacted(once, sensitive={"phone"}, echoes=["user"])) == repr(once)


def test_what_has_nothing_to_mask_comes_back_itself():
    value = {
        "rows": [{"id": 1, "at": "2024-01-01T12:00:00", "tags": ["a", None, 1.5, True]}],
        "total_tokens": 12,
    }
    assert redacted(value) is value


def test_keys_are_masked_and_none_is_lost():
    seen = redacted({"13812345678": 1, "13912345678": 2, "city": 3})
    assert sorted(seen.values()) == [1, 2, 3]
    assert "1381234" not in as_text(seen)


def test_a_value_that_contains_itself_ends():
    loop = {"name": "x"}
    loop["again"] = loop
    assert "nested too deeply" in str(redacted(loop))


def test_checks():
    assert is_resident_id(ID)
    assert not is_resident_id(ID[:-1] + "1")
    assert not is_resident_id("110101199013074530")
    assert has_luhn_digit(CARD)
    assert not has_luhn_digit(CARD[:-1] + "0")


@pytest.mark.parametrize(
    "text",
    ["sk-" * 100_000, "eyJ" * 100_000, "@" * 200_000, "a@b." * 50_000, "key=" * 50_000, 'password="' * 20_000, "1" * 300_000,
     "138-" * 80_000, "://" * 100_000, "http://a:" * 30_000, "-----BEGIN PRIVATE KEY-----\n" * 10_000, "[masked:" * 40_000,
     "token: " * 40_000, "bearer " * 40_000, "A" * 300_000, "+1 " * 100_000, "口令" * 100_000],
    ids=lambda text: text[:12].strip(),
)  # fmt: skip
def test_time_grows_with_length(text):
    def seconds(length):
        return cpu_seconds(lambda: redacted_text(text[:length]), times=2)

    whole = seconds(len(text))
    # Eight times the length may take more than eight times as long; quadratic would be 64 times.
    assert whole < 0.5 or whole < 32 * seconds(len(text) // 8)


def test_a_pattern_of_ones_own_is_found_in_any_text():
    patterns = (*DEFAULT, Pattern.matching("employee", r"\bE\d{2}\b"))
    assert redacted({"who": "E12"}, patterns=patterns) == {"who": "[masked:employee]"}


async def test_results_are_masked():
    result = await through(redact, Value({"phone": "13812345678", "order_no": "13812345678"}))
    assert result.data == {"phone": "[masked:phone:5678]", "order_no": "13812345678"}


async def test_errors_are_masked_and_keep_their_code():
    error = ToolError(
        code=ErrorCode.UPSTREAM,
        message="503 for https://api.test/v1?key=abcd1234efgh&model=m",
        hint="Write to bob@example.com.",
        details={"retry_after": 3, "url": "postgres://u:pw@h/db"},
    )
    seen = (await through(redact, error)).error
    assert seen.message == "503 for https://api.test/v1?key=[masked:secret]&model=m"
    assert "bob" not in seen.hint
    assert seen.details == {"retry_after": 3, "url": "postgres://u:[masked:secret]@h/db"}
    assert seen.code == ErrorCode.UPSTREAM


async def test_a_pending_call_keeps_the_arguments_that_it_is_resumed_with():
    pending = {"pending": {"arguments": {"to": "13812345678", "password": "x"}}}
    error = ToolError(code=ErrorCode.APPROVAL_REQUIRED, message="Ask about 13812345678.", details=pending)
    call = BoundCall(call=ToolCall(id="c1", name="t"), tool=Tool(name="t"))

    async def proceed(call, context):
        return call.answer(error, **pending)

    seen = (await redact(call, RunContext(), proceed)).error
    assert seen.details == pending
    assert "13812345678" not in seen.message
    # The same words from a tool are no pending call: only the note that the approval policy writes makes it one.
    assert "13812345678" not in repr((await through(redact, error)).error)


async def test_a_remark_is_masked_too():
    async def proceed(call, context):
        return ToolResult(call_id="c1", name="t", outcome=Value(1), remark="Edited: to 13812345678.")

    call = BoundCall(call=ToolCall(id="c1", name="t"), tool=Tool(name="t"))
    assert (await redact(call, RunContext(), proceed)).remark == "Edited: to [masked:phone:5678]."


async def test_an_untouched_result_is_the_same_object():
    outcome = Value({"ok": True})
    assert (await through(redact, outcome)).outcome is outcome


async def test_a_tool_reveals_what_is_its_purpose():
    rules = Rules(reveals=frozenset({"phone"}))
    result = await through(
        redact, Value("13812345678, bob@example.com, key sk-abcdefghijklmnop1234"), rules=rules
    )
    assert result.data == "13812345678, [masked:email:example.com], key [masked:secret]"


async def test_declared_names_are_masked_even_where_everything_is_revealed():
    policy = Redact(reveals=frozenset(KINDS))
    rules = Rules(sensitive=frozenset({"home_address"}))
    result = await through(
        policy, Value({"homeAddress": {"street": "x"}, "phone": "13812345678"}), rules=rules
    )
    assert result.data == {"homeAddress": "[masked]", "phone": "13812345678"}


async def test_a_sensitive_argument_does_not_come_back_in_other_words():
    rules = Rules(sensitive=frozenset({"alias"}))
    result = await through(
        redact, Value({"said": "Sent to moonlight."}), rules=rules, arguments={"alias": "moonlight"}
    )
    assert result.data == {"said": "Sent to [masked]."}


def test_arguments_and_texts_for_a_log():
    rules = Rules(sensitive=frozenset({"pet"}))
    assert redact.arguments({"pet": "Rex", "pwd": "x", "n": 1}, rules) == {
        "pet": "[masked]",
        "pwd": "[masked:secret]",
        "n": 1,
    }
    assert (
        redact.text("failed for pet=Rex with token=abc123xyz", rules)
        == "failed for pet=[masked] with token=[masked:secret]"
    )
    assert redact.text("mail bob@example.com") == "mail [masked:email:example.com]"


async def test_cancellation_passes_through():
    async def hang(call, context):
        await asyncio.Event().wait()

    call = BoundCall(call=ToolCall(id="c", name="t"), tool=Tool(name="t"))
    task = asyncio.create_task(redact(call, RunContext(), hang))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("mark", ["> ", "# ", "| ", ""])
def test_a_private_key_goes_whole_up_to_its_end(mark):
    lines = [
        "-----BEGIN RSA PRIVATE KEY-----",
        "MIIEshortline",
        *["Ab9+/" * 12] * 3,
        "-----END RSA PRIVATE KEY-----",
    ]
    masked = redacted_text("\n".join(mark + line for line in ["before", *lines, "after"]))
    assert masked == f"{mark}before\n{mark}[masked:secret]\n{mark}after"
