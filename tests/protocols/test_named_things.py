"""A file that the user names is asked for where it is listed."""

from __future__ import annotations

import time

import pytest

from toolhand import Toolset, tool
from toolhand.builtin.files import file_tools
from toolhand.builtin.files_writing import file_writing_tools
from toolhand.core.messages import Message, ToolCall, ToolResult, Value, user
from toolhand.core.tools import ToolChoice
from toolhand.protocols.constrained_first import PROTOCOL
from toolhand.protocols.named_things import tools_of_named_files

AUTO = ToolChoice()


@tool
def read_table(path: str) -> str:
    """Reads a table.

    It is written in Node.js and knows my report.pdf.

    Files: stock.csv, my report.pdf, staff-2026.xlsx, 年度报告.md and 3 more

    Args:
        path: the file, such as "stock.csv".
    """
    return path


@tool
def query(sql: str) -> str:
    """Runs SQL. Tables: stock(id, name)"""
    return sql


@tool(effect="writes")
def remove_file(path: str) -> str:
    """Removes a file."""
    return path


@tool(effect="writes")
def send(text: str) -> str:
    """Sends a text."""
    return text


TOOLS = Toolset([read_table, query, send])


@pytest.mark.parametrize(
    ("asked", "is_named"),
    [
        ("In stock.csv, what costs most?", True),
        ("根据stock.csv，哪种商品最贵？", True),
        ("打开“年度报告.md”看看", True),
        ("Sum up Staff-2026.XLSX.", True),
        ("What do we have in stock?", False),
        ("Who works in old-stock.csv?", False),
        ("What is in archive/stock.csv?", False),
        ("Fetch https://example.org/stock.csv", False),
        ("And in sales.csv?", False),
        ("stock.csvx", False),
        ("Is stock.csv.gz whole?", False),
        ("Is Node.js slow?", False),
        ("Is report.pdf there?", False),
        ("Is my report.pdf there?", True),
        ("What is 3.5 times 2?", False),
    ],
)
def test_a_file_that_is_listed_is_asked_for(asked, is_named):
    assert tools_of_named_files([user(asked)], TOOLS, AUTO) == (("read_table",) if is_named else ())


def test_where_something_else_could_be_meant_it_is_left_to_the_model():
    asked = [user("Remove stock.csv")]
    assert tools_of_named_files(asked, Toolset([read_table, remove_file]), AUTO) == ()
    assert tools_of_named_files(asked, TOOLS, ToolChoice("auto", ("query",))) == ()
    call = ToolCall(id="c", name="query", arguments={"sql": "SELECT 1"})
    result = ToolResult(call_id="c", name="query", outcome=Value("1"))
    called = [Message(role="assistant", parts=(call,)), Message(role="tool", parts=(result,))]
    assert tools_of_named_files([user("In stock.csv?"), *called], TOOLS, AUTO) == ()
    assert tools_of_named_files([*asked, *called, user("Thanks")], TOOLS, AUTO) == ()


def test_the_model_is_left_no_other_tool():
    request = PROTOCOL.render([user("In stock.csv, what costs most?")], TOOLS, AUTO, "en")
    written = str(request.grammar)
    assert "read_table" in written
    assert "query" not in written
    assert "answer" in written  # nobody is forced to call: "I have renamed stock.csv, thanks"


def test_hostile_words_cost_no_time():
    hostile = [user(one * 2_000) for one in ("a.b", "stock.csv", "a-", "-.a", "a/")]
    start = time.process_time()
    for asked in hostile:
        tools_of_named_files([asked], TOOLS, AUTO)
    assert time.process_time() - start < 0.5


def test_no_file_is_read_first_where_a_tool_over_the_same_folder_may_delete_it(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x")
    reading = file_tools(tmp_path)
    asked = [user("Delete b.csv")]
    assert tools_of_named_files(asked, Toolset(reading), AUTO) == ("read_file",)
    assert tools_of_named_files(asked, Toolset([*reading, *file_writing_tools(tmp_path)]), AUTO) == ()


def test_a_writing_tool_that_takes_files_by_another_name_leaves_it_to_the_model():
    @tool(effect="writes")
    def mail(to: str, attachment: str) -> str:
        """Sends a mail."""
        return to + attachment

    assert tools_of_named_files([user("Mail stock.csv to Ann")], Toolset([read_table, mail]), AUTO) == ()
