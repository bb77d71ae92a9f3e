"""What is wrong with a history in a way that nobody can mend without a guess."""

from __future__ import annotations

from toolhand.core.errors import SettingsError
from toolhand.core.language import say


class HistoryError(SettingsError):
    """A history that was given cannot be used.

    Args:
        code: what is wrong: "ambiguous_tool_result" (a result could belong to several calls), "not_a_message",
            "unknown_role".
        place: the number of the message in the list, from 0.
        message: one sentence.
    """

    def __init__(self, code: str, place: int, message: str) -> None:
        super().__init__(
            say(f"message {place} of the history: {message}", f"历史中的消息 {place}：{message}")
        )
        self.code = code
        self.place = place
