"""`History`: how much of a conversation a model is shown, as a user says it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

Summarise: TypeAlias = Callable[[str], str | Awaitable[str]]
"""Makes a short text of a tool result's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """How much of a conversation a model is shown. The newest user message is always shown, and so are system messages.

    When a bound is passed, what is shown is cut down to a part of it, so that many turns pass until the next cut and a server's
    prompt cache stays of use. Results of older exchanges are shortened first, then whole oldest exchanges go. A call and its
    results stay or go together.

    Args:
        turns: the most model replies that are shown, or None for no bound.
        messages: the most messages besides the system's, each result counted as one, or None for no bound.
        tokens: the most tokens of the messages; None for what the model's context leaves beside tools and reply.
        keep: the part of a bound that is kept at a cut, above 0 and at most 1.
        summarise: makes the short text of an old tool result instead of the built-in rule, such as a function that asks a
            model. It may be async. What it raises is passed over: the rule takes its place.

    Raises:
        SettingsError: when a bound is not at least 1, or `keep` is not a part.
    """

    turns: int | None = None
    messages: int | None = None
    tokens: int | None = None
    keep: float = 0.6
    summarise: Summarise | None = None

    def __post_init__(self) -> None:
        for name in ("turns", "messages", "tokens"):
            bound = getattr(self, name)
            if bound is not None and (not isinstance(bound, int) or isinstance(bound, bool) or bound < 1):
                raise SettingsError(
                    say(
                        f"History({name}=…) is a whole number of at least 1, not {bound!r}",
                        f"History({name}=…) 应是至少为 1 的整数，不能是 {bound!r}",
                    )
                )
        if not 0 < self.keep <= 1:
            raise SettingsError(
                say(
                    f"History(keep=…) is a part of the bound, above 0 and at most 1, not {self.keep!r}",
                    f"History(keep=…) 应是上限的一部分，大于 0 且不超过 1，不能是 {self.keep!r}",
                )
            )
