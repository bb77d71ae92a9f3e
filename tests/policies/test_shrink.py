import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.jsonable import result_text
from toolhand.core.messages import BoundCall, ToolCall, ToolResult, Value
from toolhand.core.tools import Rules, Tool
from toolhand.policies import offered
from toolhand.policies.shrink import Shrink, shrink
from toolhand.policies.shrinking import Kept, ResultStore, has_results, read_result_tool, results_of, shrunk
from toolhand.policies.shrinking.paths import read, written
from toolhand.policies.shrinking.statistics import column
from toolhand.policies.shrinking.texts import cut_before, shortened
from toolhand.tools.decorator import tool
from toolhand.toolset import Toolset

RANDOM = random.Random(7)
ORDERS = [
    {
        "order_id": 100_000 + n,
        "city": ("北京", "上海", "深圳")[n % 3],
        "amount": round(RANDOM.random() * 500, 2),
        "paid": n % 4 != 0,
        "day": f"2024-{n % 12 + 1:02d}-{n % 28 + 1:02d}",
        "remark": "客户要求尽快发货。" * (n % 5) or None,
    }
    for n in range(4000)
]
CHINESE = "".join(f"第{n}条：今天北京天气很好，我们去公园散步。你说呢？\n" for n in range(15_000))
ENGLISH = "".join(f"Sentence {n} costs 3.14 dollars. Is that so? " for n in range(9000))


def within(made, most):
    text = result_text(made.value)
    assert len(text) <= most
    return text


async def through(policy, outcome, *, context=None, max_result=None):
    call = BoundCall(
        call=ToolCall(id="c1", name="t"), tool=Tool(name="t", rules=Rules(max_result=max_result))
    )

    async def proceed(call, context):
        return ToolResult(call_id="c1", name="t", outcome=outcome, notes={"attempts": 1})

    return await policy(call, context or RunContext(), proceed)


def test_a_small_value_is_the_same_object():
    value = {"rows": ORDERS[:3]}
    made = shrunk(value)
    assert made.value is value
    assert not made.is_shrunk


def test_a_table_keeps_whole_rows_from_both_ends_and_says_what_all_are_like():
    made = shrunk(ORDERS, handle="r1", language="zh")
    value = json.loads(within(made, 16_000))
    first, last = value["first_rows"], value["last_rows"]
    assert first == ORDERS[: len(first)]
    assert last == ORDERS[-len(last) :]
    assert len(first) + len(last) > 50
    assert value["total_rows"] == 4000
    assert f"省略了 {4000 - len(first) - len(last):,} 行" in value["note"]
    assert f'read_result(handle="r1", start={len(first)})' in value["note"]
    facts = value["statistics"]
    amounts = [row["amount"] for row in ORDERS]
    assert facts["amount"]["min"] == min(amounts)
    assert facts["amount"]["sum"] == pytest.approx(sum(amounts))
    assert facts["order_id"] == {"min": 100_000, "max": 103_999}
    assert facts["city"] == {"distinct": 3, "top": {"北京": 1334, "上海": 1333, "深圳": 1333}}
    assert facts["paid"] == {"true": 3000, "false": 1000}
    assert facts["remark"]["missing"] == 800


def test_columns_and_rows_stay_columns_and_rows():
    rows = [[n, f"name {n}", None] for n in range(5000)]
    made = shrunk({"columns": ["id", "name", "x"], "rows": rows, "sql": "SELECT 1"})
    value = json.loads(within(made, 16_000))
    assert value["columns"] == ["id", "name", "x"]
    assert value["sql"] == "SELECT 1"
    assert value["first_rows"] == rows[: len(value["first_rows"])]
    assert value["statistics"]["x"] == {"missing": 5000}


def test_a_list_keeps_whole_items():
    items = [f"line {n} with some text" for n in range(10_000)]
    value = json.loads(within(shrunk(items), 16_000))
    assert value["first_items"] == items[: len(value["first_items"])]
    assert value["last_items"] == items[-len(value["last_items"]) :]
    assert value["statistics"]["distinct"] == 10_000


@pytest.mark.parametrize("text", [CHINESE, ENGLISH], ids=["zh", "en"])
def test_a_text_is_cut_at_the_ends_of_sentences(text):
    made = shrunk(text, handle="r1", language="zh" if text is CHINESE else "en")
    seen = within(made, 16_000)
    head, _, rest = seen.partition("\n…")
    mark, _, tail = rest.partition("…\n")
    head, tail = head.strip(), tail.strip()
    assert text.startswith(head)
    assert text.rstrip().endswith(tail)
    assert head[-1] in "。？?.！"
    assert tail.startswith(("第", "Sentence", "Is"))
    assert 'read_result(handle="r1", start=' in mark
    assert len(head) + len(tail) > 14_000


