from __future__ import annotations

import json

import pytest

from tests.arguments.rows import bound, parameter
from toolhand.arguments import bind, feedback
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import ToolCall
from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection

WEATHER = Tool(
    name="weather",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string", "examples": ["杭州"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city", "days"],
    },
)


def error(arguments, tool=WEATHER):
    outcome = bound(arguments, tool)
    assert isinstance(outcome, ToolError)
    return outcome


def example_in(text):
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


def test_says_field_type_value_and_gives_an_example_that_binds():
    said = feedback(error({"city": "大理", "days": "很多"}), WEATHER)
    assert "'days' must be integer (>= 1, <= 14)" in said
    assert '"很多"' in said
    assert not isinstance(bound(example_in(said), WEATHER), ToolError)


def test_the_example_comes_from_the_schema_and_holds_the_named_field():
    said = feedback(error({"city": "大理", "days": 2, "unit": "kelvin"}), WEATHER)
    assert example_in(said) == {"city": "杭州", "days": 3, "unit": "celsius"}
    assert 'one of "celsius", "fahrenheit"' in said


def test_all_that_is_missing_is_named_at_once():
    said = feedback(error({}), WEATHER)
    assert said.index("'city'") < said.index("'days'")
    assert said.count("missing") == 2


def test_in_chinese_the_type_words_stay():
    said = feedback(error({"days": "很多"}), WEATHER, "zh")
    assert "缺少必填参数“city”（应为 " in said
    assert "missing" not in said
    assert "参数“days”应为 integer" in said
    assert '"很多"' in said
    assert "must be" not in said


def test_in_chinese_the_allowed_values_are_listed():
    said = feedback(error({"city": "a", "days": 1, "unit": "kelvin"}), WEATHER, "zh")
    assert '以下值之一："celsius", "fahrenheit"' in said
    assert "one of" not in said


def test_the_language_of_the_error_does_not_bind_the_feedback():
    in_english = error({"days": 1})
    assert "missing." in in_english.message
    assert "缺少必填参数" in feedback(in_english, WEATHER, "zh")


def test_unknown_tool_in_both_languages():
    tools = ToolCollection([WEATHER, Tool(name="stock")])
    outcome = bind(ToolCall(id="1", name="wether_forecast"), tools)
    assert isinstance(outcome, ToolError)
    assert "Did you mean weather?" in feedback(outcome)
    assert "没有名为“wether_forecast”的工具" in feedback(outcome, None, "zh")
    assert "stock" in feedback(outcome, None, "zh")


def test_of_many_tools_the_nearest_are_named():
    tools = ToolCollection(Tool(name=f"tool_{number:03d}") for number in range(300))
    outcome = bind(ToolCall(id="1", name="tool_29"), tools)
    assert isinstance(outcome, ToolError)
    assert len(outcome.details["available"]) == 20
    assert outcome.details["available"][0] == "tool_029"
    assert "300" in outcome.message


def test_several_errors_are_told_together_and_once():
    one, other = error({"days": 1}), error({"city": "a", "days": "x"})
    said = feedback([one, other, one], WEATHER)
    assert said.count("'city'") == 1
    assert "'days'" in said


def test_any_other_error_is_told_in_its_own_words():
    plain = ToolError(code=ErrorCode.TIMEOUT, message="It took too long.", hint="Ask for less.")
    assert feedback(plain) == "It took too long. Ask for less."


@pytest.mark.parametrize("name", ["password", "api_key", "access_token", "密码", "client_secret"])
def test_secrets_are_not_said_back(name):
    outcome = error({name: 5}, parameter(name, {"type": "string", "pattern": "^never$"}))
    for text in (feedback(outcome), outcome.sentence, str(outcome.details)):
        assert '"5"' not in text
        assert "***" in text


def test_a_count_of_tokens_is_no_secret():
    outcome = error({"max_tokens": "many"}, parameter("max_tokens", {"type": "integer"}))
    assert '"many"' in outcome.message


@pytest.mark.parametrize(
    "secret",
    [
        "sk-abcdef0123456789abcd",
        "ghp_" + "a1" * 18,
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxIn0",
    ],
)
def test_values_that_look_like_keys_are_masked_everywhere(secret):
    outcome = error({"days": f"key {secret}", "city": {"auth": {"password": secret}}})
    assert secret not in str(outcome)
    assert secret not in feedback(outcome, WEATHER)


def test_what_was_sent_is_shortened():
    outcome = error({"city": "a", "days": "x" * 5000})
    assert len(outcome.message) < 400
    assert "…" in outcome.message


def test_a_lone_surrogate_does_not_break_the_words():
    feedback(error({"city": "a", "days": "\ud800"}), WEATHER).encode()


def test_details_are_plain_json():
    outcome = error({"city": 1.5j, "days": {1, 2}})
    json.dumps(outcome.details)
    assert [field["path"] for field in outcome.details["fields"]] == ["$.city", "$.days"]
    assert all({"name", "expected", "trouble"} <= field.keys() for field in outcome.details["fields"])
