"""Carries a function that no other process can import: one of a script, a notebook, or made inside another function.

It travels as its code and as what the code names: modules and what they hold by name, constants by value, other such
functions likewise. What lives in this process alone (a list, an open connection, a class of a script) does not travel, and is
said by name. A script is never run a second time, so it needs no `if __name__ == "__main__"`.

The bytes come from this program's own definitions and go to its own child; no argument or result is ever read this way.
"""

from __future__ import annotations

import builtins
import dis
import importlib
import inspect
import marshal
import sys
import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import typing_extensions

from toolhand.core.context import RunContext
from toolhand.core.language import say
from toolhand.core.tools import Tool
from toolhand.tools.signature import Injected

_CONSTANTS: Final = (type(None), bool, int, float, complex, str, bytes)
_NAMED_GLOBALS: Final = ("LOAD_GLOBAL", "LOAD_NAME")
_CHANGED_GLOBALS: Final = ("STORE_GLOBAL", "DELETE_GLOBAL")


class CannotTravelError(ValueError):
    """Something lives in this process alone; the message is a clause such as "it uses 'orders', a list …"."""


def importable(value: Any) -> tuple[str, str] | None:
    """Module and qualified name under which another process finds the same object, or None."""
    name, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(name, str) or not isinstance(qualname, str) or name == "__main__":
        return None
    module = sys.modules.get(name)
    if module is None or "<locals>" in qualname or getattr(module, "__spec__", None) is None:
        return None
    return (name, qualname) if _same(walked(module, qualname), value) else None


def _same(found: Any, value: Any) -> bool:
    if isinstance(found, Tool):  # a decorated function: its name now holds the tool
        found = found.function
    found, value = without_own_wrapper(found), without_own_wrapper(value)
    if isinstance(found, types.MethodType):
        return bool(found == value)
    return found is value


def without_own_wrapper(function: Any) -> Any:
    """The function that `@tool` has wrapped because of positional parameters; others' wrappers are left on."""
    is_own = str(getattr(function, "__globals__", {}).get("__name__")).startswith("toolhand.tools.")
    return getattr(function, "__wrapped__", function) if is_own else function


def walked(module: Any, qualname: str) -> Any:
    """What a dotted name inside a module holds, or None."""
    found = module
    for step in qualname.split("."):
        found = getattr(found, step, None)
    return found


def pack(function: types.FunctionType) -> bytes:
    """A function as bytes.

    Raises:
        CannotTravelError: when it uses something that lives in this process alone.
    """
    return marshal.dumps(_Packer().function(function))


def unpack(carried: bytes) -> types.FunctionType:
    """The function again, in another process."""
    return _Unpacker().function(marshal.loads(carried))  # noqa: S302 - our own parent's definition, see above


class _Packer:
    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def function(self, function: types.FunctionType) -> dict[str, Any]:
        if id(function) in self._numbers:
            return {"again": self._numbers[id(function)]}
        number = self._numbers[id(function)] = len(self._numbers)
        code, scope = function.__code__, function.__globals__
        named: dict[str, Any] = {}
        for instruction in _instructions(code):
            name = str(instruction.argval)
            if instruction.opname in _CHANGED_GLOBALS:
                raise CannotTravelError(
                    say(
                        f"it changes the global '{name}', and the change would be lost in the other process",
                        f"它修改全局变量“{name}”，修改会留在另一个进程里",
                    )
                )
            if instruction.opname in _NAMED_GLOBALS and name in scope and name not in named:
                named[name] = self.value(name, scope[name])
        cells = []
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                cells.append(self.value(name, cell.cell_contents))
            except ValueError as error:
                if isinstance(error, CannotTravelError):
                    raise
                raise CannotTravelError(
                    say(f"it uses '{name}', which has no value yet", f"它使用“{name}”，而它还没有值")
                ) from None
        defaults = function.__defaults__ or ()
        return {
            "number": number,
            "code": code,
            "name": function.__name__,
            "qualname": function.__qualname__,
            "doc": function.__doc__ if isinstance(function.__doc__, str) else None,
            "module": str(scope.get("__name__", "__main__")),
            "package": scope.get("__package__") if isinstance(scope.get("__package__"), str) else None,
            "globals": named,
            "cells": cells,
            "defaults": [self.value("a default", value) for value in defaults],
            "keyword_defaults": {k: self.value(k, v) for k, v in (function.__kwdefaults__ or {}).items()},
            "annotations": _packed_annotations(function),
        }

    def value(self, name: str, found: Any) -> dict[str, Any]:
        """What a name in the code stands for."""
        value: Any = without_own_wrapper(found.function) if isinstance(found, Tool) else found
        if isinstance(value, types.ModuleType):
            if value.__name__ != "__main__" and getattr(value, "__spec__", None) is not None:
                return {"module": value.__name__}
        elif _is_constant(value):
            return {"constant": value}
        elif isinstance(value, Injected):
            return {"injected": value.key}
        elif (place := importable(value)) is not None:
            return {"place": place}
        elif isinstance(value, types.FunctionType):
            return {"function": self.function(value)}
        raise CannotTravelError(_is_only_here(name, found))


