"""What is said of a tool that changes something and may not run twice."""

from __future__ import annotations

import logging

import pytest

from toolhand import Injected, RunContext, Toolset, tool
from toolhand.core.errors import ErrorCode


def pay(amount: int) -> str:
    """Pays."""
    raise RuntimeError("the printer burns")


def keyed(amount: int, key: str = Injected("idempotency_key")) -> str:
    """Pays once."""
    return key


@pytest.mark.parametrize(
    ("function", "options", "is_told"),
    [
        (pay, {"effect": "writes"}, True),
        (pay, {"effect": "destroys"}, True),
        (pay, {"effect": "writes", "idempotent": True}, False),
        (pay, {"effect": "reads"}, False),
        (keyed, {"effect": "writes"}, False),
    ],
)
def test_retries_that_do_nothing_are_told_of_when_the_tool_is_made(caplog, function, options, is_told):
    with caplog.at_level(logging.WARNING, "toolhand"):
        tool(**options, retries=2)(function)
    assert any("retries=2" in record.getMessage() for record in caplog.records) is is_told


@pytest.mark.parametrize(("language", "words"), [("en", "unknown"), ("zh", "无法确定")])
@pytest.mark.parametrize(
    ("options", "is_unsure"),
    [
        ({"effect": "writes"}, True),
        ({"effect": "writes", "idempotent": True}, False),
        ({"effect": "reads"}, False),
    ],
)
async def test_a_writing_tool_that_raises_may_have_changed_something(language, words, options, is_unsure):
    result = await Toolset([tool(**options)(pay)]).call(
        "pay", {"amount": 1}, context=RunContext(language=language)
    )
    assert result.error.code is ErrorCode.EXECUTION
    assert (words in result.error.sentence) is is_unsure
    assert "printer" not in result.error.sentence
