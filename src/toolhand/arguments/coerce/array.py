"""Lists: from JSON in a string, from a single item, from items between commas where that has one reading."""

from __future__ import annotations

from typing import Any, Final

from toolhand.arguments.coerce.jsontext import NOT_JSON, read_json
from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import Fault, Refused, Trouble
from toolhand.arguments.keys import fold
from toolhand.arguments.paths import item
from toolhand.arguments.shape import Shape
from toolhand.core.lazily import lazy_pattern

_SEPARATORS: Final = lazy_pattern(r"\s*[,，、;；\n]\s*")


def coerce_array(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """A list with each item as declared."""
    if isinstance(sent, list | tuple):
        return _items(list(sent), shape, path, walk)
    if sent is None or (isinstance(sent, str) and not sent.strip()):
        return refuse(Trouble.TYPE, shape, path, sent)
    if isinstance(sent, str):
        if sent.lstrip().startswith(("[", "［", "(", '"[')):
            value = read_json(sent)
            if isinstance(value, list | tuple):
                walk.note("json_in_string", path, sent, value)
                return _items(list(value), shape, path, walk)
            if value is NOT_JSON and not sent.lstrip().startswith("("):
                return refuse(Trouble.TYPE, shape, path, sent, note="broken_json")
        pieces = [piece for piece in _SEPARATORS.split(sent.strip()) if piece]
        if len(pieces) > _MOST_PIECES:
            return refuse(Trouble.AMBIGUOUS, shape, path, sent, note="one_or_several")
        if len(pieces) > 1:
            return _split(sent, pieces, shape, path, walk)
    if isinstance(sent, dict) and len(sent) == 1:
        (key, inner), *_ = sent.items()
        if fold(key) in _LIST_KEYS and isinstance(inner, list) and not _takes(key, shape):
            walk.note("unwrapped_value", path, sent, inner)
            return _items(inner, shape, path, walk)
    return _wrapped(sent, shape, path, walk)


def _takes(key: str, shape: Shape) -> bool:
    """Whether an item may have this key itself."""
    return shape.items is None or any(key in part.properties for part in shape.items.alternatives())


def _items(values: list[Any], shape: Shape, path: str, walk: Walk) -> Any:
    found: list[Any] = []
    faults: list[Fault] = []
    for index, value in enumerate(values):
        part = shape.prefix[index] if index < len(shape.prefix) else shape.items
        outcome = walk.read(value, part or _ANY, item(path, index))
        if type(outcome) is Refused:
            faults += outcome.faults
            if len(faults) >= _MOST_FAULTS:
                break
        found.append(outcome)
    return Refused(tuple(faults)) if faults else found


def _wrapped(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    if walk.wraps:  # a list of lists is not made out of one value
        return refuse(Trouble.TYPE, shape, path, sent)
    trial = walk.apart()
    trial.wraps = 1
    outcome = _items([sent], shape, path, trial)
    if type(outcome) is Refused:
        return refuse(Trouble.TYPE, shape, path, sent)
    walk.note("item_to_array", path, sent, outcome)
    walk.fixes += trial.fixes
    return outcome


def _split(sent: str, pieces: list[str], shape: Shape, path: str, walk: Walk) -> Any:
    """Both readings are tried: one item that holds commas, and several items. Where both hold, nobody can tell."""
    whole, parts = walk.apart(), walk.apart()
    as_one = _items([sent], shape, path, whole)
    as_several = _items(list(pieces), shape, path, parts)
    if not shape.fits(as_one):
        as_one = Refused(())
    if not shape.fits(as_several):
        as_several = Refused(())
    if type(as_several) is Refused:
        return _wrapped(sent, shape, path, walk)
    if type(as_one) is not Refused and not _is_prose(pieces):
        return refuse(Trouble.AMBIGUOUS, shape, path, sent, note="one_or_several")
    if type(as_one) is not Refused:
        return _wrapped(sent, shape, path, walk)
    walk.note("split_to_array", path, sent, as_several)
    walk.fixes += parts.fixes
    return as_several


def _is_prose(pieces: list[str]) -> bool:
    """Whether commas stand in a sentence and not between items: some piece is long, or ends like a sentence."""
    return any(len(piece) > 40 or len(piece.split()) > 4 or piece[-1] in ".。!！?？" for piece in pieces)


_ANY: Final = Shape({})
_MOST_FAULTS: Final = 20
_MOST_PIECES: Final = 200
_LIST_KEYS: Final = frozenset(("item", "items", "list", "values", "element", "elements", "array"))
