"""Objects: keys found, each member coerced, what counts as not sent left out, what is missing said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.arguments.checks import is_sentinel, same
from toolhand.arguments.coerce.anything import encodable, mended
from toolhand.arguments.coerce.jsontext import read_json
from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import ABSENT, Fault, Refused, Trouble
from toolhand.arguments.keys import fold, is_slip, renamed, spellings
from toolhand.arguments.paths import member
from toolhand.arguments.shape import Shape
from toolhand.arguments.suggest import close

_ANY: Final = Shape({})
_MOST_UNKNOWN: Final = 30
_CONTRADICTING: Final = frozenset(("number_to_string", "boolean_to_string", "number_to_boolean"))
"""Liberties that say that a value under another key was meant for something else."""
_NO_ALIASES: Final[Mapping[str, str]] = {}


def coerce_object(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """An object with each member as declared."""
    if isinstance(sent, str):
        if not sent.lstrip().startswith(("{", "｛", '"{')):
            return refuse(Trouble.TYPE, shape, path, sent)
        value = read_json(sent)
        if not isinstance(value, Mapping):
            return refuse(Trouble.TYPE, shape, path, sent, note="broken_json")
        walk.note("json_in_string", path, sent, value)
        return members(value, shape, path, walk)
    if isinstance(sent, list) and len(sent) == 1 and isinstance(sent[0], Mapping):
        walk.note("array_to_item", path, sent, sent[0])
        return members(sent[0], shape, path, walk)
    if not isinstance(sent, Mapping):
        return refuse(Trouble.TYPE, shape, path, sent)
    return members(sent, shape, path, walk)


def members(
    sent: Mapping[str, Any],
    shape: Shape,
    path: str,
    walk: Walk,
    aliases: Mapping[str, str] = _NO_ALIASES,
) -> Any:
    """The declared members of what was sent, or `Refused` with everything that is wrong.

    Args:
        sent: the object.
        shape: what is declared.
        path: where it stands.
        walk: takes the liberties down.
        aliases: further names of the members, alias → name.
    """
    wraps, walk.wraps = walk.wraps, 0  # what is inside an object may be wrapped again
    reading = _Reading(sent=sent, shape=shape, path=path, walk=walk, aliases=aliases)
    reading.sort_keys()
    reading.read_named()
    reading.rename()
    reading.keep_or_drop()
    reading.look_for_missing()
    walk.wraps = wraps
    return Refused(tuple(reading.faults)) if reading.faults else reading.found


@dataclass(slots=True, kw_only=True)
class _Reading:
    """One object while it is read: what was found, what is wrong, what is left."""

    sent: Mapping[str, Any]
    shape: Shape
    path: str
    walk: Walk
    aliases: Mapping[str, str]
    keyed: dict[str, list[tuple[str, Any]]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def sort_keys(self) -> None:
        """Puts each key under the member that it names, by spelling or alias, or among the unknown."""
        properties = self.shape.properties
        for sent_key, value in self.sent.items():
            key = str(sent_key)
            name: str | None = key if key in properties else self.aliases.get(key)
            if name is None and properties:
                name = self._spellings.get(fold(key))
            if name is None or name not in properties:
                self.unknown.append(key)
            else:
                self.keyed.setdefault(name, []).append((key, value))

    @property
    def _spellings(self) -> Mapping[str, str]:
        kept = self.shape.spellings
        if kept is None or kept[0] is not self.aliases:
            kept = self.shape.spellings = (self.aliases, spellings(self.shape.properties, self.aliases))
        return kept[1]

    def read_named(self) -> None:
        """Reads every member that some key names."""
        for name, entries in self.keyed.items():
            value = self._agreed(name, entries)
            if value is not ABSENT:
                self.found[name] = value

    def _agreed(self, name: str, entries: list[tuple[str, Any]]) -> Any:
        """What a member's keys agree on; `ABSENT` where nothing counts or something is wrong."""
        part, place = self.shape.properties[name], member(self.path, name)
        value: Any = ABSENT
        for key, sent in entries:
            if self._counts_as_missing(name, sent, place):
                continue
            outcome = self.walk.read(sent, part, place)
            if type(outcome) is Refused:
                self.faults += outcome.faults
                return ABSENT
            if value is ABSENT:
                value = outcome
                if key != name:
                    self.walk.note("key_alias" if key in self.aliases else "key_spelling", place, key, name)
            elif same(value, outcome):
                self.walk.note("repeated_key", place, key, name)
            else:
                keys = tuple(key for key, _ in entries)
                self.faults += refuse(
                    Trouble.CLASH, part, place, [sent for _, sent in entries], others=keys
                ).faults
                return ABSENT
        return value

    def _counts_as_missing(self, name: str, sent: Any, place: str) -> bool:
        """Whether what was sent says that there is nothing; noted where it may be left out."""
        part = self.shape.properties[name]
        is_optional = name not in self.shape.required
        if sent is None:
            if part.is_nullable:
                return False
            kind = "null_is_missing"
        elif isinstance(sent, str) and is_sentinel(sent):
            is_empty = not sent.strip()
            is_useless = is_empty and not part.fits(sent) and not part.is_nullable
            if part.names_value(sent) or not (is_optional or is_useless) or _may_mean_no(sent, part):
                return False
            kind = "empty_is_missing" if is_empty else "sentinel_is_missing"
        else:
            return False
        if is_optional:
            self.walk.note(kind, place, sent, None)
        return True

    def rename(self) -> None:
        """Gives required members that no key names the value of a key that means them."""
        taken = {fault.path for fault in self.faults}
        missing = [
            name
            for name in self.shape.required
            if name in self.shape.properties
            and name not in self.found
            and member(self.path, name) not in taken
        ]
        if not missing or not self.unknown or self.shape.is_open:
            return
        chosen = renamed(self.unknown, missing) if len(self.unknown) <= _MOST_UNKNOWN else {}
        for key, (name, kind) in chosen.items():
            self._move(key, name, kind)

    def _move(self, key: str, name: str, kind: str) -> None:
        place, sent = member(self.path, name), self.sent[key]
        trial = self.walk.apart()
        outcome = trial.read(sent, self.shape.properties[name], place)
        if type(outcome) is Refused or sent is None or any(fix.kind in _CONTRADICTING for fix in trial.fixes):
            return
        self.found[name] = outcome
        self.unknown.remove(key)
        self.walk.note(kind, place, key, name)
        self.walk.fixes += trial.fixes

    def keep_or_drop(self) -> None:
        """Passes keys that name nothing on where the schema or the caller allows it, and leaves them out elsewhere."""
        for key in self.unknown:
            place, sent = member(self.path, key), self.sent.get(key)
            if self.shape.extra is not None or self.walk.settings.extra == "keep":
                extra = self.shape.extra
                outcome = (
                    mended(sent, _ANY, place, self.walk)
                    if extra is None
                    else self.walk.read(sent, extra, place)
                )
                if type(outcome) is Refused:
                    self.faults += outcome.faults
                else:
                    self.found[encodable(key)] = outcome
                continue
            free = [name for name in self.shape.properties if name not in self.found]
            slip = self._slip(key, free)
            if self.walk.settings.extra == "refuse" or slip:
                # Without its misspelt `timeout` or `dry_run` the call would do something else than was meant, and
                # an optional parameter that is only nearly named is not one that was surely meant.
                near = slip or next(iter(close(key, free, 1)), "")
                self.faults += refuse(Trouble.EXTRA, self.shape, place, sent, closest=near).faults
            else:
                self.walk.note("extra_dropped", place, sent, None)

    def _slip(self, key: str, free: list[str]) -> str:
        """The parameter of which a key is a slip of the pen, where so few are unknown that it is worth a look."""
        if len(self.unknown) > _MOST_UNKNOWN:
            return ""
        return next((name for name in free if is_slip(key, name)), "")

    def look_for_missing(self) -> None:
        """Says which required members are not there, and what was sent for them that does not count."""
        named = {fault.path for fault in self.faults}
        for name in self.shape.required:
            place = member(self.path, name)
            if name in self.found or any(
                path == place or path.startswith((f"{place}.", f"{place}[")) for path in named
            ):
                continue
            sent = next((value for _, value in self.keyed.get(name, ())), ABSENT)
            part = self.shape.properties.get(name, _ANY)
            self.faults += refuse(Trouble.MISSING, part, place, sent).faults


def _may_mean_no(sent: str, part: Shape) -> bool:
    """Whether a word for "nothing" may be the answer itself, as 没有 is to a yes-or-no question."""
    return bool(sent.strip()) and any("boolean" in branch.types for branch in part.alternatives())