def test_json_stays_json_and_keeps_its_small_parts():
    value = {"status": "ok", "data": {"items": ORDERS, "page": 1}, "log": ENGLISH, "tail": [1, 2, 3]}
    made = shrunk(value, handle="r1")
    seen = json.loads(within(made, 16_000))
    assert seen["status"] == "ok"
    assert seen["tail"] == [1, 2, 3]
    assert seen["data"]["page"] == 1
    assert seen["data"]["items"]["total_rows"] == 4000
    assert 'path="$.data.items"' in seen["data"]["items"]["note"]
    assert made.path == ("data", "items")
    assert ENGLISH.startswith(seen["log"].split("\n…")[0])


def test_json_in_a_text_is_shrunk_as_json_and_stays_a_text():
    made = shrunk(json.dumps({"orders": ORDERS}, ensure_ascii=False, indent=2))
    assert isinstance(made.value, str)
    assert json.loads(within(made, 16_000))["orders"]["total_rows"] == 4000
    assert made.source == {"orders": ORDERS}


def test_blanks_alone_are_left_out_of_a_json_text():
    value = {"numbers": list(range(1500))}
    made = shrunk(json.dumps(value, indent=8))
    assert json.loads(made.value) == value
    assert not made.is_shrunk


def test_one_record_over_the_limit_has_its_long_texts_shortened():
    rows = [{"id": 1, "text": ENGLISH, "kind": "a"}, {"id": 2, "text": "short", "kind": "b"}]
    value = json.loads(within(shrunk(rows, handle="r1"), 16_000))
    assert value["first_rows"][0]["id"] == 1
    assert value["first_rows"][0]["kind"] == "a"
    assert "characters left out" in value["first_rows"][0]["text"]
    assert value["last_rows"] == rows[1:]
    assert value["note"].startswith("0 of 2 rows left out. One row alone")


def test_encoded_content_is_described():
    value = json.loads(within(shrunk({"name": "a.png", "image": "iVBORw0KGgo" * 40_000}), 16_000))
    assert "440,000 characters of encoded content" in value["image"]
    assert len(value["image"]) < 120


def test_very_many_fields_keep_whole_ones():
    fields = {f"key {n}": {"n": n} for n in range(5000)}
    value = json.loads(within(shrunk(fields, handle="r1"), 16_000))
    note = value.pop("…")
    assert "of 5,000 entries left out" in note
    assert list(value.items()) == list(fields.items())[: len(value)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40) | st.text(max_size=40).map(lambda text: text * 60),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=12), inner, max_size=6)
    | st.lists(st.fixed_dictionaries({"id": inner, "note": inner}), max_size=12)
    | st.lists(inner, min_size=1, max_size=3).map(lambda items: items * 20),
    max_leaves=40,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(JSON, st.integers(40, 3000), st.sampled_from(["", "r1"]), st.sampled_from(["en", "zh"]))
def test_any_value_fits_into_any_limit(value, most, handle, language):
    made = shrunk(value, most_characters=most, handle=handle, language=language)
    assert len(result_text(made.value)) <= max(most, 40)
    json.loads(json.dumps(made.value))


@settings(max_examples=200, deadline=None)
@given(st.text(), st.integers(1, 60), st.integers(1, 40))
def test_a_cut_lies_within_its_bounds(text, times, at):
    text = text * times
    at = min(at, len(text))
    assert 0 <= cut_before(text, at) <= max(at, 0) or at >= len(text)


def test_cuts_prefer_lines_then_sentences_then_words():
    assert "One. Two\n"[: cut_before("One. Two\nthree four", 12)] == "One. Two\n"
    assert "It costs 3.14. "[: cut_before("It costs 3.14. Then more text", 20)] == "It costs 3.14. "
    assert "天气好。"[: cut_before("天气好。我们走吧", 6)] == "天气好。"
    assert "some words "[: cut_before("some words without end", 14)] == "some words "
    flag = "x" * 10 + "👨\u200d👩\u200d👧"
    assert cut_before(flag, 12) == 10


def test_columns_of_every_kind():
    assert column([1, 2, None]) == {"missing": 1, "min": 1, "max": 2, "mean": 1.5, "sum": 3}
    assert column(["10.50", "2.25"], "price")["sum"] == 12.75
    assert column(["2024-01-02", "2024-01-01"]) == {"min": "2024-01-01", "max": "2024-01-02"}
    assert column([{"a": 1}, [2]]) == {}
    assert column([1, "a"]) == {}
    assert column([None, None]) == {"missing": 2}
    assert column([1e308, 1e308, 1e308]) == {"min": 1e308, "max": 1e308}


