"""Ids that nobody gave are sent back; what somebody said, knew or worked out is not."""

from __future__ import annotations

import pytest

from tests.timing import cpu_seconds
from toolhand import Agent, Toolset
from toolhand.arguments.grounded import grounded_share
from toolhand.arguments.grounding import checked_values, is_id, tools_that_tell, without_idle
from toolhand.arguments.grounds import Grounds
from toolhand.core.errors import ToolError
from toolhand.core.messages import Message, RawCall, Text, ToolCall, ToolResult, Value, system, user
from toolhand.core.tools import Rules, Tool
from toolhand.ladder import Ladder, Profile
from toolhand.testing import ScriptedModel


def made(name, description="", /, required=None, rules=None, function=None, **properties):
    schemas = {key: {"type": "string"} | value for key, value in properties.items()}
    parameters = {"type": "object", "properties": schemas, "required": list(required or schemas)}
    return Tool(
        name=name, description=description, parameters=parameters, rules=rules or Rules(), function=function
    )


FIND = made("find_customer", "Finds a customer by name.", name={})
CLOSE = made("close_account", "Closes an account.", customer_id={"description": "The customer's number"})
ZH_FIND = made("search_orders", "按手机号查询订单列表", phone={})
ZH_SHOW = made("order_detail", "查询订单详情", order_no={"description": "订单号"})
PLACE = made("weather", "The weather.", city={}, days={"type": "integer"})
MAIL = made("send_mail", "Sends a mail.", to_email={}, text={})
TOOLS = Toolset([FIND, CLOSE, ZH_FIND, ZH_SHOW, PLACE, MAIL])


def call(name, /, **arguments):
    return ToolCall(id="c1", name=name, arguments=arguments)


def broken(one, *messages, language="en"):
    _, bad = checked_values([one], Grounds(messages), TOOLS, language)
    return bad[0].problem if bad else None


def test_an_id_that_nobody_gave_is_sent_back_with_the_tool_that_tells_it():
    problem = broken(call("close_account", customer_id="C-1001"), user("Close Ann's account"))
    assert isinstance(problem, ToolError)
    assert "C-1001" in problem.message
    assert "find_customer" in problem.hint
    assert problem.details["invented"] == "customer_id"


def test_the_same_in_chinese():
    problem = broken(call("order_detail", order_no="20230001"), user("查一下张三的订单"), language="zh")
    assert "没有出现过" in problem.message
    assert "search_orders" in problem.hint


@pytest.mark.parametrize(
    ("one", "said", "language", "word"),
    [
        (call("close_account", customer_id="Ann Brook"), "Close Ann Brook's account", "en", "no id"),
        (call("order_detail", order_no="张三"), "查一下张三的订单", "zh", "不是编号"),
    ],
)
def test_a_name_in_the_place_of_an_id_that_a_tool_tells_is_sent_back(one, said, language, word):
    problem = broken(one, user(said), language=language)
    assert word in problem.message
    assert problem.details["tools"]


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ({"description": "The customer's id or name"}, "Ann Brook"),
        ({"description": "The customer's number"}, "annbrook"),
        ({"description": "The customer's number"}, "ann brook 7"),
    ],
)
def test_what_may_be_an_id_is_let_through(parameter, value):
    tool = made("suspend_account", "Suspends an account.", customer_id=parameter)
    one = call("suspend_account", customer_id=value)
    _, bad = checked_values([one], Grounds([user(f"Suspend {value}")]), Toolset([FIND, tool]), "en")
    assert not bad


def test_a_name_stays_where_no_tool_tells_an_id():
    one = call("close_account", customer_id="Ann Brook")
    _, bad = checked_values([one], Grounds([user("Close Ann Brook")]), Toolset([CLOSE]), "en")
    assert not bad


@pytest.mark.parametrize(
    "message",
    [
        user("Close the account of customer C-1001, please"),
        user("customer c 1001"),
        user("客户Ｃ－１００１"),
        system("The user's customer id is C1001."),
        Message(
            role="tool",
            parts=(ToolResult(call_id="c0", name="find_customer", outcome=Value({"id": "C-1001"})),),
        ),
    ],
)
def test_what_was_said_anywhere_but_by_the_model_itself_is_given(message):
    assert broken(call("close_account", customer_id="C-1001"), message) is None


def test_an_id_that_the_description_lists_is_given():
    order = made(
        "order_service",
        "Orders a service.",
        service_id={"type": "integer", "description": "1: cleaning, 2: repair"},
    )
    for number, is_given in ((2, True), (3, False)):
        good, _ = checked_values(
            [call("order_service", service_id=number)], Grounds([user("Fix it")]), Toolset([order]), "en"
        )
        assert bool(good) is is_given


