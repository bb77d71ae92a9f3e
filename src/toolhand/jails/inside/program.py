"""Runs one program that a model wrote, in a process that is closed in already; the host kills it when the program has ended.

The tools are plain names and members of `api`; each call is a frame to the host, and its result a frame back.
"""

from __future__ import annotations

import ast
import asyncio
import base64
import builtins
import contextlib
import decimal
import fractions
import inspect
import json
import math
import os
import sys
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolhand.jails.inside.awaiting import awaited_calls
from toolhand.jails.inside.frames import Frames, encoded

SOURCE: Final = "<program>"
_MOST_TEXT, _DEEPEST, _MOST_FILES, _PART = 2_000, 100, 8 * 2**20, 2**19
_KINDS: Final = (".png", ".jpg", ".jpeg", ".csv", ".json", ".txt", ".md")


class ToolError(RuntimeError):
    """What a tool call ends with when it has no result; `code` is one of Toolhand's error codes."""

    code = ""


class _Wire:
    """The way to the host, for all threads: whoever waits reads, and what is not his he leaves to its owner."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._frames, self._came = Frames(), dict[int, dict[str, Any]]()
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._number = 0
        self.most_argument = 0

    def send(self, frame: dict[str, Any]) -> None:
        data = encoded(frame)
        with self._writing:
            while data:
                data = data[os.write(self._outgoing, data) :]

    def receive(self) -> None:
        piece = os.read(self._incoming, 1 << 20)
        if not piece:
            os._exit(0)  # the host is gone
        for frame in self._frames.feed(piece):
            self._came[frame.get("id", 0)] = frame

    def taken(self, number: int) -> dict[str, Any]:
        while True:
            with self._reading:
                if number in self._came:
                    return self._came.pop(number)
                self.receive()

    def ask(self, name: str, arguments: Mapping[str, Any]) -> int:
        sent = {str(key): plain(value, TypeError) for key, value in arguments.items()}
        if len(json.dumps(sent)) > self.most_argument:
            raise ValueError(f"the arguments of {name} are larger than {self.most_argument // 1024} kB")
        with self._writing:
            self._number = number = self._number + 1
        self.send({"id": number, "call": name, "arguments": sent})
        return number

    def result(self, number: int) -> Any:
        frame = self.taken(number)
        if "error" not in frame:
            return frame.get("value")
        error = ToolError(frame["error"])
        error.code = frame.get("code", "")
        raise error


class _Api:
    """`api.NAME(…)`, `api.call_tool(NAME, …)` and `api.parallel([(NAME, {…}), …])`."""

    def __init__(self, wire: _Wire, tools: Mapping[str, list[str]]) -> None:
        def call_tool(name: str, *values: Any, **arguments: Any) -> Any:
            return wire.result(
                wire.ask(str(name), _named(str(name), tools.get(str(name), []), values, arguments))
            )

        def parallel(calls: list[Any]) -> list[Any]:
            return [wire.result(number) for number in [wire.ask(str(one[0]), one[1]) for one in calls]]

        self.call_tool, self.parallel = call_tool, parallel
        for name in tools:
            setattr(self, name, tool_function(name, call_tool))


def _named(
    name: str, parameters: list[str], values: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    if len(values) > len(parameters):
        raise TypeError(f"{name}() takes {len(parameters)} arguments but {len(values)} were given")
    return {**dict(zip(parameters, values, strict=False)), **named}


def tool_function(name: str, call_tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool as a plain function."""

    def function(*values: Any, **arguments: Any) -> Any:
        return call_tool(name, *values, **arguments)

    function.__name__ = function.__qualname__ = name
    return function


def plain(value: Any, otherwise: type[Exception] | None = None, depth: int = 0) -> Any:
    """A value as JSON has it: of tables their rows, of arrays their items.

    Args:
        value: anything.
        otherwise: raised for what has no such form; without it, only its type is told.
        depth: how far inside it is.

    Raises:
        ValueError: when it is nested too deep.
    """
    if depth > _DEEPEST:
        raise ValueError(f"a value is nested more than {_DEEPEST} levels deep")
    if value is None or isinstance(value, bool | int | str):
        return value if type(value) in {type(None), bool, int, str} else {bool: bool, int: int, str: str}[
            next(kind for kind in (bool, int, str) if isinstance(value, kind))
        ](value)  # fmt: skip
    if isinstance(value, float):
        return float(value) if math.isfinite(value) or otherwise else None
    if isinstance(value, Mapping):
        return {str(key): plain(item, otherwise, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, otherwise, depth + 1) for item in value]
    for name, options in (
        ("to_dict", {"orient": "records"}),
        ("to_dict", {}),
        ("tolist", {}),
        ("isoformat", {}),
    ):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            with contextlib.suppress(TypeError):
                return plain(method(**options), otherwise, depth + 1)
    if otherwise is not None:
        raise otherwise(
            f"a {type(value).__name__} cannot be given to a tool: give text, numbers, lists or dicts"
        )
    if type(value) in {decimal.Decimal, fractions.Fraction, complex}:
        return str(value)
    return f"<{type(value).__qualname__}>"[:200]  # its own words for itself could pass for a value