def test_paths_are_read_as_they_are_written():
    for path in [(), ("a", 0, "b"), ("with blank", 'quo"te', -1), ("中文", "1x")]:
        assert read(written(path)) == path
    assert read("items[0]['k k']") == ("items", 0, "k k")
    assert read("$.a b") is None


def test_ten_million_characters_take_less_than_a_few_seconds():
    rows = [dict(row, order_id=n) for n, row in enumerate(ORDERS * 22)]
    for value in (rows, {"data": {"items": rows}}, ENGLISH * 25, json.dumps(rows, ensure_ascii=False)):
        assert len(result_text(value)) > 8_000_000
        started = time.process_time()
        within(shrunk(value), 16_000)
        assert time.process_time() - started < 4


async def test_results_over_the_limit_are_shrunk_and_kept():
    context = RunContext(trace_id="abcdef")
    result = await through(shrink, Value(ORDERS), context=context)
    assert len(result_text(result)) <= 16_000
    assert result.notes["shrunk"] is True
    assert result.notes["attempts"] == 1
    assert result.notes["characters"] == len(result_text(ORDERS))
    assert result.notes["handle"] == "r1-abcd"
    assert results_of(context).get(result.notes["handle"]).value is ORDERS


async def test_the_400_000_characters_of_one_line():
    result = await through(shrink, Value("x" * 400_000))
    assert len(result_text(result)) <= 16_000


async def test_a_tool_declares_its_own_limit():
    assert len(result_text(await through(shrink, Value(ORDERS), max_result=2000))) <= 2000
    whole = await through(shrink, Value(ORDERS), max_result=10**9)
    assert whole.data is ORDERS


async def test_small_results_pass_untouched_and_keep_nothing():
    context = RunContext()
    outcome = Value({"a": 1})
    assert (await through(shrink, outcome, context=context)).outcome is outcome
    assert not has_results(context)


async def test_a_long_error_is_shortened():
    error = ToolError(
        code=ErrorCode.UPSTREAM,
        message="It failed. " * 9000,
        hint="Do this. " * 9000,
        details={"log": "x" * 90_000},
    )
    seen = (await through(shrink, error)).error
    assert seen.code == ErrorCode.UPSTREAM
    assert len(result_text(seen)) <= 16_000
    assert len(str(seen.details)) <= 16_000


async def test_a_result_larger_than_the_store_has_no_handle():
    result = await through(Shrink(store=ResultStore(most_characters=1000)), Value(ORDERS))
    assert "handle" not in result.notes
    assert "read_result" not in result_text(result)


def kept(handle, characters=10):
    return Kept(handle=handle, value=handle, source=handle, path=(), characters=characters)


def test_the_store_lets_go_of_what_was_not_used_longest():
    store = ResultStore(most_results=2)
    store.keep(kept("r1"))
    store.keep(kept("r2"))
    assert store.get("r1")
    store.keep(kept("r3"))
    assert store.handles == ("r1", "r3")


def test_the_store_is_bounded_in_characters():
    store = ResultStore(most_characters=100)
    for number in range(20):
        store.keep(kept(f"r{number}", 30))
    assert len(store) == 3


class Reader:
    """Shrinks one value and reads on from it as a model does."""

    def __init__(self, value, **options):
        self.context = RunContext(trace_id="abcdef", language=options.pop("language", "en"))
        self.tools = Toolset([read_result_tool(**options)])
        self.value = value

    async def open(self):
        result = await through(shrink, Value(self.value), context=self.context)
        self.handle = result.notes["handle"]
        return self

    async def __call__(self, **arguments):
        arguments.setdefault("handle", self.handle)
        result = await self.tools.call("read_result", arguments, context=self.context)
        assert len(result_text(result)) <= 16_000
        return result


async def pages(reader, unit):
    found, start = [], 0
    for _ in range(500):
        page = (await reader(start=start)).data
        found.append(page[unit])
        if page.get("is_last"):
            return found
        start = page["next_start"]
    raise AssertionError("the pages do not end")


async def test_every_row_can_be_read():
    reader = await Reader(ORDERS).open()
    assert [row for page in await pages(reader, "rows") for row in page] == ORDERS


async def test_every_character_can_be_read_and_pages_end_at_sentences():
    reader = await Reader(CHINESE).open()
    found = await pages(reader, "text")
    assert "".join(found) == CHINESE
    assert all(page.endswith("\n") for page in found)


async def test_a_page_of_some_rows():
    reader = await Reader({"data": {"items": ORDERS}}).open()
    page = (await reader(start=10, count=3)).data
    assert page["rows"] == ORDERS[10:13]
    assert page["total_rows"] == 4000
    assert page["next_start"] == 13
    last = (await reader(start=-2)).data
    assert last["rows"] == ORDERS[-2:]
    assert last["is_last"] is True


