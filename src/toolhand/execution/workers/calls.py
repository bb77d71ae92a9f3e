"""What a worker does: it reads a call, runs the tool's function, and writes down how that ended. One call at a time."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import inspect
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolhand.core.context import RunContext
from toolhand.core.errors import FatalError, ToolFailure
from toolhand.core.jsonable import jsonable
from toolhand.core.tools import Rules, Tool
from toolhand.execution.faults import fault
from toolhand.execution.workers.carried import located, unpack
from toolhand.execution.workers.failures import FrameTooLargeError
from toolhand.execution.workers.frames import encoded, receive
from toolhand.tools.schema import describe

_MOST_TRACE_CHARACTERS: Final = 20_000

_Function = Callable[..., Any]
_Validate = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_FOUND: dict[str, tuple[_Function, _Validate]] = {}
"""The tools of this process, filled by a template before it forks and inherited by its workers."""


def found_tool(definition: Mapping[str, str]) -> tuple[_Function, _Validate]:
    """A tool's function and its validator, imported or unpacked once.

    Raises:
        BaseException: whatever the module raises while it is imported.
    """
    key = definition["place"] or definition["carried"]
    if key not in _FOUND:
        if definition["place"]:
            made = located(*definition["place"].split(":", 1))
        else:
            made = unpack(base64.b64decode(definition["carried"]))
        function = made.function if isinstance(made, Tool) else made
        if isinstance(made, Tool) and function is not None and made.validate is not None:
            _FOUND[key] = function, made.validate
        elif function is not None:
            described = describe(function)
            _FOUND[key] = described.function, described.validate
    return _FOUND[key]


def serve_calls(channel: socket.socket) -> None:
    """Runs calls until the parent's end is closed."""
    me = os.getpid()
    # A child of a tool must neither speak for the worker nor keep its channel open.
    os.register_at_fork(after_in_child=channel.close)
    _reseed()
    environ: dict[str, str] | None = None
    while (received := receive(channel)) is not None:
        job: Mapping[str, Any] = received[0]
        environ = job.get("environ", environ)
        frame = _answer(job, environ or {})
        if os.getpid() != me:
            os._exit(0)  # the tool has forked, and its child came back here
        channel.sendall(frame)
        del received, job, frame
    os._exit(0)


def _reseed() -> None:
    # Python's own generator is reseeded after a fork; NumPy's is not, and all workers would draw the same numbers.
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()


def _answer(job: Mapping[str, Any], environ: Mapping[str, str]) -> bytes:
    try:
        return _ended({"value": _value(job, environ)}, job["most_bytes"])
    except FrameTooLargeError as error:
        return _ended({"kind": "too_large", "type": "FrameTooLargeError", "text": str(error), "trace": ""})
    except ToolFailure as failure:
        told = {**dataclasses.asdict(failure.error), "chinese": failure.chinese}
        return _ended({"kind": "failure", "error": jsonable(told)})
    except FatalError as error:
        return _ended({"kind": "fatal", "text": _text(error)})
    except BaseException as error:  # noqa: BLE001 - a tool may raise anything, an exit too
        trace = "".join(traceback.format_exception(error))[-_MOST_TRACE_CHARACTERS:]
        judged = dataclasses.asdict(
            fault(error, Tool(name="", rules=Rules(effect="writes", idempotent=job["is_repeatable"])))
        )
        return _ended(
            {
                "kind": "memory" if isinstance(error, MemoryError) else "raised",
                "type": type(error).__name__,
                "text": _text(error),
                "trace": trace,
                "fault": jsonable(judged),
            }
        )


def _value(job: Mapping[str, Any], environ: Mapping[str, str]) -> Any:
    if dict(os.environ) != environ:
        os.environ.clear()
        os.environ.update(environ)
    os.chdir(job["directory"])
    function, validate = found_tool(job["definition"])
    arguments = dict(validate(job["arguments"]) if job["is_typed"] else job["arguments"])
    arguments |= job["injected"]
    if job["context"] is not None:
        arguments |= dict.fromkeys(job["context_parameters"], RunContext(**job["context"]))
    value = function(**arguments)
    if inspect.isawaitable(value):
        value = asyncio.run(_awaited(value))
    return jsonable(value)


async def _awaited(value: Any) -> Any:
    return await value


def _ended(answer: dict[str, Any], most_bytes: int | None = None) -> bytes:
    # After running out of memory, what is left of the heap is nobody's to guess.
    answer["is_clean"] = answer.get("kind") != "memory" and _is_clean()
    return encoded(answer) if most_bytes is None else encoded(answer, most_bytes)


def _is_clean() -> bool:
    """Whether the call has left nothing running: no child, detached ones included (they are adopted), and no thread."""
    if threading.active_count() > 1:
        return False
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return False


def _text(error: BaseException) -> str:
    try:
        return str(jsonable(str(error)))[:2_000]
    except Exception:  # noqa: BLE001 - an exception's own text may raise
        return ""
