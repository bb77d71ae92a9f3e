"""Each rule finds what it is about, and leaves alone what only looks like it."""

from __future__ import annotations

import re
import warnings

import pytest

from tests.timing import cpu_seconds
from toolhand import Injected, Tool, tool
from toolhand.builtin import builtin_tools
from toolhand.core.errors import SettingsError
from toolhand.core.tools import Rules
from toolhand.lint import RULES, lint

GOOD = "Gives the state of an order: paid, packed or sent."


def made(name="get_order_state", description=GOOD, effect="reads", **properties) -> Tool:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return Tool(name=name, description=description, parameters=parameters, rules=Rules(effect=effect))


def text(description="The order's number, such as A-17.", **more) -> dict:
    return {"type": "string", "description": description, **more}


def number(description="how many", **more) -> dict:
    return {"type": "number", "description": description, **more}


def deep(levels: int) -> dict:
    inner = text()
    for _ in range(levels):
        inner = {"type": "object", "description": "part", "properties": {"part": inner}}
    return inner


def rules_of(*tools: Tool) -> set[str]:
    return {finding.rule for finding in lint(tools)}


FOUND = {
    "description-missing": [made(description=""), made(description="  \n ")],
    "description-short": [
        made(description="Get order state."),
        made(description="查询状态", name="查询状态"),
    ],
    "description-long": [made(description="Gives the state of an order. " * 40)],
    "verb-vague": [
        made(description="Handles everything about orders."),
        made(description="处理订单的各种事情"),
    ],
    "name-vague": [made(name="helper"), made(name="tool_2"), made(name="run")],
    "name-refused": [made(name="查询订单"), made(name="orders.state"), made(name="a" * 65)],
    "parameter-undescribed": [made(order={"type": "string"})],
    "parameter-vague": [made(data=text("the data"))],
    "parameter-misnamed": [
        made(city=text("The user's email.")),
        made(user_name=text("The unique identifier of the customer")),
        made(order_url={"type": "number", "description": "the place of the order"}),
        made(is_paid={"type": "integer", "description": "how many were paid"}),
    ],
    "parameter-untyped": [made(order={"description": "the order's number"})],
    "arguments-open": [
        Tool(name="f_orders", description=GOOD, parameters={"type": "object", "additionalProperties": True})
    ],
    "object-open": [made(order={"type": "object", "description": "the order"})],
    "parameters-many": [made(**{f"part_{place}": text() for place in range(9)})],
    "nesting-deep": [made(order=deep(4))],
    "options-in-words": [
        made(state=text("One of: paid, packed, sent")),
        made(state=text("either 'paid' or 'sent'")),
        made(state=text("订单状态，可选值：已付款、已发货")),
    ],
    "date-format-unsaid": [
        made(date=text("the date of the order")),
        made(start_date=text("first day")),
        made(day=text("日期")),
        made(start=text("the time it begins")),
    ],
    "unit-unsaid": [made(weight=number("the parcel's weight")), made(max_price=number("最高价格"))],
    "parameter-negated": [made(no_archive={"type": "boolean", "description": "leave archived ones out"})],
    "action-parameter": [made(action=text("what to do", enum=["create", "update", "delete", "list"]))],
    "effect-unsaid": [
        made(name="delete_order", description="Removes an order."),
        made(name="order_mailer", description="Sends an order's papers to its customer."),
        made(name="cancelOrder", description="An order that is not sent yet is cancelled."),
        made(name="order_note", description="修改订单的备注"),
    ],
    "effect-mild": [made(name="delete_order", description="Deletes an order.", effect="writes")],
    "secret-in-default": [
        made(api_key=text("the key", default="abc123xyz")),
        made(note=text("such as sk-proj-abcdefghijklmnopqrstuvwx1234")),
        made(note=text("a note", examples=["AKIAABCDEFGHIJKLMNOP"])),
    ],
    "secret-asked": [made(password=text("of the account"))],
    "identity-asked": [made(user_id=text("who asks"))],
    "provider-quirk": [made(order={"type": "object", "description": "any", "additionalProperties": True})],
}

