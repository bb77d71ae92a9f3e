"""Arguments that came in a wrapping: under a key such as "arguments", under the tool's name, as a string or a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolhand.arguments.coerce.jsontext import read_json
from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import ABSENT, Refused, Trouble
from toolhand.arguments.keys import fold, spellings
from toolhand.arguments.shape import Shape
from toolhand.tools.collection import folded

WRAPPERS: Final = frozenset([
    "arguments", "args", "parameters", "params", "input", "inputs", "kwargs", "actioninput", "toolinput",
    "functionarguments", "toolarguments", "toolargs", "properties", "参数", "输入",
])  # fmt: skip
_JSON: Final = ("{", "｛", '"{', "[{")
_NAME_KEYS: Final = frozenset(("name", "tool", "toolname", "function", "functionname", "action"))


def unwrapped(sent: Any, tool_name: str, shape: Shape, aliases: Mapping[str, str], walk: Walk) -> Any:
    """The arguments as an object, or what came where it is none.

    A wrapping is taken off once, and only where it cannot be a parameter.

    Args:
        sent: an object, JSON text, or anything.
        tool_name: the tool's name, which may be the wrapping key.
        shape: what is declared.
        aliases: further names of the parameters.
        walk: takes the liberty down.
    """
    if sent is None:
        return {}
    if isinstance(sent, str):
        if not sent.strip():
            return {}
        value = read_json(sent) if sent.lstrip().startswith(_JSON) or sent.strip() == "null" else sent
        if value is None or isinstance(value, Mapping):
            walk.note("json_in_string", "$", sent, value)
            return unwrapped(value, tool_name, shape, aliases, walk)
        return sent
    if not isinstance(sent, Mapping):
        return sent
    inner = _inside(sent, tool_name, shape, aliases)
    if inner is ABSENT:
        return sent
    walk.note("unwrapped_arguments", "$", dict(sent), inner)
    return inner


def _inside(sent: Mapping[str, Any], tool_name: str, shape: Shape, aliases: Mapping[str, str]) -> Any:
    if not 0 < len(sent) <= 2:
        return ABSENT
    known = spellings(shape.properties, aliases)
    keys = [key for key in sent if not _names_the_tool(key, sent[key], tool_name, known)]
    if len(keys) != 1 or fold(keys[0]) in known:
        return ABSENT
    key = fold(keys[0])
    if key not in WRAPPERS and folded(key) != folded(tool_name):
        return ABSENT
    inner = sent[keys[0]]
    if isinstance(inner, str) and inner.lstrip().startswith("{"):
        inner = read_json(inner)
    if isinstance(inner, Mapping):
        return dict(inner)
    return {} if inner is None and not shape.required else ABSENT


def _names_the_tool(key: str, value: Any, tool_name: str, known: Mapping[str, str]) -> bool:
    word = fold(key)
    return (
        word in _NAME_KEYS
        and word not in known
        and isinstance(value, str)
        and folded(value) == folded(tool_name)
    )


def from_bare(sent: Any, shape: Shape, walk: Walk) -> Any:
    """Arguments for a value that came without a key.

    Args:
        sent: a string, number, boolean or list.
        shape: what is declared.
        walk: takes the liberty down.

    Returns:
        an object, or `Refused`: a value fills the only required parameter (or the only one there is), nothing else.
    """
    if isinstance(sent, str) and sent.lstrip().startswith(("{", "｛")):
        return refuse(Trouble.TYPE, shape, "$", sent, note="broken_json")  # an object was meant, not a text
    name = sole_parameter(shape)
    if isinstance(sent, list) and len(sent) == 1 and (name is None or isinstance(sent[0], Mapping)):
        first = sent[0]
        if isinstance(first, Mapping):
            walk.note("array_to_item", "$", sent, first)
            return dict(first)
    if name is not None:
        walk.note("bare_value", f"$.{name}", sent, {name: sent})
        return {name: sent}
    if not shape.properties and isinstance(sent, str):
        walk.note("extra_dropped", "$", sent, None)
        return {}
    if shape.required:
        faults = [
            fault
            for key in shape.required
            for fault in refuse(Trouble.MISSING, shape.properties.get(key, shape), f"$.{key}").faults
        ]
        return Refused(tuple(faults))
    return refuse(Trouble.TYPE, shape, "$", sent)


def sole_parameter(shape: Shape) -> str | None:
    """The only required parameter, or the only one that there is."""
    required = [name for name in shape.required if name in shape.properties]
    if len(required) == 1:
        return required[0]
    if not required and len(shape.properties) == 1:
        return next(iter(shape.properties))
    return None


def placed(values: Sequence[Any], sent: Mapping[str, Any], shape: Shape, walk: Walk) -> Any:
    """Arguments with values that came by position, as in `f("北京", days=3)`, put under their names.

    Args:
        values: what came by position, in order.
        sent: what came by name.
        shape: what is declared: one value goes to the only required parameter that is not named, several go by the
            declared order, as in Python.
        walk: takes the liberties down.

    Returns:
        an object, or `Refused` where there are more values than parameters.
    """
    names = list(shape.properties)
    open_required = [name for name in shape.required if name in shape.properties and name not in sent]
    order = (
        open_required
        if len(values) == 1 == len(open_required)
        else [name for name in names if name not in sent]
    )
    if len(values) > len(order):
        return refuse(Trouble.EXTRA, shape, "$", list(values), note="too_many_values")
    filled = dict(zip(order, values, strict=False))
    for name, value in filled.items():
        walk.note("positional_value", f"$.{name}", value, {name: value})
    return {**filled, **sent}
