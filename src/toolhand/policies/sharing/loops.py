"""Sees that a run goes in circles, from its turns alone: for a loop that wants to end before its limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolhand.core.canonical import canonical
from toolhand.core.messages import ToolResult

_Turn = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class LoopDetector:
    """Compares turns by their calls, and by their results where these are given.

    The order of keys and of parallel calls makes no difference, nor does 1 or 1.0. With results, a turn that asks the same
    and is told something new is another turn: a program that polls goes round in no circle.

    Args:
        limit: how many equal rounds make a loop.
        longest: of how many turns a round may consist.
    """

    limit: int = 3
    longest: int = 4
    _turns: list[_Turn] = field(default_factory=list, init=False)
    _equal: dict[int, int] = field(default_factory=dict, init=False)
    """By the turns of a round: how many of the last turns are as the one so many before them."""

    def turn(
        self,
        calls: Iterable[tuple[str, Mapping[str, Any]]],
        results: Sequence[ToolResult] = (),
        *,
        limit: int | None = None,
    ) -> bool:
        """Takes note of a turn.

        Args:
            calls: name and arguments of its calls.
            results: what they gave, in the same order.
            limit: how many equal rounds are enough this time, at most as many as usual.

        Returns:
            Whether the last turns are `limit` equal rounds.
        """
        told = [_told(result) for result in results]
        asked = [
            (name, canonical(arguments) + (told[number] if number < len(told) else ""))
            for number, (name, arguments) in enumerate(calls)
        ]
        if not asked:
            self._turns, self._equal = [], {}
            return False
        turn, is_loop, rounds = tuple(sorted(asked)), False, min(limit or self.limit, self.limit)
        for length, before in enumerate(reversed(self._turns), 1):
            self._equal[length] = self._equal.get(length, 0) + 1 if turn == before else 0
            is_loop = is_loop or self._equal[length] >= length * (rounds - 1)
        self._turns = [*self._turns, turn][-self.longest :]
        return is_loop


def _told(result: ToolResult) -> str:
    # An error's words may count ("has failed 4 times"): its code is what stays the same.
    return f"\n!{result.error.code}" if result.error is not None else f"\n={canonical(result.data)}"
