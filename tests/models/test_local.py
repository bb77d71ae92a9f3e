"""The embedded model. Most of it on the real small one, with one thread: two on a busy machine are slower."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest

from toolhand.core.errors import MissingExtraError, ModelError, SettingsError, WeightsError
from toolhand.core.events import TextDelta
from toolhand.core.messages import (
    Message,
    ModelOutput,
    ModelRequest,
    Sampling,
    ToolCall,
    ToolResult,
    Value,
    user,
)
from toolhand.core.tools import Tool, ToolChoice
from toolhand.models import Model, local, runtime
from toolhand.models.local import LocalModel, connect
from toolhand.models.weights import find, path_of, pull
from toolhand.protocols.parse import parse

STOCK = Tool(
    name="get_stock",
    description="How many pieces of an item a warehouse holds.",
    parameters={
        "type": "object",
        "properties": {"item": {"type": "string"}, "warehouse": {"type": "string", "default": "main"}},
        "required": ["item"],
    },
)
QUESTION = user("仓库里还有多少把扳手？")
SHORT = Sampling(max_tokens=60)


@pytest.fixture(scope="session")
def weights() -> Path:
    """The small model's file, fetched where it is missing."""
    return pull(find("local:small"))


@pytest.fixture
def small(weights: Path) -> LocalModel:
    return connect("small", threads=1)


def test_missing_weights_name_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOOLHAND_CACHE", str(tmp_path))
    with pytest.raises(
        WeightsError, match=r"local:small are not here .*toolhand models pull qwen2\.5-coder-0\.5b"
    ):
        connect("small")
    path_of(find("small")).parent.mkdir()
    path_of(find("small")).write_bytes(b"half")
    with pytest.raises(WeightsError, match="damaged or half there"):
        connect("small")
    with pytest.raises(WeightsError, match="there is no file"):
        connect(str(tmp_path / "none.gguf"))
    with pytest.raises(SettingsError, match="no embedded model 'huge'"):
        connect("huge")


def test_a_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"")
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[local\]'"):
        connect(str(tmp_path / "x.gguf"))


@pytest.mark.parametrize("option", ["threads", "context_tokens", "parallel", "max_tokens"])
def test_settings_that_make_no_sense(option: str) -> None:
    with pytest.raises(SettingsError, match=f"{option} must be at least 1, not 0"):
        connect("small", **{option: 0})


@pytest.mark.model
async def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(WeightsError, match=r"broken\.gguf could not be loaded"):
        await connect(str(broken)).complete(ModelRequest(messages=(QUESTION,)))


@pytest.mark.model
async def test_native_tools_come_back_as_text(small: LocalModel) -> None:
    request = ModelRequest(messages=(QUESTION,), tools=(STOCK,), sampling=SHORT)
    output = await small.complete(request)
    assert isinstance(small, Model)
    assert output.calls == (), "the server is told to leave calls in the text: reading them is ours"
    assert "get_stock" in output.text
    read = parse(output.text, [STOCK])
    assert [(call.name, call.arguments["item"]) for call in read.calls] == [("get_stock", "扳手")]
    assert output.usage.input_tokens > 100
    again = await small.complete(request)
    assert again.text == output.text, "temperature 0 repeats itself"
    assert again.usage.cached_tokens > 100, "the prompt cache is on"
    await small.close()


@pytest.mark.model
async def test_no_tools_are_shown_where_none_may_be_called(small: LocalModel) -> None:
    tools = ModelRequest(messages=(QUESTION,), tools=(STOCK,), tool_choice=ToolChoice("none"), sampling=SHORT)
    bare = ModelRequest(messages=(QUESTION,), sampling=SHORT)
    first, second = await small.complete(tools), await small.complete(bare)
    assert first.usage.input_tokens == second.usage.input_tokens
    await small.close()


