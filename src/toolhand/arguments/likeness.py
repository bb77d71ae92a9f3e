"""How much of what a user said calls take up: a sign of whether they are meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from toolhand.arguments.relations import nouns
from toolhand.core.messages import Message, ToolCall

_MESSAGES: Final = 3
"""The user's last message may only say what is different now ("and in Rome?"), so those shortly before count too."""


def words_taken(messages: Sequence[Message], calls: Iterable[ToolCall]) -> int:
    """How many different words of the user's last messages stand in calls' values; of Chinese, pairs of characters.

    Args:
        messages: what was said.
        calls: what the model asks for.
    """
    texts = [message.text for message in messages if message.is_said]
    given = " ".join(leaf for call in calls for leaf in _leaves(call.arguments))
    return len(nouns(" ".join(texts[-_MESSAGES:])) & nouns(given))


def _leaves(value: Any) -> Iterator[str]:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, Mapping):
            todo += item.values()
        elif isinstance(item, list | tuple):
            todo += item
        else:
            yield str(item)