LEFT_ALONE = {
    "description-short": [made(description="Area of a rectangle."), made(description="查询订单的物流状态")],
    "name-refused": [made(name="get-order_2")],
    "parameter-vague": [made(value=text("the value of the order in the customer's own currency"))],
    "parameter-misnamed": [
        made(city=text("The name of the city.")),
        made(order_id=text("The order's number.")),
        made(date=text("The day of the order, as YYYY-MM-DD")),
        made(user_name=text("How the user is called, not the id")),
        made(is_paid={"type": "boolean", "description": "whether it is paid"}),
        made(url=text("The address to fetch.")),
        made(include_description={"type": "boolean", "description": "whether a description comes along"}),
    ],
    "object-open": [
        made(prices={"type": "object", "description": "by item", "additionalProperties": {"type": "number"}})
    ],
    "nesting-deep": [made(order=deep(2))],
    "options-in-words": [
        made(state=text("One of: paid, sent", enum=["paid", "sent"])),
        made(city=text("The city; optional, defaults to the user's own")),
        made(city=text("Either is fine")),
    ],
    "date-format-unsaid": [
        made(date=text("the day, as YYYY-MM-DD")),
        made(date=text("the day", format="date")),
        made(date=text("日期，格式为 2026-03-05")),
        made(from_city=text("where it starts")),
        made(to=text("who gets the mail")),
        made(date_format=text("how dates are written")),
    ],
    "unit-unsaid": [
        made(weight_kg=number("the parcel's weight")),
        made(weight=number("in kilograms")),
        made(weight=number("重量，单位千克")),
        made(amount=number("how much"), currency=text("three letters", enum=["EUR", "CNY"])),
        made(page=number("which page")),
    ],
    "effect-unsaid": [
        made(name="order_state", description="Order state by number."),
        made(name="search_books", description="Finds books by title."),
        made(name="delete_order", description="Removes an order.", effect="destroys"),
        made(name="settings", description="What is set."),
        made(name="query_orders", description="查询订单的修改记录"),
    ],
    "effect-mild": [made(name="update_order", description="Updates an order.", effect="writes")],
    "secret-in-default": [
        made(token_endpoint_auth_method=text("how", default="client_secret_basic")),
        made(note=text("never write a password here")),
    ],
    "secret-asked": [made(max_tokens=number()), made(keyword=text("what to look for"))],
    "identity-asked": [made(employee_id=text("whose leave"))],
    "provider-quirk": [made(count=number(minimum=1, maximum=9))],
    "parameter-negated": [made(include_archived={"type": "boolean", "description": "archived ones too"})],
    "action-parameter": [made(action=text("what to do", enum=["start", "stop"]))],
}


@pytest.mark.parametrize(("rule", "of"), [(rule, of) for rule, cases in FOUND.items() for of in cases])
def test_it_is_found(rule, of):
    found = [finding for finding in lint([of]) if finding.rule == rule]
    assert found
    for finding in found:
        for language in ("en", "zh"):
            assert "{" not in finding.message(language).replace(of.name, "")
            assert finding.fix(language)
    assert re.search(r"[\u4e00-\u9fff]", found[0].message("zh"))


@pytest.mark.parametrize(("rule", "of"), [(rule, of) for rule, cases in LEFT_ALONE.items() for of in cases])
def test_it_is_left_alone(rule, of):
    assert rule not in rules_of(of)


def test_a_good_tool_has_nothing_to_be_said_of():
    assert lint([made(order=text())]) == []


def test_the_tools_that_are_built_in_are_good():
    assert [
        f"{one.rule} {one.tool} {one.path}" for one in lint(builtin_tools()) if one.severity != "advice"
    ] == []


def test_the_docstring_is_read():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        @tool
        def area(width_m: float, height_m: float) -> float:
            """The area of a rectangle.

            Args:
                width_m: Its width in metres.
                height_m: Its height in metres.
                unit: gone since last year
            """
            return width_m * height_m

    (found,) = lint([area])
    assert (found.rule, found.facts["name"]) == ("docstring-stale", "unit")


def test_a_result_that_nobody_describes():
    @tool
    def stocktaking(depot: str) -> dict:
        """Stocktaking in a depot.

        Args:
            depot: Its letter, such as B.
        """
        return {}

    @tool
    def stocktaking_told(depot: str) -> dict:
        """Stocktaking in a depot.

        Args:
            depot: Its letter, such as B.

        Returns:
            pieces by item.
        """
        return {}

    assert [(one.rule, one.tool) for one in lint([stocktaking])] == [("result-unsaid", "stocktaking")]
    assert lint([stocktaking_told]) == []