@pytest.mark.model
async def test_calls_and_results_in_the_history_are_taken_by_the_template(small: LocalModel) -> None:
    history = (
        QUESTION,
        Message(role="assistant", parts=(ToolCall(id="c1", name="get_stock", arguments={"item": "扳手"}),)),
        Message(
            role="tool", parts=(ToolResult(call_id="c1", name="get_stock", outcome=Value({"pieces": 37})),)
        ),
    )
    output = await small.complete(ModelRequest(messages=history, tools=(STOCK,), sampling=SHORT))
    assert output.text
    await small.close()


@pytest.mark.model
async def test_streaming_gives_the_same_in_pieces(small: LocalModel) -> None:
    request = ModelRequest(messages=(user("Count from 1 to 5."),), sampling=SHORT)
    whole = await small.complete(request)
    items = [item async for item in small.stream(request)]
    assert isinstance(items[-1], ModelOutput)
    assert len(items) > 5
    assert (
        "".join(item.text for item in items[:-1] if isinstance(item, TextDelta))
        == whole.text
        == items[-1].text
    )
    await small.close()


@pytest.mark.model
async def test_grammar_and_stop(small: LocalModel) -> None:
    grammar = {
        "type": "object",
        "properties": {"city": {"enum": ["北京", "上海"]}},
        "required": ["city"],
        "additionalProperties": False,
    }
    forced = await small.complete(ModelRequest(messages=(user("Paris?"),), grammar=grammar, sampling=SHORT))
    assert any(city in forced.text for city in ("北京", "上海"))
    stopped = await small.complete(
        ModelRequest(messages=(user("Say exactly: one two three"),), stop=("two",), sampling=SHORT)
    )
    assert "two" not in stopped.text
    await small.close()


@pytest.mark.model
async def test_cancelling_frees_the_model_for_the_next_one(small: LocalModel) -> None:
    endless = ModelRequest(messages=(user("Write a very long story."),), sampling=Sampling(max_tokens=900))
    stream = small.stream(endless)
    await anext(stream)
    await stream.aclose()
    started = time.monotonic()
    await small.complete(ModelRequest(messages=(user("hi"),), sampling=Sampling(max_tokens=3)))
    task = asyncio.ensure_future(small.complete(endless))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await small.complete(ModelRequest(messages=(user("hi"),), sampling=Sampling(max_tokens=3)))
    assert time.monotonic() - started < 25, "the cancelled answers would have taken a minute"
    await small.close()


@pytest.mark.model
async def test_closing_stops_an_answer(small: LocalModel) -> None:
    stream = small.stream(ModelRequest(messages=(user("Write a very long story."),)))
    await anext(stream)
    loaded = weakref.ref(small._runtime)
    await small.close()
    assert loaded() is None
    await stream.aclose()


@pytest.mark.model
async def test_a_conversation_that_is_too_long(small: LocalModel) -> None:
    with pytest.raises(ModelError, match=r"longer than the context of local:small \(8192 tokens\)") as caught:
        await small.complete(ModelRequest(messages=(user("word " * 9000),)))
    assert not caught.value.retryable
    await small.close()


@pytest.mark.model
async def test_an_error_that_is_kept_does_not_keep_the_weights(small: LocalModel) -> None:
    gc.collect()
    gc.disable()  # a gigabyte must not wait for the collector
    try:
        with pytest.raises(ModelError) as kept:
            await small.complete(ModelRequest(messages=(user("word " * 9000),)))
        loaded = weakref.ref(small._runtime)
        assert loaded() is not None
        await small.close()
        assert loaded() is None
        assert kept.value.status == 400
    finally:
        gc.enable()


@pytest.mark.model
async def test_an_endless_repetition_is_stopped(small: LocalModel) -> None:
    line = "apple banana cherry\n"
    request = ModelRequest(messages=(user("Repeat this line for ever:\n" + line * 30),))
    output = await small.complete(request)
    assert (output.finish_reason, output.usage.output_tokens < 900) == ("length", True)
    await small.close()


