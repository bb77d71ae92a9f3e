"""A fixed set of values: by case, blanks, width, name, type, and by a close spelling of exactly one."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any, Final

from toolhand.arguments.checks import same
from toolhand.arguments.coerce.numerals import read_number
from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import Trouble
from toolhand.arguments.shape import Shape
from toolhand.arguments.suggest import closest, is_near
from toolhand.core.lazily import lazy_pattern

_JOINTS: Final = lazy_pattern(r"[\s_\-]+")


def coerce_enum(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """The one allowed value that was meant."""
    options = shape.options or ()
    if isinstance(sent, list) and len(sent) == 1:
        walk.note("array_to_item", path, sent, sent[0])
        return walk.read(sent[0], shape, path)
    if isinstance(sent, str):
        return _from_text(sent, shape, path, walk)
    if isinstance(sent, bool | int | float):
        found = [option for option in options if _reads(option, sent)]
        if len(found) == 1:
            walk.note("enum_type", path, sent, found[0])
            return found[0]
    return refuse(Trouble.VALUE, shape, path, sent)


def _reads(option: Any, sent: Any) -> bool:
    if isinstance(option, str):
        return option == (str(sent).lower() if isinstance(sent, bool) else str(sent))
    return isinstance(option, bool) is isinstance(sent, bool) and same(option, sent)


def _from_text(sent: str, shape: Shape, path: str, walk: Walk) -> Any:
    options = shape.options or ()
    texts = {option: option for option in options if isinstance(option, str)}
    for kind, table in (("enum_spelling", texts), ("enum_name", shape.option_names)):
        for fold in _FOLDS:
            found = {id(value): value for key, value in table.items() if fold(str(key)) == fold(sent)}
            if len(found) == 1:
                (value,) = found.values()
                walk.note(kind, path, sent, value)
                return value
            if found:
                return refuse(Trouble.AMBIGUOUS, shape, path, sent)
    other = _other_type(sent, options)
    if other is not None:
        walk.note("enum_type", path, sent, other)
        return other
    folded = {_loose(text): text for text in texts}
    near = (
        [] if walk.changes_things else [text for fold, text in folded.items() if is_near(_loose(sent), fold)]
    )
    if len(near) == 1:
        walk.note("near_enum", path, sent, near[0])
        return near[0]
    return refuse(
        Trouble.VALUE, shape, path, sent, closest=closest(sent, [*texts, *map(str, shape.option_names)])
    )


def _other_type(sent: str, options: tuple[Any, ...]) -> Any:
    """The option that is a number, boolean or null and is written as this text."""
    word = unicodedata.normalize("NFKC", sent).strip()
    literal = {"true": True, "false": False}.get(word.casefold())
    if literal is not None and any(option is literal for option in options):
        return literal
    number = read_number(word)
    if number is None:
        return None
    found = [
        option
        for option in options
        if not isinstance(option, bool) and isinstance(option, int | float) and option == number
    ]
    return found[0] if len(found) == 1 else None


def _trimmed(text: str) -> str:
    return text.strip().strip("'\"“”‘’`").strip()


def _narrow(text: str) -> str:
    return _trimmed(unicodedata.normalize("NFKC", text))


def _caseless(text: str) -> str:
    return _narrow(text).casefold()


def _loose(text: str) -> str:
    return _JOINTS.sub("", _caseless(text))


_FOLDS: Final[tuple[Callable[[str], str], ...]] = (_trimmed, _narrow, _caseless, _loose)
