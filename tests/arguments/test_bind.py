from __future__ import annotations

import threading
from types import MappingProxyType

from tests.arguments.rows import bound, parameter
from toolhand.arguments import BindSettings, bind, bind_arguments
from toolhand.arguments.costs import COSTS, DEAR
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import Fix, ToolCall
from toolhand.core.tools import EMPTY_PARAMETERS, Rules, Tool
from toolhand.tools.collection import ToolCollection

PAY = Tool(
    name="pay",
    parameters={
        "type": "object",
        "properties": {
            "to": {"type": "string"},
            "amount": {"type": "number"},
            "dry_run": {"type": "boolean"},
        },
        "required": ["to", "amount"],
    },
    rules=Rules(effect="writes"),
)
TOOLS = ToolCollection([PAY])


def test_a_right_call_is_passed_on_as_it_is():
    call = ToolCall(id="c1", name="pay", arguments={"to": "Ann", "amount": 5})
    outcome = bind(call, TOOLS)
    assert not isinstance(outcome, ToolError)
    assert outcome.call is call
    assert outcome.tool is PAY


def test_fixes_are_added_to_those_of_reading():
    read = Fix(kind="single_quotes")
    call = ToolCall(id="c1", name="Pay", arguments={"to": "Ann", "amount": "5"}, fixes=(read,))
    outcome = bind(call, TOOLS)
    assert not isinstance(outcome, ToolError)
    assert [fix.kind for fix in outcome.call.fixes] == [
        "single_quotes",
        "tool_name_spelling",
        "string_to_number",
    ]
    assert outcome.call.id == "c1"
    assert outcome.call.cost == 3


def test_a_fix_says_where_what_and_into_what():
    outcome = bound({"to": "Ann", "amount": "两千"}, PAY)
    assert not isinstance(outcome, ToolError)
    (fix,) = outcome.call.fixes
    assert (fix.path, fix.before, fix.after, fix.cost) == ("$.amount", "两千", 2000, COSTS["spoken_number"])


def test_what_was_sent_is_never_changed():
    sent = {"to": "Ann", "amount": "5", "extra": [1]}
    bound(sent, PAY)
    assert sent == {"to": "Ann", "amount": "5", "extra": [1]}


def test_a_call_that_could_not_be_read_keeps_its_problem():
    problem = ToolError(code=ErrorCode.TRUNCATED, message="It was cut.")
    assert bind(ToolCall(id="1", name="pay", problem=problem), TOOLS) is problem


def test_a_misspelt_safeguard_of_a_writing_tool_is_not_left_out():
    outcome = bound({"to": "Ann", "amount": 5, "dry_rnu": True}, PAY)
    assert isinstance(outcome, ToolError)
    assert "dry_rnu" in outcome.message
    assert "dry_run" in outcome.message


def test_read_only_mappings_are_taken():
    outcome = bound(MappingProxyType({"to": "Ann", "amount": 5}), PAY)
    assert not isinstance(outcome, ToolError)
    assert outcome.call.arguments == {"to": "Ann", "amount": 5}


def test_a_tool_without_parameters_takes_the_default_arguments():
    ping = Tool(name="ping", parameters=EMPTY_PARAMETERS)
    outcome = bind(ToolCall(id="1", name="ping"), ToolCollection([ping]))
    assert not isinstance(outcome, ToolError)
    assert dict(outcome.call.arguments) == {}


def test_arguments_alone():
    arguments, fixes = bind_arguments({"TO": "Ann", "amount": 5}, PAY)
    assert arguments == {"to": "Ann", "amount": 5}
    assert [fix.kind for fix in fixes] == ["key_spelling"]
    refused, none = bind_arguments({}, PAY, settings=BindSettings(language="zh"))
    assert isinstance(refused, ToolError)
    assert "缺少" in refused.message
    assert none == ()


def test_two_tools_with_one_schema_and_other_aliases_do_not_mix():
    parameters = parameter("city", {"type": "string"}).parameters
    one = Tool(name="errand", parameters=parameters, aliases={"stadt": "city"})
    other = Tool(
        name="errand", parameters=parameters, aliases={"ville": "city"}, rules=Rules(effect="writes")
    )
    for tool, key in ((one, "stadt"), (other, "ville"), (one, "STADT"), (other, "Ville")):
        outcome = bound({key: "Bern"}, tool)
        assert not isinstance(outcome, ToolError), key
        assert outcome.call.arguments == {"city": "Bern"}
    assert isinstance(bound({"stadt": "Bern"}, other), ToolError)


def test_dear_liberties_are_those_a_person_would_ask_about():
    assert {kind for kind, cost in COSTS.items() if cost >= DEAR} == {
        "near_tool_name",
        "near_enum",
    }


def test_what_is_injected_is_not_taken_from_a_model():
    parameters = {**PAY.parameters, "additionalProperties": True}
    tool = Tool(name="errand", parameters=parameters, injected={"user": "user_id"})
    for settings in (BindSettings(), BindSettings(extra="keep"), BindSettings(extra="refuse")):
        outcome = bound({"to": "Ann", "amount": 5, "user": "root"}, tool, settings)
        assert not isinstance(outcome, ToolError)
        assert outcome.call.arguments == {"to": "Ann", "amount": 5}
        assert [fix.path for fix in outcome.call.fixes] == ["$.user"]


def test_many_threads_may_bind_at_once():
    faults = []

    def work(number: int) -> None:
        tool = parameter(f"n{number}", {"type": "integer"})
        for _ in range(50):
            outcome = bound({f"n{number}": "7"}, tool)
            if isinstance(outcome, ToolError) or outcome.call.arguments != {f"n{number}": 7}:
                faults.append(outcome)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
