"""Which result belongs to which call, where ids are missing, repeated or of nothing: only what can be told without a guess."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeAlias

from toolhand.core.canonical import canonical
from toolhand.core.history_events import Repair
from toolhand.core.language import say
from toolhand.core.messages import ToolCall, ToolResult
from toolhand.sessions.healing.problems import HistoryError


@dataclass(slots=True, eq=False)
class Open:
    """A call that is to be paired.

    Args:
        call: the call, its id as given.
        place: where it stands.
        result: its result, once that is known.
        result_place: where that stood.
    """

    call: ToolCall
    place: int
    result: ToolResult | None = None
    result_place: int = -1

    def take(self, result: ToolResult, place: int) -> None:
        """Pairs it."""
        self.result, self.result_place = result, place


@dataclass(slots=True, eq=False)
class Asking:
    """A reply with its calls, and the results behind it that do not say whose they are."""

    calls: list[Open]
    unclear: list[tuple[ToolResult, int]] = field(default_factory=list)


Key: TypeAlias = "tuple[str, ...] | None"

# What says most comes first: id and name, id, name, an id of no call for a call without one, nothing at all. For each a key of
# a result, None where it is not of that kind, and the keys of a call.
_KINDS: Final[tuple[tuple[Callable[[ToolResult, bool], Key], Callable[[ToolCall], list[Key]]], ...]] = (
    (
        lambda result, _: (result.call_id, result.name) if result.call_id and result.name else None,
        lambda call: [(call.id, call.name)],
    ),
    (
        lambda result, _: (result.call_id,) if result.call_id and not result.name else None,
        lambda call: [(call.id,)],
    ),
    (
        lambda result, _: (result.name,) if result.name and not result.call_id else None,
        lambda call: [(call.name,)],
    ),
    (
        lambda result, is_known: (result.name,) if result.call_id and not is_known else None,
        lambda call: [] if call.id else [(call.name,), ("",)],
    ),
    (lambda result, _: None if result.call_id or result.name else (), lambda _: [()]),
)


class Pairing:
    """Finds each result's call, in a time in proportion to their number.

    Args:
        askings: the replies with calls, in order.
        repairs: takes down what was dropped.
    """

    def __init__(self, askings: Sequence[Asking], repairs: list[Repair]) -> None:
        self._askings = askings
        self._repairs = repairs
        self._by_id: dict[str, list[Open]] = defaultdict(list)
        self._numbers: dict[str, list[int]] = defaultdict(list)
        for number, asking in enumerate(askings):
            for opened in asking.calls:
                if opened.call.id:
                    self._by_id[opened.call.id].append(opened)
                    self._numbers[opened.call.id].append(number)
        self._early: dict[str, list[tuple[ToolResult, int]]] = defaultdict(list)

    def add(self, result: ToolResult, place: int, behind: int) -> None:
        """Takes a result in.

        Args:
            result: the result.
            place: where it stands.
            behind: the number of the last reply with calls before it, or -1.
        """
        same = self._by_id.get(result.call_id, ()) if result.call_id else ()
        if len(same) == 1:
            self._give(same[0], result, place)
        elif same:
            self._among(result, place, behind)
        elif behind < 0:
            self._drop("orphan_result_dropped", place, result)
        else:
            self._askings[behind].unclear.append((result, place))

    def _among(self, result: ToolResult, place: int, behind: int) -> None:
        """Several calls have the result's id: it belongs to the last reply before it that has it."""
        numbers = self._numbers[result.call_id]
        last = bisect_right(numbers, behind) - 1
        if last < 0:
            self._early[result.call_id].append((result, place))
        elif last and numbers[last - 1] == numbers[last]:  # twice in that reply
            self._askings[numbers[last]].unclear.append((result, place))
        else:
            self._give(self._by_id[result.call_id][last], result, place)

    def finish(self) -> None:
        """Pairs what could not be paired before all was seen.

        Raises:
            HistoryError: when a result could belong to several calls.
        """
        for asking in self._askings:
            self._settle(asking)
        for call_id, results in self._early.items():
            waiting = [opened for opened in self._by_id[call_id] if opened.result is None]
            if len(waiting) > 1:
                _ambiguous(results[0][1], waiting)
            if waiting:
                waiting[0].take(*results.pop(0))
            for result, place in results:
                self._drop("duplicate_result_dropped", place, result)

    def _settle(self, asking: Asking) -> None:
        for key_of, keys_of in _KINDS:
            if not asking.unclear:
                return
            open_by_key: dict[Key, list[Open]] = defaultdict(list)
            for opened in asking.calls:
                for key in keys_of(opened.call):
                    open_by_key[key].append(opened)
            groups: dict[Key, list[tuple[ToolResult, int]]] = defaultdict(list)
            left = []
            for result, place in asking.unclear:
                key = key_of(result, result.call_id in self._by_id)
                if key is not None and key in open_by_key:
                    groups[key].append((result, place))
                else:
                    left.append((result, place))
            asking.unclear = left
            for key, results in groups.items():
                self._match(results, [opened for opened in open_by_key[key] if opened.result is None])
        for result, place in asking.unclear:
            self._drop("orphan_result_dropped", place, result)
        asking.unclear = []

    def _match(self, results: list[tuple[ToolResult, int]], waiting: list[Open]) -> None:
        """Gives results to calls of which any may be meant, if it makes no difference which."""
        if not waiting:
            for result, place in results:
                self._drop("duplicate_result_dropped", place, result)
            return
        is_one_way = len(results) == len(waiting) and (
            len(results) == 1
            or _are_equal(result.outcome for result, _ in results)
            or _are_equal((o.call.name, canonical(o.call.arguments)) for o in waiting)
        )
        if not is_one_way:
            _ambiguous(results[0][1], waiting)
        for opened, (result, place) in zip(waiting, results, strict=True):
            opened.take(result, place)

    def _give(self, opened: Open, result: ToolResult, place: int) -> None:
        if opened.result is None:
            opened.take(result, place)
        else:
            self._drop("duplicate_result_dropped", place, result)

    def _drop(self, kind: str, place: int, result: ToolResult) -> None:
        self._repairs.append(Repair(kind=kind, place=place, call_id=result.call_id))


def _are_equal(values: Iterable[Any]) -> bool:
    first, *others = values
    return all(other == first for other in others)


def _ambiguous(place: int, waiting: Sequence[Open]) -> NoReturn:
    names = ", ".join(dict.fromkeys(opened.call.name or "?" for opened in waiting))
    raise HistoryError(
        "ambiguous_tool_result",
        place,
        say(
            f"this tool result could belong to any of {len(waiting)} calls ({names}): give it the id of its call",
            f"这个工具结果可能属于 {len(waiting)} 个调用（{names}）中的任意一个：请写上它所属调用的 id",
        ),
    )
