"""llama.cpp's server, loaded once for each file and setting, and called from threads.

It always opens a listening socket. Here that is a Unix socket in a folder of its own which is removed as soon as it is loaded;
where there are none (Windows), a loopback port with a key that nobody knows. Nothing talks to it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import os
import secrets
import signal
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolhand.core.errors import ModelError, WeightsError
from toolhand.core.language import say
from toolhand.models.cores import idle_cores

BATCH_TOKENS: Final = 256
"""How much of a prompt is read between two chances to cancel."""

PROMPT_CACHE_MEBIBYTES: Final = 1024
"""Memory for the read prompts of conversations that take turns."""

_LONGEST_SOCKET_PATH: Final = 100

_EXIT_SECONDS: Final = 10.0

_SILENT: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """What a loaded model is shared by.

    Args:
        path: the GGUF file.
        threads: how many compute; None for as many as there are idle cores when it is loaded.
        context_tokens: of one conversation.
        parallel: conversations at once.
    """

    path: Path
    threads: int | None
    context_tokens: int
    parallel: int


class Runtime:
    """A loaded model.

    Args:
        settings: the file and how it is loaded.

    Raises:
        WeightsError: when it cannot be loaded.
    """

    def __init__(self, settings: RuntimeSettings) -> None:
        self.settings = settings
        self._process_id = os.getpid()
        self._is_closing = False
        self._running = 0
        self._idle = threading.Condition()
        with _own_socket() as address, _signals_kept():
            self._server: Any = _load(settings, address)

    def start(
        self, body: bytes, take: Callable[[Any], bool], finished: Callable[[Exception | None], None]
    ) -> threading.Thread:
        """Begins to answer a request, in a thread of its own.

        Args:
            body: the request, as for chat completions.
            take: called with each chunk; true stops the answer.
            finished: called once at the end, with the error that ended it.

        Returns:
            The thread, which ends right after `finished`.

        Raises:
            ModelError: when it was closed, or belongs to the process that this one was forked from.
        """
        if os.getpid() != self._process_id:
            raise ModelError(
                say(
                    "a loaded model does not survive a fork: make the agent in the process that uses it",
                    "已加载的模型无法在 fork 之后使用：请在使用它的进程里创建 agent",
                )
            )
        with self._idle:
            if self._is_closing:
                raise ModelError(say("the model is being closed", "模型正在关闭"))
            self._running += 1
        # A daemon, as the end of the program must not wait for a long answer; `close` ends it properly.
        thread = threading.Thread(
            target=self._answer, args=(body, take, finished), name="toolhand-local", daemon=True
        )
        thread.start()
        return thread

    def _answer(
        self, body: bytes, take: Callable[[Any], bool], finished: Callable[[Exception | None], None]
    ) -> None:
        def callback(chunk: bytes) -> bool:
            return self._is_closing or take(json.loads(chunk))

        error: Exception | None = None
        try:
            self._server.handle_chat_completions(body, callback)
        except Exception as raised:  # noqa: BLE001 - llama.cpp raises for a template or a setting that it refuses
            error = raised.with_traceback(None)  # its frames would hold the weights
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()
        if self._is_closing:
            error = error or ModelError(say("the model was closed while it answered", "模型在回答时被关闭"))
        finished(error)

    def close(self) -> None:
        """Stops every answer and frees the memory."""
        self._is_closing = True
        if os.getpid() != self._process_id:
            # llama.cpp's threads do not exist here; to free it would wait for them for ever.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))
            return
        with self._idle:
            is_idle = self._idle.wait_for(lambda: not self._running, timeout=_EXIT_SECONDS)
        if is_idle:
            self._server = None


def _load(settings: RuntimeSettings, address: str) -> Any:
    import xllamacpp  # noqa: PLC0415 - optional, and 100 MB

    threads = settings.threads or idle_cores()
    params = xllamacpp.CommonParams()
    params.model.path = str(settings.path)
    params.n_ctx = settings.context_tokens * settings.parallel
    params.n_parallel = settings.parallel
    params.n_batch = BATCH_TOKENS
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = PROMPT_CACHE_MEBIBYTES
    params.fit_params = False  # the settings are the user's; guessing others takes a second
    params.warmup = False
    params.use_jinja = True
    params.verbosity = _SILENT
    params.ui = False
    params.n_threads_http = 1
    params.hostnames = [address]
    params.port = 0
    params.api_keys = [secrets.token_hex(32)]
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise WeightsError(
            say(
                f"{settings.path} could not be loaded: it is not a GGUF model that this llama.cpp knows, "
                f"or there is too little memory for {settings.context_tokens} tokens of context",
                f"无法加载 {settings.path}：它不是此 llama.cpp 认识的 GGUF 模型，或内存放不下 {settings.context_tokens} 个 token",
            )
        ) from error


@contextlib.contextmanager
def _own_socket() -> Iterator[str]:
    if sys.platform == "win32":
        yield "127.0.0.1"
        return
    parent = tempfile.gettempdir()
    with tempfile.TemporaryDirectory(
        prefix="toolhand-",
        dir=parent if len(parent) < _LONGEST_SOCKET_PATH - 30 else "/tmp",  # noqa: S108
    ) as folder:
        yield f"{folder}/s.sock"


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Leaves Ctrl-C to Python: some versions of llama.cpp's server take the signals' handlers for themselves.

    At the level of C, as Python allows it only in the main thread.
    """
    api = ctypes.pythonapi
    api.PyOS_getsig.restype = api.PyOS_setsig.restype = ctypes.c_void_p
    api.PyOS_setsig.argtypes = (ctypes.c_int, ctypes.c_void_p)
    kept = {number: api.PyOS_getsig(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            if api.PyOS_getsig(number) != handler:
                api.PyOS_setsig(number, handler)


_LOADED: weakref.WeakValueDictionary[tuple[int, RuntimeSettings], Runtime] = weakref.WeakValueDictionary()
_LOADING = threading.Lock()


def shared_runtime(settings: RuntimeSettings) -> Runtime:
    """The loaded model of these settings, loading it where nobody has yet. Blocks for a second or more.

    Raises:
        WeightsError: when it cannot be loaded.
    """
    key = (os.getpid(), settings)
    with _LOADING:
        runtime = _LOADED.get(key)
        if runtime is None:
            runtime = _LOADED[key] = Runtime(settings)
        return runtime


@atexit.register
def _close_all() -> None:
    for runtime in list(_LOADED.values()):
        runtime.close()