def test_an_example_of_an_id_in_the_description_is_not_given():
    order = made("order_detail", "Shows an order.", order_id={"description": "Order number, such as A1001"})
    _, bad = checked_values(
        [call("order_detail", order_id="A1001")], Grounds([user("Hello")]), Toolset([order]), "en"
    )
    assert bad


@pytest.mark.parametrize(
    ("said", "arguments", "share"),
    [
        ("解释一下什么是递归", {"city": "客厅", "days": 22}, 0.0),
        (
            "北京热吗",
            {"city": "Beijing", "days": 22},
            0.0,
        ),  # the city may be a translation, the number is none
        ("北京三天", {"city": "Beijing", "days": 3}, 0.5),
        ("Is it hot there?", {"city": "Beijing"}, 0.0),
    ],
)
def test_a_translation_is_not_judged(said, arguments, share):
    assert grounded_share([call("weather", **arguments)], Grounds([user(said)]), TOOLS) == share


def test_what_only_the_model_said_is_not():
    said = Message(
        role="assistant", parts=(Text("The id is C-1001."), call("close_account", customer_id="C-1001"))
    )
    assert broken(call("close_account", customer_id="C-1001"), user("Close it"), said)


def test_a_failed_result_gives_nothing():
    failed = ToolResult(
        call_id="c0", name="close_account", outcome=ToolError(code="execution", message="no C-1001")
    )
    assert broken(call("close_account", customer_id="C-1001"), Message(role="tool", parts=(failed,)))


@pytest.mark.parametrize(
    "one",
    [
        call("weather", city="Reykjavik", days=3),
        call("find_customer", name="Ann 2"),
        call("send_mail", to_email="ann", text="42"),
        call("nothing_such", id="1"),
    ],
)
def test_what_may_be_known_or_worked_out_is_let_through(one):
    assert broken(one, user("?")) is None


@pytest.mark.parametrize("value", ["<customer_id>", "your_customer_id", "customer id", "{id}", "a@b.example"])
def test_words_that_stand_for_a_value_are_no_value(value):
    assert broken(call("close_account", customer_id=value), user("Close Ann's account"))


def test_a_short_number_has_to_stand_alone():
    assert broken(call("close_account", customer_id="12"), user("as of 2012, close it"))
    assert broken(call("close_account", customer_id="12"), user("customer 12, close it")) is None


def test_an_optional_id_that_nobody_gave_is_left_out():
    tool = made("list_orders", "Lists orders.", required=["status"], status={}, customer_id={})
    good, bad = checked_values(
        [call("list_orders", status="open", customer_id="77123")],
        Grounds([user("open orders?")]),
        Toolset([tool]),
        "en",
    )
    assert not bad
    assert good[0].arguments == {"status": "open"}


@pytest.mark.parametrize(
    ("name", "schema", "is_one"),
    [
        ("order_id", {}, True),
        ("orderId", {}, True),
        ("userID", {"type": "integer"}, True),
        ("tracking_number", {}, True),
        ("订单号", {}, True),
        ("ref", {"description": "The invoice's ID"}, True),
        ("ids", {"type": "array", "items": {"type": "string"}}, True),
        ("number", {"type": "string"}, False),
        ("number_of_people", {"type": "integer"}, False),
        ("room_number", {"type": "integer"}, False),
        ("valid", {}, False),
        ("paid", {"type": "boolean"}, False),
        ("grid", {}, False),
        ("id", {"enum": ["a", "b"]}, False),
        ("device_id", {"default": "main"}, False),
        ("country_code", {}, False),
        ("price", {"type": "number"}, False),
        ("sql", {"description": 'a statement, such as "SELECT id, name FROM orders"'}, False),
        ("ref", {"description": 'the "id" of the order'}, True),
    ],
)
def test_which_parameters_take_an_id(name, schema, is_one):
    assert is_id(name, {"type": "string"} | schema) is is_one


def test_a_tool_that_writes_or_needs_the_id_itself_cannot_tell_it():
    pay = made("pay_invoice", "Pays an invoice.", invoice_id={})
    show = made("show_invoice", "Shows an invoice.", invoice_id={})
    create = made("create_invoice", "Makes an invoice.", rules=Rules(effect="writes"), customer={})
    search = made("invoices", "Lists invoices of a customer.", customer={})
    found = tools_that_tell("invoice_id", pay, Toolset([pay, show, create, search]))
    assert [tool.name for tool in found] == ["invoices"]


def test_without_such_a_tool_the_user_is_to_be_asked():
    alone = Toolset([CLOSE])
    _, bad = checked_values([call("close_account", customer_id="9")], Grounds([user("?")]), alone, "en")
    assert "ask the user" in bad[0].problem.hint


def test_a_long_conversation_costs_little():
    grounds = Grounds([user("word " * 200_000)])

    def work() -> None:
        for number in range(200):
            checked_values([call("close_account", customer_id=f"C-{number}0001")], grounds, TOOLS, "en")

    assert cpu_seconds(work, times=1) < 20


