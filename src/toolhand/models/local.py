"""The embedded model: llama.cpp in this process, on weights in the user's cache. No server and no key.

Source: https://github.com/xorbitsai/xllamacpp (llama.cpp's own server, called by functions).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from toolhand.core.errors import MissingExtraError, ModelError, ModelFault, SettingsError, WeightsError
from toolhand.core.events import TextDelta
from toolhand.core.language import say
from toolhand.core.messages import ModelOutput, ModelRequest
from toolhand.models.cores import chosen_threads
from toolhand.models.deltas import StreamedOutput
from toolhand.models.repetition import RepetitionGuard
from toolhand.models.runtime import Runtime, RuntimeSettings, shared_runtime
from toolhand.models.weights import find, is_present, path_of
from toolhand.models.wire import Dialect, Encoder

DEFAULT_CONTEXT_TOKENS: Final = 8192

DEFAULT_MAX_TOKENS: Final = 1024
"""A small model may repeat itself without end; at 30 tokens a second this is half a minute."""


class LocalModel:
    """A model that runs in this process. It is loaded at the first request, off the event loop.

    A reply that repeats one piece over and over is stopped, and counts as cut by length. Models with the same file and
    settings share the loaded weights; they are freed when the last of them is closed or forgotten.

    Args:
        name: what people call it.
        settings: the file and how it is loaded.
        max_tokens: the bound on a reply's length where a request sets none.
    """

    answers_late = True
    """Whether it is offered a tool for its answer only when it has said that it is done: it keeps to its tools better so."""

    def __init__(self, name: str, settings: RuntimeSettings, *, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        self.name = name
        self.settings = settings
        # Temperature 0 so that the same question gets the same answer; progress so that a long prompt can be cancelled.
        extra = {
            "temperature": 0.0,
            "max_tokens": max_tokens,
            "cache_prompt": True,
            "return_progress": True,
        }
        # llama.cpp forces no call of these models where one is required: it only keeps them from stopping after the first.
        self._encoder = Encoder(name, Dialect(obeys_tool_choice=False, grammar="llguidance", extra=extra))
        self._runtime: Runtime | None = None
        self._answers: dict[threading.Thread, threading.Event] = {}

    @property
    def context_tokens(self) -> int:
        """How many tokens prompt and reply may have together."""
        return self.settings.context_tokens

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r}, {str(self.settings.path)!r})"

    async def complete(self, request: ModelRequest) -> ModelOutput:
        """One whole output.

        Raises:
            ModelError: when the request does not fit the model's context.
            WeightsError: when the file cannot be loaded.
        """
        output = ModelOutput()
        async with aclosing(self._pieces(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ModelOutput):
                    output = piece
        return output

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelOutput]:
        """The same, with the text in pieces as it comes and the whole output as the last item.

        Raises:
            ModelError: as `complete`.
            WeightsError: as `complete`.
        """
        async with aclosing(self._pieces(request)) as pieces:
            async for piece in pieces:
                yield piece

    async def close(self) -> None:
        """Stops what it still answers and lets go of the loaded model; the last one to do so frees the memory."""
        held = [self._runtime]
        self._runtime = None
        answers, self._answers = self._answers, {}
        for is_cancelled in answers.values():
            is_cancelled.set()

        def let_go() -> None:
            for thread in answers:
                thread.join()
            held.clear()

        await asyncio.to_thread(let_go)

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[TextDelta | ModelOutput, None]:
        runtime = self._runtime
        if runtime is None:
            runtime = self._runtime = await asyncio.to_thread(shared_runtime, self.settings)
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[TextDelta | ModelOutput | Exception] = asyncio.Queue()
        is_cancelled = threading.Event()
        streamed = StreamedOutput(request.tools)
        guard = RepetitionGuard()
        errors: list[Exception] = []

        def give(piece: TextDelta | ModelOutput | Exception) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
                loop.call_soon_threadsafe(arrived.put_nowait, piece)

        def take(chunk: Any) -> bool:
            """Called by llama.cpp for each chunk; true stops it."""
            try:
                text = streamed.feed(_as_chunk(chunk))
            except Exception as error:  # noqa: BLE001 - llama.cpp swallows what a callback raises; it is given on instead
                # Without its traceback, whose frames lead to the weights and would hold them as long as the error is held.
                errors.append(error.with_traceback(None))
                return True
            if text:
                give(TextDelta(text=text))
            return guard.feed(text) or is_cancelled.is_set()

        def finished(error: Exception | None) -> None:
            error = errors[0] if errors else error
            if error is not None:
                give(self._translated(error))
            else:
                output = streamed.finish()
                give(replace(output, finish_reason="length") if guard.is_repeating else output)

        thread = runtime.start(self._encoder.body(request, streams=True), take, finished)
        self._answers = {t: e for t, e in self._answers.items() if t.is_alive()} | {thread: is_cancelled}
        del runtime, thread  # a stream that is left open must not keep the weights after `close`
        try:
            while True:
                piece = await arrived.get()
                if isinstance(piece, Exception):
                    raise piece
                yield piece
                if isinstance(piece, ModelOutput):
                    return
        finally:
            is_cancelled.set()

    def _translated(self, error: Exception) -> Exception:
        if isinstance(error, ModelError) and "exceed" in str(error) and "context size" in str(error):
            tokens = self.settings.context_tokens
            return ModelError(
                say(
                    f"the conversation is longer than the context of {self.name} ({tokens} tokens): "
                    "start a new session, shorten the tools, or give context_tokens=…",
                    f"对话超出了 {self.name} 的上下文（{tokens} 个 token）：请新建会话、精简工具，或设置 context_tokens=…",
                ),
                fault=ModelFault.CONTEXT_OVERFLOW,
                status=400,
            )
        if isinstance(error, ModelError):
            return error
        return ModelError(say(f"{self.name} could not answer: {error}", f"{self.name} 无法回答：{error}"))


def _as_chunk(chunk: Any) -> Any:
    """What llama.cpp hands over: a chunk, an error, or a bare error without its envelope."""
    if isinstance(chunk, dict) and "choices" not in chunk and "error" not in chunk and "message" in chunk:
        return {"error": chunk}
    return chunk


def connect(
    rest: str,
    *,
    threads: int | None = None,
    context_tokens: int = DEFAULT_CONTEXT_TOKENS,
    parallel: int = 1,
    max_tokens: int = DEFAULT_MAX_TOKENS,
) -> LocalModel:
    """The model "local:<rest>".

    Args:
        rest: a name from the catalogue, "small", the path of a GGUF file, or "" for the default.
        threads: how many compute; `TOOLHAND_THREADS`, or else all cores, without those that others keep busy when it is loaded.
        context_tokens: how long a conversation may be, its tools included.
        parallel: how many conversations are answered at once; each has its own context.
        max_tokens: the bound on a reply's length where a request sets none.

    Raises:
        SettingsError: when nothing has that name, or a number is not positive.
        MissingExtraError: when the extra 'local' is not installed.
        WeightsError: when the weights are not here.
    """
    threads = chosen_threads() if threads is None else threads
    for option, value in (
        ("threads", threads),
        ("context_tokens", context_tokens),
        ("parallel", parallel),
        ("max_tokens", max_tokens),
    ):
        if value is not None and value < 1:
            raise SettingsError(
                say(f"{option} must be at least 1, not {value}", f"{option} 至少为 1，不能是 {value}")
            )
    name = f"local:{rest}" if rest else "local"
    path = _path(name, rest)
    if find_spec("xllamacpp") is None:
        raise MissingExtraError("local", say("the embedded model", "内置模型"))
    settings = RuntimeSettings(path=path, threads=threads, context_tokens=context_tokens, parallel=parallel)
    return LocalModel(name, settings, max_tokens=max_tokens)


def _path(name: str, rest: str) -> Path:
    if rest.endswith(".gguf"):
        path = Path(rest).expanduser().resolve()
        if not path.is_file():
            raise WeightsError(say(f"there is no file {path}", f"没有文件 {path}"))
        return path
    entry = find(rest or "local")
    if not is_present(entry):
        path = path_of(entry)
        is_there = path.exists()
        state, state_zh = (
            ("are damaged or half there", "已损坏或不完整") if is_there else ("are not here", "不在本机")
        )
        pull = f"`toolhand models pull {entry.name}`"
        raise WeightsError(
            say(
                f"the weights of {name} {state} ({path}): fetch them with {pull}",
                f"{name} 的权重{state_zh}（{path}）：请用 {pull} 下载",
            )
        )
    return path_of(entry)
