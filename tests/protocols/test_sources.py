"""A source that nobody asked is asked before a model may give up."""

from __future__ import annotations

import json

import pytest

from toolhand import Agent, tool
from toolhand.core.approvals import Deny
from toolhand.core.errors import ErrorCode, ToolDefinitionError, ToolFailure
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.execution.layers import default_policies
from toolhand.protocols.sources import gives_up, names_something
from toolhand.testing import ScriptedModel

ASKED = []


@tool(source="question")
def search_handbook(question: str, most: int = 5) -> str:
    """Searches the handbook."""
    ASKED.append(question)
    return "Teachers have 23 days of leave."


@tool
def query(sql: str) -> str:
    """Runs SQL."""
    msg = f"no such table: {sql.rsplit(maxsplit=1)[-1]}"
    raise ValueError(msg)


def run(*replies, tools=(search_handbook, query), question="How many days of leave?", **options):
    ASKED.clear()
    model = ScriptedModel(list(replies))
    return Agent(model, list(tools), **options).run_sync(question)


GIVING_UP = "As an AI language model, I cannot provide information about the leave of a teacher."


def call_of_query():
    return ModelOutput(
        calls=(RawCall(id="c1", name="query", arguments='{"sql": "SELECT days FROM leaves"}'),),
        finish_reason="tool_calls",
    )


def test_a_model_that_gives_up_is_given_what_the_source_says():
    done = run(GIVING_UP, "They have 23 days.")
    assert ASKED == ["How many days of leave?"]
    assert done.text == "They have 23 days."
    (call,) = done.calls
    assert [fix.kind for fix in call.fixes] == ["source_asked"]
    assert all(GIVING_UP not in message.text for message in done.messages)


def test_calls_that_all_failed_are_giving_up_too():
    done = run(call_of_query(), "The table does not exist. You should create it.", "23 days.")
    assert ASKED == ["How many days of leave?"]
    assert done.text == "23 days."


@tool
def rows(table: str) -> list[str]:
    """The rows of a table."""
    return []


def call_of_rows():
    call = RawCall(id="c1", name="rows", arguments='{"table": "leaves"}')
    return ModelOutput(calls=(call,), finish_reason="tool_calls")


@pytest.mark.parametrize(
    "said",
    ["I'm sorry, but I don't have enough information to answer.", "抱歉，没有足够的信息，我无法回答。"],
)
def test_who_knows_too_little_for_all_that_was_found_asks_the_source(said):
    done = run(call_of_rows(), said, "23 days.", tools=(search_handbook, rows))
    assert ASKED == ["How many days of leave?"]
    assert done.text == "23 days."


@pytest.mark.parametrize("said", ["Leave is not available in March.", "I'm sorry, the order was cancelled."])
def test_what_a_result_told_may_sound_like_giving_up(said):
    assert run(call_of_rows(), said, tools=(search_handbook, rows)).text == said
    assert ASKED == []


@tool(effect="writes", approval=True)
def send(text: str) -> str:
    """Sends a text."""
    return text


@tool
def count(kind: str) -> int:
    """Counts lessons of a kind."""
    raise ToolFailure(f"No lesson is {kind}.", code=ErrorCode.INVALID_ARGUMENT, details={"found": 0})


def call_of(name, **arguments):
    call = RawCall(id="c1", name=name, arguments=json.dumps(arguments))
    return ModelOutput(calls=(call,), finish_reason="tool_calls")


async def test_what_a_person_refused_is_told_and_no_question_for_a_source():
    ASKED.clear()
    said = "I cannot send it, as you refused."
    policies = default_policies(ask=lambda call, context: Deny())
    model = ScriptedModel([call_of("send", text="Hi"), said])
    agent = Agent(model, [search_handbook, send], policies=policies)
    assert (await agent.run("Send Hi")).text == said
    assert ASKED == []


def test_that_there_is_none_is_an_answer():
    assert (
        run(call_of("count", kind="lost"), "None was lost.", tools=(search_handbook, count)).text
        == "None was lost."
    )
    assert ASKED == []
    said = (call_of("count", kind="lost"), "I don't have enough information.", "23 days.")
    assert run(*said, tools=(search_handbook, count)).text == "23 days."