@pytest.mark.model
async def test_models_with_the_same_settings_share_what_is_loaded(weights: Path) -> None:
    others = list(runtime._LOADED.values())
    first, second = connect("small", threads=1), connect(str(weights), threads=1)
    request = ModelRequest(messages=(user("hi"),), sampling=Sampling(max_tokens=2))
    await asyncio.gather(first.complete(request), second.complete(request))
    assert first._runtime is second._runtime
    loaded = [weakref.ref(found) for found in runtime._LOADED.values() if found not in others]
    assert [found() for found in loaded] == [first._runtime]
    await first.close()
    assert (await second.complete(request)).text, "the other one goes on"
    await second.close()
    assert loaded[0]() is None, "the last one frees it"
    assert (await first.complete(request)).text, "and it can be loaded again"
    await first.close()


@pytest.mark.model
def test_one_model_in_several_loops(small: LocalModel) -> None:
    request = ModelRequest(messages=(user("hi"),), sampling=Sampling(max_tokens=2))
    assert asyncio.run(small.complete(request)) is not asyncio.run(small.complete(request))
    asyncio.run(small.close())


PROGRAM = """
import asyncio, os, signal, sys, threading
from toolhand.core.messages import ModelRequest, Sampling, user
from toolhand.models.local import connect

model = connect("small", threads=1)

def ask(text, tokens):
    return model.complete(ModelRequest(messages=(user(text),), sampling=Sampling(max_tokens=tokens)))

async def main():
    await ask("hi", 2)
    print("loaded", flush=True)
    {then}

asyncio.run(main())
"""


def run_program(then: str, after: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PROGRAM.replace("{then}", then) + after],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


@pytest.mark.model
def test_a_program_ends_cleanly_and_llama_cpp_says_nothing(weights: Path) -> None:
    out, err = run_program("pass").communicate(timeout=100)
    assert (out, err) == ("loaded\n", "")


@pytest.mark.model
def test_a_program_that_ends_in_the_middle_of_an_answer(weights: Path) -> None:
    """The loop runs in a daemon thread, so nobody cancels the answer before the interpreter ends."""
    then = (
        "loop = asyncio.new_event_loop(); threading.Thread(target=loop.run_forever, daemon=True).start(); "
        "asyncio.run_coroutine_threadsafe(ask('Write a very long story.', 1000), loop); await asyncio.sleep(0.5); print('end')"
    )
    started = time.monotonic()
    process = run_program(then)
    out, err = process.communicate(timeout=100)
    assert (process.returncode, out, err) == (0, "loaded\nend\n", "")
    assert time.monotonic() - started < 25


@pytest.mark.model
def test_ctrl_c_reaches_python(weights: Path) -> None:
    process = run_program("await ask('Write a very long story.', 1000)")
    assert process.stdout is not None
    assert process.stdout.readline() == "loaded\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert err.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.model
@pytest.mark.skipif(
    sys.platform == "win32", reason="there are no Unix sockets to listen on, so a loopback port is opened"
)
def test_no_port_is_opened_and_no_socket_left(weights: Path) -> None:
    then = (
        "import pathlib, glob, tempfile; tables = [pathlib.Path('/proc/net/tcp'), pathlib.Path('/proc/net/tcp6')]; "
        "inodes = {os.readlink(link) for link in glob.glob(f'/proc/{os.getpid()}/fd/*') if os.path.exists(link) or os.path.islink(link)}; "
        "listening = [f'socket:[{line.split()[9]}]' for t in tables if t.exists() for line in t.read_text().splitlines()[1:] if line.split()[3] == '0A']; "
        "print(sorted(inodes & set(listening)))"
    )
    if not Path("/proc/net/tcp").exists():
        pytest.skip("only Linux lists its sockets in files")
    out, err = run_program(then).communicate(timeout=100)
    assert (out, err) == ("loaded\n[]\n", "")


@pytest.mark.model
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_is_refused_and_ends(weights: Path) -> None:
    after = (
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        model._runtime.start(b'', None, None)\n"
        "    except Exception as error:\n"
        "        print('fork' in str(error), flush=True)\n"
        "        os._exit(7)\n"  # as multiprocessing ends its children: llama.cpp's own threads are not there to be joined
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "print(asyncio.run(ask('hi', 2)).finish_reason)\n"
    )
    out, err = run_program("pass", after).communicate(timeout=60)
    assert (out, err) == ("loaded\nTrue\n7\nlength\n", "")
