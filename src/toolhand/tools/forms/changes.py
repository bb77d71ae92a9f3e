"""What a form changed in a tool's parameters, and the way back: from arguments as a provider sends them to the tool's own.

A change never raises and never loses a value: what it does not know it hands on, and binding judges it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Change(Protocol):
    """One change of a value between a tool and a provider."""

    def undo(self, value: Any) -> Any:
        """The tool's own value."""
        ...

    def redo(self, value: Any) -> Any:
        """The provider's value."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """What became of one member of an object.

    Args:
        own: its own name.
        wire: its name at the provider.
        change: of its value, or None.
        drops_null: whether null stands for "left out".
    """

    own: str
    wire: str
    change: Change | None = None
    drops_null: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether nothing became of it."""
        return self.own == self.wire and self.change is None and not self.drops_null


class Members:
    """An object's members: renamed, changed, or null where they were left out."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._by_wire = {member.wire: member for member in members}
        self._by_own = {member.own: member for member in members}

    def undo(self, value: Any) -> Any:
        """The object with its own names, without the nulls that mean nothing."""
        if not isinstance(value, Mapping):
            return value
        found = {}
        for key, item in value.items():
            member = self._by_wire.get(key)
            if member is None:
                found[key] = item
            elif not (item is None and member.drops_null):
                found[member.own] = item if member.change is None else member.change.undo(item)
        return found

    def redo(self, value: Any) -> Any:
        """The object with the provider's names."""
        if not isinstance(value, Mapping):
            return value
        found = {}
        for key, item in value.items():
            member = self._by_own.get(key)
            if member is None:
                found[key] = item
            else:
                found[member.wire] = item if member.change is None else member.change.redo(item)
        return found


@dataclass(frozen=True, slots=True)
class Items:
    """Each item of an array."""

    change: Change

    def undo(self, value: Any) -> Any:
        """The array with each item undone."""
        return [self.change.undo(item) for item in value] if isinstance(value, list) else value

    def redo(self, value: Any) -> Any:
        """The array with each item changed."""
        return [self.change.redo(item) for item in value] if isinstance(value, list) else value


class Options:
    """An enum's values as texts."""

    def __init__(self, options: Sequence[Any]) -> None:
        self._by_text = {option_text(option): option for option in options}

    def undo(self, value: Any) -> Any:
        """The value that the text stands for."""
        return self._by_text.get(value, value) if isinstance(value, str) else value

    def redo(self, value: Any) -> Any:
        """The value as a text."""
        text = option_text(value)
        return text if text in self._by_text else value


def option_text(option: Any) -> str:
    """How an enum's value is written as a text."""
    return option if isinstance(option, str) else json.dumps(option, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class AsText:
    """A value that was sent as JSON text.

    Args:
        takes_text: whether the value itself may be a text, so that one that is not JSON is meant as it stands.
    """

    takes_text: bool = False

    def undo(self, value: Any) -> Any:
        """The value in the text."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            return value

    def redo(self, value: Any) -> Any:
        """The value as JSON text."""
        if self.takes_text and isinstance(value, str):
            return value
        try:
            return json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            return value


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches of a union: each takes what it knows."""

    changes: Sequence[Change]

    def undo(self, value: Any) -> Any:
        """The value after every branch's undoing."""
        for change in self.changes:
            value = change.undo(value)
        return value

    def redo(self, value: Any) -> Any:
        """The value after the first branch that changes it."""
        for change in self.changes:
            changed = change.redo(value)
            if changed != value:
                return changed
        return value


@dataclass(slots=True)
class Later:
    """The change of a definition that refers to itself, known once the definition is rewritten."""

    find: Callable[[], Change | None]

    def undo(self, value: Any) -> Any:
        """As the definition does."""
        change = self.find()
        return value if change is None else change.undo(value)

    def redo(self, value: Any) -> Any:
        """As the definition does."""
        change = self.find()
        return value if change is None else change.redo(value)
