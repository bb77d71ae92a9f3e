"""The first grade of reading: what was not sent and has a default."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from toolhand.arguments.plans import parameters_shape
from toolhand.arguments.shape import Shape
from toolhand.core.canonical import left_out
from toolhand.core.tools import Parameters


def fill_defaults(arguments: Mapping[str, Any], parameters: Parameters) -> dict[str, Any]:
    """The arguments with the declared defaults where nothing was sent, also inside nested objects and lists.

    Args:
        arguments: bound arguments; they are not changed.
        parameters: the tool's parameters.
    """
    return _filled(arguments, parameters_shape(parameters))


def _filled(members: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    found = {
        name: _value(value, shape.properties[name]) if name in shape.properties else value
        for name, value in members.items()
    }
    declared = {name: part.raw for name, part in shape.properties.items()}
    return found | deepcopy(left_out(declared, found))


def _value(value: Any, shape: Shape) -> Any:
    kind = type(value)
    if kind is not dict and kind is not list:
        return value
    if shape.branches:
        branch = next((part for part in shape.alternatives() if part.fits(value)), None)
        return value if branch is None else _value(value, branch)
    if kind is dict:
        return _filled(value, shape)
    return [
        _value(entry, part) if (part := _item_shape(shape, index)) is not None else entry
        for index, entry in enumerate(value)
    ]


def _item_shape(shape: Shape, index: int) -> Shape | None:
    return shape.prefix[index] if index < len(shape.prefix) else shape.items
