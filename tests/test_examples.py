"""The examples run as they stand: each once on a script, two on the embedded model. A script tests the code, not a model."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
from pathlib import Path

import pytest

from tests.clients.conftest import serving
from tests.gateway.upstream import Upstream, completion, running
from tests.test_agent import asks
from toolhand.core.approvals import Approve
from toolhand.testing import ScriptedModel

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path for path in FOLDER.glob("*.py") if path.name != "chosen.py")


@pytest.fixture
def example(monkeypatch):
    """Loads an example as a module of its own, which is gone after the test."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delenv("TOOLHAND_MODEL", raising=False)

    def load(name):
        for one in (name, "chosen"):
            monkeypatch.delitem(sys.modules, one, raising=False)
        return importlib.import_module(name)

    return load


def query(sql):
    return asks(("c", "query_database", json.dumps({"sql": sql})))


def test_shop_assistant(example, capsys):
    runs = example("shop_assistant").main(
        ScriptedModel(
            [
                query("SELECT count(*) FROM customers WHERE city = 'Hangzhou'"),
                "Some.",
                query("SELECT name, max(price) FROM products"),
                "电钻",
                query("DELETE FROM orders"),
                "They stay.",
            ]
        )
    )
    assert [run.text for run in runs] == ["Some.", "电钻", "They stay."]
    assert [run.results[0].ok for run in runs] == [True, True, False]
    assert "SELECT count(*)" in capsys.readouterr().out


def test_ask_documents(example, capsys):
    search = [
        asks(("c", "search_documents", '{"query": "notice period"}')),
        "Three months.",
        asks(("c", "search_documents", '{"query": "年假"}')),
        "15 天。",
    ]
    example("ask_documents").main(ScriptedModel(search))
    said = capsys.readouterr().out
    assert "  lease.md, line 6: Lease of the shop in Mill Lane › Notice" in said
    assert "  员工手册.txt, line 3" in said


@pytest.mark.parametrize(("agrees", "sent"), [(True, ["ann@example.com"]), (False, [])])
def test_plan_with_approval(example, agrees, sent):
    module = example("plan_with_approval")
    plan = "find_invoice(number=17) -> i\nsend_reminder(email=$i.email, total=$i.total)"
    model = ScriptedModel([plan, "done"])
    run = module.main(model, lambda _: Approve()) if agrees else module.main(model)  # there is no terminal
    assert module.sent == sent
    assert run.stopped == "answered"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="full Python has a jail on Linux only")
def test_csv_with_plot(example, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    code = "totals = table.groupby('month')['amount'].sum()\ntotals.plot.bar()\nplt.savefig('chart.png')\nprint(totals)"
    model = ScriptedModel([asks(("c", "run_program", json.dumps({"code": code}))), "March, 2800."])
    run = example("csv_with_plot").main(model, tmp_path)
    assert re.search(r"Mar +2800", run.results[0].data["printed"])
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_mcp_both_ways(example, capsys):
    pytest.importorskip("mcp")
    model = ScriptedModel(
        [
            asks(("a", "get_stock", '{"item": "wrench"}'), ("b", "get_price", '{"item": "wrench"}')),
            "42 wrenches at 35 euros.",
        ]
    )
    run = example("mcp_both_ways").main(model)
    assert [result.data for result in run.results] == [42, 35.0]
    said = capsys.readouterr().out
    assert "empty_shelf (destroys)" in said
    assert "empty_shelf without a person: ran" not in said


def answering(upstream):
    """A scripted server in a thread, while the block runs; gives its address."""

    async def begin(stack):
        await stack.enter_async_context(running(upstream))
        return upstream

    return serving(begin)


def test_gateway_client(example):
    pytest.importorskip("openai")
    call = '<tool_call>{"name": "get_temperature", "arguments": {"town": "Paris"}}</tool_call>'
    with answering(Upstream(call, "It is 21 degrees.")) as url:
        assert example("gateway_client").main(f"{url}#up") == "It is 21 degrees."


async def test_many_users(example):
    def reply(request):
        last = request.messages[-1]
        if last.results:
            return last.results[0].data[0] if last.results[0].ok else "That is not allowed."
        return asks(("c", "my_orders", "{}"))

    answers = await example("many_users").serve_and_ask(ScriptedModel(reply))
    assert answers["token-of-ann"]["answer"].startswith("A7")
    assert answers["token-of-bo"]["answer"].startswith("B2")
    assert "A7" not in str(answers["token-of-cy"]) + str(answers["stolen"])


@pytest.mark.slow
def test_durable_orders(example, tmp_path, monkeypatch):
    for variable in ("EXAMPLE_BANK", "EXAMPLE_SESSION"):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
    monkeypatch.setenv("TOOLHAND_STORE", str(tmp_path / "orders.db"))
    payments = [
        {
            "id": key,
            "type": "function",
            "function": {"name": "pay_invoice", "arguments": json.dumps({"invoice": key})},
        }
        for key in ("A7", "B2")
    ]
    listing = completion(
        calls=[{"id": "l", "type": "function", "function": {"name": "list_payments", "arguments": "{}"}}],
        finish="tool_calls",
    )
    script = Upstream(
        completion(calls=payments, finish="tool_calls"),
        "A7 is paid; of B2 nobody knows.",
        listing,
        "A7 and B2.",
    )
    module = example("durable_orders")
    with answering(script) as url:
        run = module.main(f"{url}#up", tmp_path)
    assert run.text == "A7 is paid; of B2 nobody knows."
    assert [result.ok for result in run.results] == [True, False]
    assert run.results[1].error.code == "outcome_unknown"
    assert module.payments() == ["A7", "B2"]


@pytest.mark.model
def test_shop_assistant_and_many_users_on_the_embedded_model(example, monkeypatch):
    shop = example("shop_assistant")
    monkeypatch.setattr(
        shop, "QUESTIONS", shop.QUESTIONS[:1]
    )  # the small model goes round, and takes minutes for all
    (run,) = shop.main("local:small")
    assert run.stopped
    answers = asyncio.run(example("many_users").serve_and_ask("local:small"))
    assert "B2" not in answers["token-of-ann"]["answer"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short_and_says_how_it_is_run(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    assert f"python examples/{path.name}" in text.split('"""')[1]
    for readme in FOLDER.glob("README*.md"):
        assert f"]({path.name})" in readme.read_text(encoding="utf-8"), readme.name


@pytest.mark.parametrize("readme", sorted(FOLDER.glob("README*.md")), ids=lambda path: path.name)
def test_the_links_of_the_examples_hold(readme):
    targets = re.findall(r"\]\(([^)#:]+)\)", readme.read_text(encoding="utf-8"))
    assert [target for target in targets if not (FOLDER / target).exists()] == []


def test_the_model_is_named_in_one_place(example, monkeypatch):
    module = example("chosen")
    monkeypatch.setattr(sys, "argv", ["example.py"])
    assert module.model("…") == "local"
    monkeypatch.setenv("TOOLHAND_MODEL", "ollama:qwen3")
    assert module.model("…") == "ollama:qwen3"
    monkeypatch.setattr(sys, "argv", ["example.py", "--model", "local:small"])
    assert module.model("…") == "local:small"