async def test_a_model_that_invents_an_id_is_told_and_takes_the_step_that_it_left_out():
    ran = []

    def find(name: str) -> dict[str, str]:
        ran.append(("find", name))
        return {"id": "K-77"}

    def close(customer_id: str) -> str:
        ran.append(("close", customer_id))
        return "closed"

    tools = [
        made("find_customer", "Finds a customer.", name={}, function=find),
        made("close_account", "Closes an account.", customer_id={}, function=close),
    ]
    model = ScriptedModel(
        [
            RawCall(id="a", name="close_account", arguments='{"customer_id": "C-1001"}'),
            RawCall(id="b", name="find_customer", arguments='{"name": "Ann"}'),
            RawCall(id="c", name="close_account", arguments='{"customer_id": "K-77"}'),
            "Closed.",
        ]
    )
    agent = Agent(model, tools=tools, protocol=Ladder(Profile()))
    run = await agent.run("Close Ann's account")
    assert run.output == "Closed."
    assert ran == [("find", "Ann"), ("close", "K-77")]
    assert [result.ok for result in run.results] == [False, True, True]
    assert "find_customer" in str(run.results[0].error)


RIDE = made(
    "ride",
    "Orders a ride.",
    required=["to"],
    to={},
    kind={"enum": ["shared", "private"]},
    seats={"type": "integer", "default": 1},
    hour={"type": "integer"},
    pay={"description": "How to pay. Default is card."},
    quiet={"type": "boolean"},
    note={},
)


@pytest.mark.parametrize(
    ("said", "sent", "kept"),
    [
        ("A ride to the zoo", {"kind": "shared", "seats": 1, "pay": "card", "note": "none"}, {}),
        ("A ride to the zoo", {"kind": "private", "seats": 3, "pay": "cash", "hour": 17}, None),
        ("A shared ride to the zoo, 1 seat, by card", {"kind": "shared", "seats": 1, "pay": "card"}, None),
        ("A ride to the zoo for one", {"seats": 1}, None),
        ("A ride to the zoo", {"quiet": False, "note": "ring twice"}, None),
        ("拼车去动物园", {"kind": "shared"}, None),
    ],
)
def test_optional_values_that_say_nothing_and_that_nobody_said_are_left_out(said, sent, kept):
    (one,) = without_idle([call("ride", to="zoo", **sent)], Grounds([user(said)]), Toolset([RIDE]))
    assert one.arguments == {"to": "zoo"} | (sent if kept is None else kept)
    assert len(one.fixes) == len(sent) + 1 - len(one.arguments) + 0


def test_a_required_value_is_never_left_out():
    (one,) = without_idle([call("ride", to="none")], Grounds([user("?")]), Toolset([RIDE]))
    assert one.arguments == {"to": "none"}
    assert not one.fixes


@pytest.mark.parametrize(
    ("said", "arguments", "share"),
    [
        ("weather in Oslo for 3 days", {"city": "Oslo", "days": 3}, 1.0),
        ("weather in Oslo", {"city": "Oslo", "days": 3}, 0.5),
        ("weather in Oslo for three days", {"city": "Oslo", "days": 3}, 0.75),
        ("why is the sky blue?", {"city": "Paris", "days": 1}, 0.0),
        ("北京和上海的天气", {"city": "北京市", "days": 3}, 0.25),
        ("on 03/05", {"city": "2026-03-05", "days": 5}, (2 / 3 + 1) / 2),
    ],
)
def test_how_much_of_a_call_was_said(said, arguments, share):
    found = grounded_share([call("weather", **arguments)], Grounds([user(said)]), TOOLS)
    assert found == pytest.approx(share)


def test_a_call_without_required_values_cannot_be_judged():
    assert grounded_share([call("nothing_such")], Grounds([user("?")]), TOOLS) is None


@pytest.mark.parametrize(
    ("said", "value", "share"),
    [
        ("How many guests are from Lyon?", "SELECT COUNT(*) FROM guests WHERE city = 'Lyon'", 1.0),
        ("How many guests are from Lyon?", "select count(*) from guests where city = 'Metz'", 0.0),
        ("有多少客人超过 30 岁？", "SELECT COUNT(*) FROM guests WHERE age > 30", 1.0),
        ("Which guest is the oldest?", "SELECT name FROM guests ORDER BY age DESC LIMIT 1", None),
        ("What is the root of 81?", "sqrt(81)", 1.0),
        ("What is the root of 81?", "sqrt(64)", 0.0),
        ("what is said of selection", "select the best", 0.0),
    ],
)
def test_of_a_query_or_a_formula_only_the_literals_can_have_been_said(said, value, share):
    tools = Toolset([Tool(name="ask", parameters={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})])  # fmt: skip
    assert grounded_share([call("ask", q=value)], Grounds([user(said)]), tools) == share