def test_what_the_program_fills_in_is_not_asked_of_the_model():
    @tool
    def my_orders(user_id: Injected("user_id"), password: Injected("password")) -> list[str]:
        """Gives the orders of the user who asks."""
        return []

    assert lint([my_orders]) == []


TOGETHER = {
    "names-confusable": [
        (made(name="get_order"), made(name="get_orders", description="Lists a customer's orders of a year.")),
        (made(name="order_get"), made(name="get_order", description="Lists a customer's orders of a year.")),
        (made(name="fetch_invoice"), made(name="fetch_invoise", description="Lists invoices.")),
    ],
    "descriptions-equal": [(made(name="state_of_order"), made(name="shipping_progress"))],
    "descriptions-alike": [
        (
            made(name="order_state", description="Gives the state of an order by the number on the receipt."),
            made(
                name="order_state_again",
                description="Gives the state of an order by the number on the receipt, again.",
            ),
            *(made(name=f"other_{n}", description=f"Gives thing number {n} by its label.") for n in range(6)),
        )
    ],
    "tools-too-fine": [
        tuple(
            made(
                name=f"get_customer_{part}", description=f"Gives a customer's {part}.", customer=text("whose")
            )
            for part in ("email", "phone", "address", "birthday")
        )
    ],
    "parameters-named-apart": [
        (
            made(
                name="get_weather",
                description="Gives the weather of today.",
                city=text("The city to look at."),
            ),
            made(
                name="list_hotels",
                description="Lists places to sleep.",
                city_name=text("The city to look at."),
            ),
        )
    ],
    "tools-many": [
        tuple(made(name=f"read_{word}", description=f"Gives {word}.") for word in map(str, range(1000, 1031)))
    ],
}


@pytest.mark.parametrize(
    ("rule", "tools"), [(rule, tools) for rule, cases in TOGETHER.items() for tools in cases]
)
def test_it_is_found_of_several(rule, tools):
    found = [finding for finding in lint(tools) if finding.rule == rule]
    assert len(found) == 1
    assert found[0].message("en") != found[0].message("zh")


def test_what_differs_is_left_alone():
    tools = (
        made(name="get_order"),
        made(
            name="set_order", description="Changes the goods of an order that is not paid.", effect="writes"
        ),
        made(name="list_customers", description="Lists who has bought something in a year."),
        made(name="order_2"),
    )
    assert not rules_of(*tools) & {"names-confusable", "descriptions-alike", "tools-too-fine"}


def test_every_rule_has_a_case():
    of_docstrings = {"docstring-stale", "result-unsaid"}
    assert set(FOUND) | set(TOGETHER) | of_docstrings == set(RULES)


def test_rules_are_left_out_wholly_or_for_some_tools():
    bad = [made(name="delete_order", description=""), made(name="shop_cart", description="")]
    assert {one.rule for one in lint(bad)} == {"description-missing", "effect-unsaid"}
    assert {one.rule for one in lint(bad, ignore=["effect-unsaid"])} == {"description-missing"}
    assert {one.tool for one in lint(bad, ignore=["description-missing:shop_*"])} == {"delete_order"}
    with pytest.raises(SettingsError, match="description-missing"):
        lint(bad, ignore=["description-mising"])


def test_the_worst_comes_first():
    found = lint([made(name="查询", description="", data={})])
    order = [finding.severity for finding in found]
    assert order == sorted(order, key=["error", "warning", "advice"].index)


def test_a_long_description_costs_no_more_than_its_beginning():
    tools = [made(state=text(part * 50_000)) for part in ("'a', ", "one of a, ", "可选值：甲、", "must be ")]
    assert cpu_seconds(lambda: lint(tools), times=1) < 5


def test_odd_schemas_do_no_harm():
    looping: dict = {"type": "object", "properties": {}}
    looping["properties"]["again"] = looping
    odd = [
        Tool(name="a", parameters={"properties": None}),
        Tool(name="b", parameters={"properties": {"x": True, "y": {"type": ["string", "null"]}}}),
        Tool(
            name="d",
            description="\ud800",
            parameters={"properties": {"p": {"anyOf": [{}, {"type": "string"}]}}},
        ),
    ]
    assert lint(odd)
    assert lint([]) == []
    assert "nesting-deep" in rules_of(made(order=deep(30)))
