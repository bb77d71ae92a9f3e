"""How many of the user's words calls take up."""

from __future__ import annotations

import pytest

from toolhand.arguments.likeness import words_taken
from toolhand.core.messages import ToolCall, assistant, system, user


@pytest.mark.parametrize(
    ("said", "arguments", "taken"),
    [
        (["The weather in New York?"], {"city": "New York"}, 2),
        (["The weather in New York?"], {"city": "Paris"}, 0),
        (["Rooms for 2 from the 5th"], {"people": 2, "days": [{"from": "5"}]}, 2),
        (["上海明天的天气"], {"city": "上海"}, 1),
        (["The weather in Oslo?", "And in Rome?"], {"city": "Rome", "what": "weather"}, 2),
        (["Oslo", "a", "b", "c"], {"city": "Oslo"}, 0),
        (["Oslo"], {}, 0),
    ],
)
def test_words_of_the_last_messages_count_once_each(said, arguments, taken):
    messages = [system("New York, Paris, Rome"), *(user(text) for text in said), assistant("Paris")]
    assert words_taken(messages, [ToolCall(id="c", name="t", arguments=arguments)]) == taken
