"""`Window`: what one session's model is shown, kept from turn to turn."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

from toolhand.core.jsonable import result_text
from toolhand.core.language import Language
from toolhand.core.messages import Message, ToolResult
from toolhand.sessions.trimming.cutting import Bounds, Entry, Shorten, Size, by_rule, cut, entry_of
from toolhand.sessions.trimming.history import Summarise
from toolhand.sessions.trimming.summaries import is_long, told

LEAST_TOKENS = 200
"""However small a model's context is, so much of the history is asked for."""


class Window:
    """The part of a session that is shown. New messages are counted once; old ones are only looked at when it is cut.

    Args:
        language: of the words in short forms.
    """

    def __init__(self, language: Language = "en") -> None:
        self.language = language
        self.has_left_out = False
        """Whether something of the history is not shown."""
        self.cuts = 0
        """How often it was cut."""
        self._head: list[Message] = []
        self._entries: list[Entry] = []
        self._size = Size()
        self._told: dict[str, str] = {}

    @property
    def tokens(self) -> int:
        """About how many tokens the shown messages take."""
        return self._size.tokens

    def extend(self, messages: Iterable[Message]) -> None:
        """Takes in what was said since the last time."""
        for message in messages:
            if message.role == "system":
                self._head.append(message)
            else:
                entry = entry_of(message, self.language)
                self._entries.append(entry)
                self._size.add(entry)

    def begin(self, newest_first: Iterable[Message], bounds: Bounds, keep: float) -> None:
        """Starts in a session that was stored: takes whole exchanges from its end, as many as a cut would keep.

        Args:
            newest_first: the session's messages from its end, read only as far as needed.
            bounds: how much may be shown.
            keep: the part of it that a cut keeps.
        """
        target = bounds.part(keep)
        tail: list[Entry] = []
        whole, size = 0, Size()
        messages: Iterator[Message] = iter(newest_first)
        for message in messages:
            if message.role == "system":
                self._head.insert(0, message)
                continue
            entry = entry_of(message, self.language)
            tail.append(entry)
            size.add(entry)
            if whole and target.exceeded(size):
                self.has_left_out = True
                break
            if entry.is_opening:
                whole = len(tail)
        else:
            whole = len(tail)
        self._entries = tail[:whole][::-1]
        self._size = Size.of(self._entries)

    async def fit(self, bounds: Bounds, keep: float, summarise: Summarise | None = None) -> list[Message]:
        """What is shown now, cut first if it passes a bound.

        Args:
            bounds: how much may be shown.
            keep: the part of it that a cut keeps.
            summarise: makes short forms instead of the rule.
        """
        if bounds.exceeded(self._size):
            await self._cut(bounds, bounds.part(keep), summarise)
        return [*self._head, *(entry.message for entry in self._entries)]

    async def _cut(self, bounds: Bounds, target: Bounds, summarise: Summarise | None) -> None:
        shorten: Shorten = by_rule(self.language)
        if summarise is not None:
            await self._ask(summarise)
            rule = shorten

            def shorten(result: ToolResult) -> ToolResult:
                text = self._told.get(result.call_id)
                return rule(result) if text is None else told(result, text)

        kept = cut(self._entries, bounds, target, shorten, self.language)
        if len(kept) == len(self._entries) and all(
            one.message is other.message for one, other in zip(kept, self._entries, strict=True)
        ):
            return  # nothing of it can go
        self.has_left_out = self.has_left_out or len(kept) < len(self._entries)
        self.cuts += 1
        self._entries = kept
        self._size = Size.of(kept)
        self._told.clear()

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
