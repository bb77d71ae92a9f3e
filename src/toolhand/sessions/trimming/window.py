"""`Window`: what one session's model is shown, kept from turn to turn."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from toolhand.core.jsonable import result_text
from toolhand.core.language import Language
from toolhand.core.messages import Message, ToolResult
from toolhand.core.tokens import message_tokens, most_tokens
from toolhand.sessions.trimming.cutting import (
    Bounds,
    Entry,
    Shorten,
    Size,
    by_rule,
    cut,
    entry_of,
    with_results,
)
from toolhand.sessions.trimming.history import Summarise
from toolhand.sessions.trimming.summaries import is_long, told

MOST_RATIO: Final = 2.5
"""The most tokens that a model's server is taken to count for one that is estimated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Where a history was cut: with it another process shows the same, and a server's prompt cache stays of use.

    Args:
        start: the place of the first message that is shown, from 0.
        gap_start: the place of the first message that is left out behind the opening of an exchange.
        gap_end: the place behind the last of them; equal to `gap_start` where there is no gap.
        short_until: the place before which results are in their short form.
    """

    start: int = 0
    gap_start: int = 0
    gap_end: int = 0
    short_until: int = 0

    def to_json(self) -> list[int]:
        """The view as it is kept."""
        return [self.start, self.gap_start, self.gap_end, self.short_until]

    @classmethod
    def from_json(cls, kept: Any) -> View | None:
        """The view of what was kept; None where that is nothing, or of another version."""
        if not isinstance(kept, list) or len(kept) != 4 or not all(isinstance(n, int) for n in kept):
            return None
        return cls(start=kept[0], gap_start=kept[1], gap_end=kept[2], short_until=kept[3])

    def fits(self, count: int) -> bool:
        """Whether it can be of a history of so many messages."""
        return 0 <= self.start < count and self.gap_end <= count


class Window:
    """The part of a session that is shown. New messages are counted once; old ones are only looked at when it is cut.

    The system's messages are not its business: they are always shown.

    Args:
        language: of the words in short forms.
    """

    def __init__(self, language: Language = "en") -> None:
        self.language = language
        self.view = View()
        """Where it is cut."""
        self.seen = 0
        """How many of the session's messages it has taken in."""
        self.cuts = 0
        """How often it was cut."""
        self.last_cut = 0
        """How many messages the last cut left out."""
        self.has_left_out = False
        """Whether something of the history is not shown."""
        self.factor = 1.0
        """How many tokens the model's server counts for one that is estimated."""
        self.most_tokens: int | None = None
        """The most that may be shown since the model refused more, in estimated tokens."""
        self._lead = 0  # how many system messages the history begins with
        self._messages: list[Message] = []  # that are shown
        self._entries: list[Entry] = []  # the first of them, counted
        self._size = Size()  # theirs
        self._uncounted: list[tuple[int, Message]] = []  # the others, with their places
        self._most = 0  # the most tokens that those can have
        self._told: dict[str, str] = {}

    @property
    def tokens(self) -> int:
        """About how many tokens the shown messages take."""
        self._count()
        return self._size.tokens

    @property
    def is_counted(self) -> bool:
        """Whether the tokens of what is shown have been estimated, as they are once they may come near a bound."""
        return not self._uncounted

    def correct(self, ratio: float) -> None:
        """Brings the factor nearer to what a server counted.

        Args:
            ratio: tokens counted for one that was estimated.
        """
        self.factor = (self.factor + min(MOST_RATIO, max(0.5, ratio))) / 2

    def extend(self, messages: Iterable[Message]) -> None:
        """Takes in what was said since the last time."""
        for message in messages:
            if message.role != "system":
                self._messages.append(message)
                self._uncounted.append((self.seen, message))
                self._most += message_tokens(message, self.language, most_tokens)
            elif self.seen == self._lead:
                self._lead += 1
            self.seen += 1

    def _count(self) -> None:
        """Estimates what has not been estimated yet."""
        for place, message in self._uncounted:
            entry = entry_of(message, self.language, place)
            self._entries.append(entry)
            self._size.add(entry)
        self._uncounted, self._most = [], 0

    def begin(self, newest_first: Iterable[Message], count: int, bounds: Bounds, keep: float) -> None:
        """Starts in a session that was stored: takes whole exchanges from its end, as many as a cut would keep.

        Args:
            newest_first: the session's messages from its end, read only as far as needed.
            count: how many messages it has.
            bounds: how much may be shown.
            keep: the part of it that a cut keeps.
        """
        target = bounds.part(keep)
        tail: list[Entry] = []
        whole, size = 0, Size()
        for place, message in zip(range(count - 1, -1, -1), newest_first, strict=False):
            if message.role == "system":
                self._lead += 1
                continue
            entry = entry_of(message, self.language, place)
            tail.append(entry)
            size.add(entry)
            if whole and target.exceeded(size):
                break
            if entry.is_opening:
                whole = len(tail)
        else:
            whole = len(tail)
        self._take(tail[:whole][::-1], count)

    def restore(self, view: View, since_start: Iterable[Message]) -> None:
        """Starts in a session that was stored, where it was cut before.

        Args:
            view: where.
            since_start: the session's messages from `view.start` on.
        """
        entries: list[Entry] = []
        count = view.start
        for message in since_start:
            place, count = count, count + 1
            if message.role == "system":
                self._lead += place == self._lead
            elif not view.gap_start <= place < view.gap_end:
                entry = entry_of(message, self.language, place)
                if place < view.short_until and any(map(is_long, message.results)):
                    entry = with_results(entry, by_rule(self.language), self.language)
                entries.append(entry)
        self._take(entries, count)

    def _take(self, entries: list[Entry], seen: int) -> None:
        self._entries, self.seen = entries, seen
        self._messages = [entry.message for entry in entries]
        self._size, self._uncounted, self._most = Size.of(entries), [], 0
        self.view = view = self._view()
        self.has_left_out = view.start > 0 or view.gap_end > view.gap_start

    def _view(self) -> View:
        """Where the entries are cut."""
        places = [entry.place for entry in self._entries]
        if not places:
            return self.view
        gap = next((i for i in range(1, len(places)) if places[i] - places[i - 1] > 1), None)
        short = [entry.place for entry in self._entries if entry.is_short]
        return View(
            start=0 if places[0] == self._lead else places[0],
            gap_start=0 if gap is None else places[gap - 1] + 1,
            gap_end=0 if gap is None else places[gap],
            short_until=short[-1] + 1 if short else 0,
        )

    async def fit(self, bounds: Bounds, keep: float, summarise: Summarise | None = None) -> list[Message]:
        """What is shown now, cut first if it passes a bound.

        Args:
            bounds: how much may be shown.
            keep: the part of it that a cut keeps.
            summarise: makes short forms instead of the rule.
        """
        if not bounds.is_far(self._size.tokens + self._most * MOST_RATIO):
            self._count()
            if bounds.exceeded(self._size):
                await self._cut(bounds, bounds.part(keep), summarise)
        return self._messages.copy()

    async def _cut(self, bounds: Bounds, target: Bounds, summarise: Summarise | None) -> None:
        shorten: Shorten = by_rule(self.language)
        if summarise is not None:
            await self._ask(summarise)
            rule = shorten

            def shorten(result: ToolResult) -> ToolResult:
                text = self._told.get(result.call_id)
                return rule(result) if text is None else told(result, text)

        kept = cut(self._entries, bounds, target, shorten, self.language)
        self._told.clear()
        if len(kept) == len(self._entries) and all(
            one is other for one, other in zip(kept, self._entries, strict=True)
        ):
            return  # nothing of it can go
        self.cuts += 1
        self.last_cut = len(self._entries) - len(kept)
        self._take(kept, self.seen)

    async def _ask(self, summarise: Summarise) -> None:
        """Has the long results told in short, but for those of the last step."""
        last = max((i for i, entry in enumerate(self._entries) if entry.turns), default=0)
        for entry in self._entries[:last]:
            for result in () if entry.is_short else filter(is_long, entry.message.results):
                try:
                    text = summarise(result_text(result, self.language))
                    self._told[result.call_id] = str(await text if inspect.isawaitable(text) else text)
                except Exception:  # noqa: BLE001 - a summary that cannot be had must not end the run; the rule is there
                    return