def serve(incoming: int, outgoing: int) -> None:
    """Waits for the one program, runs it, and tells how it went."""
    wire = _Wire(incoming, outgoing)
    shown = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = shown  # type: ignore[misc]
    wire.send({"ready": True})
    job = wire.taken(0)
    wire.most_argument = job["most_argument"]
    for name in ("random", "numpy.random"):
        if name in sys.modules:  # children of one parent would all draw the same numbers
            sys.modules[name].seed()
    place = os.getcwd()  # noqa: PTH109
    ending = _ending(job, wire)
    with contextlib.suppress(BaseException):
        shown.flush()
    with contextlib.suppress(Exception):
        os.chdir(place)
        _send_files(wire)
    try:
        if len(json.dumps(ending.get("value"))) > job["most_value"]:
            ending = {"error": ["output", "", f"{job['most_value'] // 1024} kB", 0]}
    except (RecursionError, MemoryError):
        ending = {"error": ["memory", "MemoryError", "", 0]}
    wire.send({"done": ending})
    os.read(incoming, 1)  # until the host ends this process


def _ending(job: Mapping[str, Any], wire: _Wire) -> dict[str, Any]:
    try:
        return {"value": plain(_run(job, wire))}
    except SystemExit as error:
        return {"value": None} if error.code in {None, 0} else {"error": _told(error)}
    except BaseException as error:  # noqa: BLE001 - whatever a program raises is its own
        return {"error": _told(error)}


def _run(job: Mapping[str, Any], wire: _Wire) -> Any:
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    api = _Api(wire, job["tools"])
    module.__dict__.update(
        {"__builtins__": builtins, "api": api, "ToolError": ToolError, "_later": asyncio.to_thread}
    )
    module.__dict__.update({name: getattr(api, name) for name in job["tools"]})
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].show = lambda *_, **__: None  # type: ignore[attr-defined]
    tree = ast.parse(job["code"], SOURCE)
    for node in awaited_calls(tree, job["tools"]):
        node.args.insert(0, node.func)
        node.func = ast.copy_location(ast.Name("_later", ast.Load()), node)
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        target = ast.copy_location(ast.Name("_value", ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    code = compile(ast.fix_missing_locations(tree), SOURCE, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    going = eval(code, module.__dict__)  # noqa: S307 - this is what the walls are for
    if inspect.iscoroutine(going):
        asyncio.run(going)
    value = module.__dict__.get("_value")
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def _told(error: BaseException) -> list[Any]:
    """An error as its kind, its type, its text, and the program's own line where it came up."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == SOURCE:
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename == SOURCE:
        line = error.lineno or 0
    with contextlib.suppress(BaseException):
        kind = "memory" if isinstance(error, MemoryError) else "exception"
        return [kind, type(error).__name__[:100], str(error)[:_MOST_TEXT], line]
    return ["exception", "Exception", "", line]


def _send_files(wire: _Wire) -> None:
    """What the program has left in its folder of the kinds that may come out, and the plots it has not saved itself."""
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is not None and not any(name.endswith(_KINDS[:3]) for name in os.listdir()):  # noqa: PTH208
        for number in plots.get_fignums()[:10]:
            plots.figure(number).savefig(f"plot_{number}.png")
    left = _MOST_FILES
    for name in sorted(os.listdir())[:100]:  # noqa: PTH208
        if name.lower().endswith(_KINDS) and os.path.isfile(name) and os.path.getsize(name) <= left:  # noqa: PTH113, PTH202
            with open(name, "rb") as file:  # noqa: PTH123
                while part := file.read(min(_PART, left)):
                    left -= len(part)
                    wire.send({"file": name, "content": base64.b64encode(part).decode()})


def main() -> None:
    """In a container, where walls stand already: frames on standard input and output, the text on the third."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open("/dev/null", os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    serve(incoming, outgoing)