def test_the_question_said_again_is_no_answer():
    assert run("How many days of leave?", "23 days.").text == "23 days."
    assert ASKED == ["How many days of leave?"]


@pytest.mark.parametrize(
    ("replies", "options"),
    [
        (["It is 23."], {}),
        ([GIVING_UP, "I still cannot find it."], {}),  # asked once and no more
        ([GIVING_UP], {"tools": (query,)}),
        ([GIVING_UP], {"tool_choice": "none"}),
    ],
)
def test_nothing_is_asked_twice_or_where_there_is_no_need(replies, options):
    choice = options.pop("tool_choice", None)
    done = run(*replies, **options) if choice is None else _run_with_choice(replies, choice)
    assert done.text == replies[-1]
    assert len(ASKED) == len(replies) - 1


def _run_with_choice(replies, choice):
    ASKED.clear()
    return Agent(ScriptedModel(list(replies)), [search_handbook]).run_sync("How many?", tool_choice=choice)


def test_a_permission_that_the_user_lacks_keeps_its_word():
    guarded = tool(search_handbook, name="search_guarded", permission="handbook:read")
    assert run(GIVING_UP, tools=(guarded,)).text == GIVING_UP
    assert ASKED == []


@pytest.mark.parametrize("form", ["streamed", "whole"])
async def test_streamed_and_whole_end_alike(form):
    ASKED.clear()
    agent = Agent(ScriptedModel([GIVING_UP, "23 days."]), [search_handbook])
    if form == "whole":
        text = (await agent.run("How many days?")).text
    else:
        events = [event async for event in agent.stream("How many days?")]
        text = events[-1].run.text
    assert ASKED == ["How many days?"]
    assert text == "23 days."


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I don't have any information about the children's orchestra.",
        "The handbook was not provided.",
        "Could you please provide more details?",
        "抱歉，我无法查询该信息。",
        "没有找到关于试用期的记录。",
        "作为一个AI语言模型，我不能回答这个问题。",
        "费用因地区而异，建议您咨询当地的公司。",
        "The price may vary. Please contact the shop.",
        "根据我所知，借书超期每天罚1元。",
        "As far as I know, the fine is one euro a day.",
    ],
)
def test_giving_up_is_heard(text):
    assert gives_up(text)


@pytest.mark.parametrize(
    "text",
    ["It is 23 days.", "Hello! How are you today?", "年假一共23天。", "The notice period is nine months."],
)
def test_an_answer_is_no_giving_up(text):
    assert not gives_up(text)


@pytest.mark.parametrize(
    "said",
    [
        "How are you today?",
        "hi!",
        "What's your name?",
        "Thanks, you're great.",
        "Are you a robot or human?",
        "I'm fine, and how do you feel?",
        "你好吗？",
        "你是谁，叫什么名字？",
        "谢谢你！",
        "今天心情怎么样？",
        "晚上好，最近好吗",
    ],
)
def test_small_talk_is_no_question_for_a_source(said):
    assert not names_something(said)
    reply = "As an AI, I'm sorry to say that I don't know. 作为一个AI，我无法回答。"
    assert run(reply, question=said).text == reply
    assert ASKED == []


@pytest.mark.parametrize(
    "said",
    [
        "How many days?",
        "When is it open?",
        "What is A-17?",
        "Who is Ann?",
        "What is the fine?",
        "你好，年假多少天？",
        "晚上几点关门？",
        "怎么请假",
        "谁是校长？",
        "天气怎么样",
    ],
)
def test_what_names_something_is(said):
    assert names_something(said)
    assert run(GIVING_UP, "23 days.", question=said).text == "23 days."
    assert [said] == ASKED


def test_a_source_must_be_one():
    with pytest.raises(ToolDefinitionError, match="question in words"):
        tool(lambda: None, name="a", source="question")
    with pytest.raises(ToolDefinitionError, match="only reads"):

        @tool(source="text", effect="writes")
        def send(text: str) -> None:
            """Sends."""
