"""The rules of trimming, as pure functions: what is shortened, what goes, and what always stays.

An exchange is a user's message and all that follows until the next one; a step is a reply with its results. Exchanges and steps
stay or go whole, so a call is never parted from its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from toolhand.core.errors import SettingsError
from toolhand.core.jsonable import result_text
from toolhand.core.language import Language, say
from toolhand.core.messages import Message, ToolResult
from toolhand.core.tokens import message_tokens
from toolhand.sessions.trimming.history import History
from toolhand.sessions.trimming.summaries import SHORT, is_long, shortened

Shorten: TypeAlias = Callable[[ToolResult], ToolResult]

_SPARE: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A message with what it takes.

    Args:
        message: as it is shown.
        tokens: about how many it takes.
        messages: how many it is on a wire: each result is one.
        turns: 1 for a model's reply, else 0.
        is_short: whether its results are in their short form.
        place: where it stands in the whole history, from 0.
    """

    message: Message
    tokens: int
    messages: int = 1
    turns: int = 0
    is_short: bool = False
    place: int = 0

    @property
    def is_opening(self) -> bool:
        """Whether it is something that a user said, and not a note of the program's."""
        return self.message.is_said


def entry_of(message: Message, language: Language = "en", place: int = 0) -> Entry:
    """A message with what it takes."""
    return Entry(
        place=place,
        message=message,
        tokens=message_tokens(message, language),
        messages=sum(isinstance(part, ToolResult) for part in message.parts) or 1,
        turns=int(message.role == "assistant"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much may be shown; None for no bound."""

    turns: int | None = None
    messages: int | None = None
    tokens: int | None = None

    def exceeded(self, size: Size) -> bool:
        """Whether something is too large."""
        return (
            (self.tokens is not None and size.tokens > self.tokens)
            or (self.turns is not None and size.turns > self.turns)
            or (self.messages is not None and size.messages > self.messages)
        )

    def is_far(self, tokens: float) -> bool:
        """Whether nothing but tokens is bounded, and what has no more than so many is within the bound."""
        return self.turns is None and self.messages is None and (self.tokens is None or tokens <= self.tokens)

    def part(self, keep: float) -> Bounds:
        """The same part of each."""
        return Bounds(
            turns=None if self.turns is None else max(1, int(self.turns * keep)),
            messages=None if self.messages is None else max(1, int(self.messages * keep)),
            tokens=None if self.tokens is None else max(1, int(self.tokens * keep)),
        )


@dataclass(slots=True)
class Size:
    """How much entries take together."""

    tokens: int = 0
    messages: int = 0
    turns: int = 0

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Size:
        """The sum over some entries."""
        size = cls()
        for entry in entries:
            size.add(entry)
        return size

    def add(self, entry: Entry, sign: int = 1) -> None:
        """Counts an entry in, or out with -1."""
        self.tokens += sign * entry.tokens
        self.messages += sign * entry.messages
        self.turns += sign * entry.turns


def trim(
    messages: Sequence[Message],
    history: History,
    *,
    language: Language = "en",
    shorten: Shorten | None = None,
) -> list[Message]:
    """What a model is shown of a whole history. Messages that are shown as they were are the same objects.

    Args:
        messages: a valid history: every call with its result right behind it.
        history: the bounds. Where one is passed, `history.keep` of it is what is kept.
        language: of the words in a short form.
        shorten: makes the short form of a result, instead of the rule.

    Raises:
        SettingsError: when `history.summarise` is given, which only a running agent can ask.
    """
    if history.summarise is not None and shorten is None:
        raise SettingsError(
            say(
                "trim() shortens by rule or by `shorten`: `summarise` belongs to an agent",
                "trim() 按规则或用 `shorten` 缩短：`summarise` 只用于智能体",
            )
        )
    head = [message for message in messages if message.role == "system"]
    entries = [entry_of(message, language) for message in messages if message.role != "system"]
    bounds = Bounds(turns=history.turns, messages=history.messages, tokens=history.tokens)
    if bounds.exceeded(Size.of(entries)):
        entries = cut(entries, bounds, bounds.part(history.keep), shorten or by_rule(language), language)
    return [*head, *(entry.message for entry in entries)]


def by_rule(language: Language) -> Shorten:
    """The built-in short form, in a language."""
    return lambda result: shortened(result, language)


def cut(
    entries: Sequence[Entry], bounds: Bounds, target: Bounds, shorten: Shorten, language: Language
) -> list[Entry]:
    """Entries cut down to a target; what must stay may still exceed it.

    Args:
        entries: what is shown so far, without the system's messages.
        bounds: what must be kept to where that is possible at all.
        target: what is cut down to.
        shorten: makes a result's short form.
        language: of the words in it.
    """
    kept = list(entries)
    size = Size.of(kept)
    starts = [index for index, entry in enumerate(kept) if entry.is_opening]
    newest = starts[-1] if starts else 0
    if _has_too_many_tokens(size, target):
        _shorten(kept, range(newest), size, target, shorten=shorten, language=language)
    start = 0
    for end in starts[1:] if starts[:1] == [0] else starts:  # what stands before the first opening goes first
        if not target.exceeded(size):
            break
        for entry in kept[start:end]:
            size.add(entry, -1)
        start = end
    kept = kept[start:]
    if target.exceeded(size):
        kept = _cut_exchange(kept, size, bounds, target, shorten=shorten, language=language)
    return kept


def _has_too_many_tokens(size: Size, target: Bounds) -> bool:
    return target.tokens is not None and size.tokens > target.tokens


def _shorten(
    entries: list[Entry],
    places: Iterable[int],
    size: Size,
    target: Bounds,
    *,
    shorten: Shorten,
    language: Language,
) -> None:
    """Puts the short form of results in their place, oldest first, until the tokens fit."""
    for index in places:
        if not _has_too_many_tokens(size, target):
            return
        entry = entries[index]
        if entry.is_short or not any(map(is_long, entry.message.results)):
            continue
        entries[index] = short = with_results(entry, shorten, language)
        size.add(entry, -1)
        size.add(short)


def with_results(entry: Entry, change: Shorten, language: Language) -> Entry:
    """An entry with its long results in short."""
    parts = tuple(
        change(part) if isinstance(part, ToolResult) and is_long(part) else part
        for part in entry.message.parts
    )
    message = replace(entry.message, parts=parts)
    return replace(entry, message=message, tokens=message_tokens(message, language), is_short=True)


def _cut_exchange(
    entries: list[Entry],
    size: Size,
    bounds: Bounds,
    target: Bounds,
    *,
    shorten: Shorten,
    language: Language,
) -> list[Entry]:
    """The newest exchange alone is too much: its older results are shortened, then its oldest steps go.

    Its opening stays, and so does its last step, whose results no model has seen yet.
    """
    steps = [index for index, entry in enumerate(entries) if entry.message.role == "assistant"]
    if not steps:
        return entries
    opening, last = entries[: steps[0]], steps[-1]
    _shorten(entries, range(last), size, target, shorten=shorten, language=language)
    start = steps[0]
    for end in steps[1:]:
        if not target.exceeded(size):
            break
        for entry in entries[start:end]:
            size.add(entry, -1)
        start = end
    kept = [*opening, *entries[start:]]
    if bounds.tokens is not None and size.tokens > bounds.tokens:
        _squeeze(kept, size, bounds.tokens, language)
    return kept


def _squeeze(entries: list[Entry], size: Size, most_tokens: int, language: Language) -> None:
    """Even the last step is too much for the model: its long results share what room there is."""
    places = [index for index, entry in enumerate(entries) if any(map(is_long, entry.message.results))]
    taken = sum(entries[index].tokens for index in places)
    share = (taken - (size.tokens - most_tokens)) / max(1, taken) * _SPARE

    def squeezed(result: ToolResult) -> ToolResult:
        return shortened(result, language, most_characters=max(SHORT, int(len(result_text(result)) * share)))

    for index in places:
        entries[index] = with_results(entries[index], squeezed, language)
