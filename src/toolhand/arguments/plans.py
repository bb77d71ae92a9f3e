"""What binding needs to know of a tool, worked out once and kept while the tool lives."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from toolhand.arguments.checks import finish
from toolhand.arguments.shape import Compiler, Shape
from toolhand.core.tools import Tool

_MOST_KEPT: Final = 2048

# By identity, with the object itself beside the shape so that its id cannot be given to another.
_shapes: dict[int, tuple[object, Shape]] = {}


def parameters_shape(parameters: Mapping[str, Any]) -> Shape:
    """The shape of a tool's parameters.

    Args:
        parameters: a JSON Schema of type object; it must not be changed afterwards.
    """
    found = _shapes.get(id(parameters))
    if found is not None and found[0] is parameters:
        return found[1]
    shape = Compiler(parameters, finish).shape(parameters, is_root=True)
    if len(_shapes) >= _MOST_KEPT:
        for key in list(_shapes)[: _MOST_KEPT // 2]:
            _shapes.pop(key, None)
    _shapes[id(parameters)] = (parameters, shape)
    return shape


@lru_cache(maxsize=_MOST_KEPT)
def tool_shape(tool: Tool) -> Shape:
    """The shape of a tool's arguments."""
    return parameters_shape(tool.parameters)