async def test_columns_are_repeated_on_each_page():
    reader = await Reader({"columns": ["a", "b"], "rows": [[n, str(n)] for n in range(9000)]}).open()
    page = (await reader(start=8000, count=1)).data
    assert page["columns"] == ["a", "b"]
    assert page["rows"] == [[8000, "8000"]]


async def test_a_part_is_read_by_its_path():
    reader = await Reader({"items": ORDERS, "log": ENGLISH, "n": 5}).open()
    page = (await reader(path="$.log", start=0, count=500)).data
    assert ENGLISH.startswith(page["text"])
    assert (await reader(path="items[3].city")).data["text"] == ORDERS[3]["city"]
    assert (await reader(path="n")).data["value"] == 5


async def test_a_record_too_long_for_a_page_is_shortened_and_says_where_the_rest_is():
    reader = await Reader([{"id": n, "text": ENGLISH} for n in range(3)]).open()
    page = (await reader(path="$", start=1)).data
    assert page["rows"][0]["id"] == 1
    assert 'path="$[1].text"' in page["rows"][0]["text"]
    assert page["next_start"] == 2


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_errors_teach(language):
    reader = await Reader(ORDERS, language=language).open()
    unknown = (await reader(handle="r9")).error
    assert unknown.code == ErrorCode.INVALID_ARGUMENT
    assert "r1-abcd" in unknown.hint
    assert "$.nothing" in (await reader(path="$.nothing")).error.message
    beyond = (await reader(start=4000)).error
    assert "4000" in beyond.message
    assert "3999" in beyond.hint


async def test_a_handle_is_known_without_the_mark_of_its_run():
    reader = await Reader(ORDERS).open()
    assert (await reader(handle=" R1 ")).ok


async def test_it_is_offered_only_once_there_is_something_to_read():
    context = RunContext()
    reading, other = read_result_tool(), Tool(name="other")
    assert not offered([shrink], reading, context)
    assert offered([shrink], other, context)
    await through(shrink, Value(ORDERS), context=context)
    assert offered([shrink], reading, context)
    policy = Shrink(store=ResultStore())
    assert not offered([policy], reading, context)
    await through(policy, Value(ORDERS))
    assert offered([policy], reading, RunContext())


async def test_a_run_that_keeps_nothing_says_so():
    tools = Toolset([read_result_tool()])
    error = (await tools.call("read_result", {"handle": "r1"})).error
    assert "call the tool again" in error.hint


@settings(max_examples=60, deadline=None)
@given(
    st.integers(-9000, 9000),
    st.none() | st.integers(-5, 9000),
    st.sampled_from(["rows", "text", "columns", "fields"]),
)
async def test_a_page_never_raises(start, count, kind):
    value = {
        "rows": ORDERS[:600],
        "text": ENGLISH[:60_000],
        "columns": {"columns": ["a"], "rows": [["x" * 50] for _ in range(600)]},
        "fields": {f"k{n}": "v" * 30 for n in range(900)},
    }[kind]
    reader = await Reader(value).open()
    result = await reader(start=start, count=count)
    assert result.ok or result.error.code == ErrorCode.INVALID_ARGUMENT


def test_a_mark_says_how_much_is_missing():
    made, head = shortened("One sentence here. " * 100, 400, "en")
    assert len(made) <= 400
    assert "of 1,900 characters left out" in made
    assert made.startswith("One sentence here.")
    assert head > 100


@tool
def stock() -> list[dict[str, int]]:
    """All that is in stock."""
    return [{"number": n, "pieces": n % 7} for n in range(5_000)]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_direct_call_names_no_tool_that_the_toolset_does_not_have(language):
    context = RunContext(language=language)
    tools = Toolset([stock])
    alone = await tools.call("stock", {}, context=context)
    assert alone.notes["shrunk"]
    assert "read_result" not in result_text(alone)
    assert len(results_of(context).get(alone.notes["handle"]).value) == 5_000
    with_reader = Toolset([stock, read_result_tool()])
    context = RunContext(language=language)
    first = await with_reader.call("stock", {}, context=context)
    assert "read_result(handle=" in result_text(first)
    page = await with_reader.call(
        "read_result", {"handle": first.notes["handle"], "start": 100, "count": 2}, context=context
    )
    assert page.ok
    assert "read_result" not in result_text(await tools.call("stock"))


async def test_a_tool_that_calls_a_toolset_within_a_run_still_tells_its_model_how_to_read_on():
    context = RunContext(turn=1)
    assert "read_result" in result_text(await Toolset([stock]).call("stock", {}, context=context))
