"""Objects: keys found, each member coerced, what counts as not sent left out, what is missing said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolhand.arguments.checks import is_sentinel, same
from toolhand.arguments.coerce.anything import encodable
from toolhand.arguments.coerce.jsontext import read_json
from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import ABSENT, Fault, Refused, Trouble
from toolhand.arguments.keys import fold, is_commentary, renamed, spellings
from toolhand.arguments.paths import member
from toolhand.arguments.shape import Shape
from toolhand.arguments.suggest import close, is_near

_ANY: Final = Shape({})


def coerce_object(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """An object with each member as declared."""
    if isinstance(sent, str):
        if sent.lstrip().startswith(("{", "｛")):
            value = read_json(sent)
            if isinstance(value, Mapping):
                walk.note("json_in_string", path, sent, value)
                return members(value, shape, path, walk, {})
            return refuse(Trouble.TYPE, shape, path, sent, note="broken_json")
        return refuse(Trouble.TYPE, shape, path, sent)
    if isinstance(sent, list) and len(sent) == 1 and isinstance(sent[0], Mapping):
        walk.note("array_to_item", path, sent, sent[0])
        return members(sent[0], shape, path, walk, {})
    if not isinstance(sent, Mapping):
        return refuse(Trouble.TYPE, shape, path, sent)
    return members(sent, shape, path, walk, {})


def members(sent: Mapping[str, Any], shape: Shape, path: str, walk: Walk, aliases: Mapping[str, str]) -> Any:
    """The declared members of what was sent, or `Refused` with everything that is wrong.

    Args:
        sent: the object.
        shape: what is declared.
        path: where it stands.
        walk: takes the liberties down.
        aliases: further names of the members, alias → name.
    """
    keyed, unknown = _by_name(sent, shape, aliases)
    faults: list[Fault] = []
    found = _values(keyed, shape, path, walk, faults)
    _rename(sent, unknown, found, shape, path, walk, faults)
    _keep_or_drop(sent, unknown, found, shape, path, walk, faults)
    named = {fault.path for fault in faults}
    for name in shape.required:
        if name not in found and member(path, name) not in named:
            # What was sent and does not count is told, so that the model sees why.
            before = next((value for _, value in keyed.get(name, ())), ABSENT)
            part = shape.properties.get(name, _ANY)
            faults += refuse(Trouble.MISSING, part, member(path, name), before).faults
    if faults:
        return Refused(tuple(faults))
    return found


def _by_name(
    sent: Mapping[str, Any], shape: Shape, aliases: Mapping[str, str]
) -> tuple[dict[str, list[tuple[str, Any]]], list[str]]:
    """Declared name → the keys and values that were sent for it; and the keys that name nothing."""
    keyed: dict[str, list[tuple[str, Any]]] = {}
    unknown: list[str] = []
    known: dict[str, str] | None = None
    for key, value in sent.items():
        name: str | None = key if key in shape.properties else aliases.get(key)
        if name is None and shape.properties:
            if known is None:
                known = spellings(shape.properties, aliases)
            name = known.get(fold(key))
        if name is None or name not in shape.properties:
            unknown.append(key)
        else:
            keyed.setdefault(name, []).append((key, value))
    return keyed, unknown


def _values(
    keyed: Mapping[str, list[tuple[str, Any]]], shape: Shape, path: str, walk: Walk, faults: list[Fault]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, entries in keyed.items():
        place = member(path, name)
        outcome = _one_of(entries, name, shape, place, walk, faults)
        if outcome is not ABSENT:
            found[name] = outcome
    return found


def _one_of(
    entries: list[tuple[str, Any]], name: str, shape: Shape, place: str, walk: Walk, faults: list[Fault]
) -> Any:
    """The value of one member: what its keys agree on, or `ABSENT` where nothing counts or something is wrong."""
    part = shape.properties[name]
    is_optional = name not in shape.required
    value: Any = ABSENT
    for index, (key, sent) in enumerate(entries):
        if _note_missing(sent, part, place, walk, is_optional=is_optional):
            continue
        outcome = walk.read(sent, part, place)
        if type(outcome) is Refused:
            faults += outcome.faults
            return ABSENT
        if value is ABSENT:
            value = outcome
            if key != name:
                walk.note("key_alias" if _is_alias(key, name, walk) else "key_spelling", place, key, name)
        elif same(value, outcome):
            walk.note("repeated_key", place, key, name)
        else:
            keys = tuple(key for key, _ in entries[: index + 1])
            faults += refuse(Trouble.CLASH, part, place, [sent for _, sent in entries], others=keys).faults
            return ABSENT
    return value


def _is_alias(key: str, name: str, walk: Walk) -> bool:
    return walk.aliases.get(key) == name


def _note_missing(sent: Any, part: Shape, place: str, walk: Walk, *, is_optional: bool) -> bool:
    """Whether what was sent counts as not sent."""
    if sent is None:
        if part.is_nullable:
            return False
        kind = "null_is_missing"
    elif isinstance(sent, str) and is_sentinel(sent):
        is_empty = not sent.strip()
        takes_text = part.fits(sent)
        if part.names_value(sent) or not (
            is_optional or (is_empty and not takes_text and not part.is_nullable)
        ):
            return False
        kind = "empty_is_missing" if is_empty else "sentinel_is_missing"
    else:
        return False
    if is_optional:
        walk.note(kind, place, sent, None)
    return True


def _rename(
    sent: Mapping[str, Any],
    unknown: list[str],
    found: dict[str, Any],
    shape: Shape,
    path: str,
    walk: Walk,
    faults: list[Fault],
) -> None:
    """Gives required members that no key names the value of a key that means them."""
    taken = {fault.path for fault in faults}
    missing = [name for name in shape.required if name not in found and member(path, name) not in taken]
    missing = [name for name in missing if name in shape.properties]
    if not missing or not unknown or shape.extra is not None:
        return
    chosen = renamed(unknown, missing)
    if not chosen and _is_only_key(sent, unknown, shape, walk) and not is_commentary(unknown[0]):
        chosen = {unknown[0]: (missing[0], "only_key")}
    for key, (name, kind) in chosen.items():
        place = member(path, name)
        trial = walk.apart()
        outcome = trial.read(sent[key], shape.properties[name], place)
        is_exact = outcome is sent[key]
        if type(outcome) is Refused or sent[key] is None or (kind == "only_key" and not is_exact):
            continue
        found[name] = outcome
        unknown.remove(key)
        walk.note(kind, place, key, name)
        walk.fixes += trial.fixes


def _is_only_key(sent: Mapping[str, Any], unknown: list[str], shape: Shape, walk: Walk) -> bool:
    """Whether one value was sent to a tool that reads and needs one: the key then hardly matters."""
    return not walk.changes_things and len(sent) == 1 and len(unknown) == 1 and len(shape.required) == 1


def _keep_or_drop(
    sent: Mapping[str, Any],
    unknown: list[str],
    found: dict[str, Any],
    shape: Shape,
    path: str,
    walk: Walk,
    faults: list[Fault],
) -> None:
    """What happens to keys that name nothing: passed on where the schema or the caller allows it, else left out."""
    for key in unknown:
        place = member(path, key)
        if shape.extra is not None or walk.settings.extra == "keep":
            outcome = walk.read(sent[key], shape.extra or _ANY, place)
            if type(outcome) is Refused:
                faults += outcome.faults
            else:
                found[encodable(key)] = outcome
            continue
        free = [name for name in shape.properties if name not in found]
        slip = next((name for name in free if is_near(fold(key), fold(name))), "")
        if walk.settings.extra == "refuse" or (slip and walk.changes_things):
            # Leaving out a misspelt `dry_run` would make the call do more than was meant.
            near = slip or next(iter(close(key, free, 1)), "")
            faults += refuse(Trouble.EXTRA, shape, place, sent[key], closest=near).faults
        else:
            walk.note("extra_dropped", place, sent[key], None)