def _is_only_here(name: str, found: Any) -> str:
    if isinstance(found, type):
        what = say(f"the class '{found.__name__}'", f"类“{found.__name__}”")
    else:
        what = say(f"a {type(found).__name__}", type(found).__name__)
    return say(
        f"it uses '{name}', {what} that lives in this process alone",
        f"它使用“{name}”（{what}），只在本进程中",
    )


def _is_constant(value: Any) -> bool:
    if type(value) in (tuple, frozenset):
        return all(map(_is_constant, value))
    return type(value) in _CONSTANTS


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _instructions(constant)


def _packed_annotations(function: types.FunctionType) -> dict[str, Any]:
    if not function.__annotations__:
        return {}
    cells = dict(inspect.getclosurevars(function).nonlocals)
    try:
        hints = typing_extensions.get_type_hints(function, localns=cells or None, include_extras=True)
    except (NameError, TypeError):
        hints = dict(function.__annotations__)
    return {name: _packed_type(name, hint) for name, hint in hints.items() if name != "return"}


def _packed_type(name: str, hint: Any) -> dict[str, Any]:
    origin = get_origin(hint)
    if isinstance(hint, Injected):
        return {"injected": hint.key}
    if hint is None or hint is type(None):
        return {"none": True}
    if hint is Any:
        return {"place": ("typing", "Any")}
    if hint is RunContext:
        return {"place": (RunContext.__module__, RunContext.__qualname__)}
    if origin is Annotated:
        inner, *extras = get_args(hint)
        keys = [extra.key for extra in extras if isinstance(extra, Injected)]
        # What else is noted there bounds the values, and they have been validated before they travel.
        return {"injected": keys[0]} if keys else _packed_type(name, inner)
    if origin is Literal:
        if all(map(_is_constant, get_args(hint))):
            return {"literal": get_args(hint)}
    elif origin in (typing.Union, types.UnionType):
        return {"union": [_packed_type(name, part) for part in get_args(hint)]}
    elif origin is not None and importable(origin) is not None:
        parts = [{"ellipsis": True} if part is ... else _packed_type(name, part) for part in get_args(hint)]
        return {"generic": importable(origin), "of": parts}
    elif (place := importable(hint)) is not None:
        return {"place": place}
    raise CannotTravelError(
        say(
            f"its parameter '{name}' has a type that lives in this process alone",
            f"它的参数“{name}”的类型只在本进程中",
        )
    )


class _Unpacker:
    def __init__(self) -> None:
        self._made: dict[int, types.FunctionType] = {}

    def function(self, packed: dict[str, Any]) -> types.FunctionType:
        if "again" in packed:
            return self._made[packed["again"]]
        scope = {
            "__builtins__": builtins,
            "__name__": packed["module"],
            "__package__": packed["package"],
        }
        code = packed["code"]
        closure = tuple(types.CellType() for _ in packed["cells"])
        made = types.FunctionType(code, scope, packed["name"], None, closure)
        self._made[packed["number"]] = made  # before what it names, which may name it again
        scope |= {name: self.value(value) for name, value in packed["globals"].items()}
        for cell, value in zip(closure, packed["cells"], strict=True):
            cell.cell_contents = self.value(value)
        made.__defaults__ = tuple(self.value(value) for value in packed["defaults"]) or None
        made.__kwdefaults__ = {k: self.value(v) for k, v in packed["keyword_defaults"].items()}
        made.__annotations__ = {name: _unpacked_type(hint) for name, hint in packed["annotations"].items()}
        made.__qualname__, made.__doc__ = packed["qualname"], packed["doc"]
        return made

    def value(self, packed: dict[str, Any]) -> Any:
        if "module" in packed:
            return importlib.import_module(packed["module"])
        if "place" in packed:
            return located(*packed["place"])
        if "injected" in packed:
            return Injected(packed["injected"])
        return self.function(packed["function"]) if "function" in packed else packed["constant"]


def located(module: str, qualname: str) -> Any:
    """What another process imports under this name.

    Raises:
        ImportError: when there is nothing.
    """
    found = walked(importlib.import_module(module), qualname)
    if found is None:
        raise ImportError(f"'{module}' holds no '{qualname}'")
    return found


def _unpacked_type(packed: dict[str, Any]) -> Any:
    if "injected" in packed:
        return Injected(packed["injected"])
    if "none" in packed:
        return None
    if "ellipsis" in packed:
        return ...
    if "literal" in packed:
        return Literal[packed["literal"]]
    if "union" in packed:
        return typing.Union[tuple(map(_unpacked_type, packed["union"]))]  # noqa: UP007 - of as many as there are
    if "generic" in packed:
        return located(*packed["generic"])[tuple(map(_unpacked_type, packed["of"]))]
    return located(*packed["place"])
