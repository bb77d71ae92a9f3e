"""The loaded end of a history, and the whole of it as a sequence that loads what is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from toolhand.core.messages import Message


@dataclass(slots=True, eq=False)
class Tail:
    """The end of a history that is in memory.

    Args:
        messages: the loaded messages, the newest last; a list of its own.
        offset: how many older ones are not loaded.
        first_seq: the number of the first loaded entry; older ones are before it.
        load: loads older messages in front, blocking; None where there are none.
    """

    messages: list[Message] = field(default_factory=list)
    offset: int = 0
    first_seq: int = 1
    load: Callable[[Tail], None] | None = None

    def __len__(self) -> int:
        return self.offset + len(self.messages)

    def extend_front(self, messages: Sequence[Message], first_seq: int) -> None:
        """Takes older messages in."""
        self.messages[:0] = messages
        self.offset -= len(messages)
        self.first_seq = first_seq

    def cut(self, length: int) -> Tail:
        """The same without what comes after so many messages; this one stays as it is."""
        kept = self.messages[: max(0, length - self.offset)]
        return Tail(kept, offset=min(self.offset, length), first_seq=self.first_seq, load=self.load)


class Messages(Sequence[Message]):
    """A history's messages as they were at one moment. Older ones are read from the store when they are looked at.

    Args:
        tail: the loaded end.
        length: how many messages there were.
    """

    __slots__ = ("_length", "_tail")

    def __init__(self, tail: Tail, length: int | None = None) -> None:
        self._tail = tail
        self._length = tail.offset + len(tail.messages) if length is None else length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...

    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            places = range(self._length)[index]
            if not places:
                return ()
            self._load(min(places[0], places[-1]))
            return tuple(self._tail.messages[place - self._tail.offset] for place in places)
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError("there is no message of that number")
        self._load(place)
        return self._tail.messages[place - self._tail.offset]

    def __iter__(self) -> Iterator[Message]:
        return iter(self[:])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and tuple(self) == tuple(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"Messages({list(self[-3:])!r})" if self._length <= 3 else f"Messages(… {self._length} of them)"
        )

    def _load(self, place: int) -> None:
        while place < self._tail.offset and self._tail.load is not None:
            before = self._tail.offset
            self._tail.load(self._tail)
            if self._tail.offset >= before:  # the store has lost them: nothing more comes
                break
