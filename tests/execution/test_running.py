"""The synchronous face: one loop in the background that leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from toolhand.execution.running import run_blocking

SERVED = """
    import atexit, gc, json, threading, weakref
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    loops = []

    @atexit.register
    def last():  # registered first, so it runs last
        gc.collect()
        for kept in loops:
            if (loop := kept()) is not None:
                assert loop.is_closed(), "the loop was left open"

    import asyncio
    made = asyncio.new_event_loop

    def new_event_loop():
        loop = made()
        loops.append(weakref.ref(loop))
        return loop

    asyncio.new_event_loop = new_event_loop

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # the connection is kept, as real servers do

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            body = json.dumps({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_): ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    from toolhand import Agent

    agent = Agent(f"http://127.0.0.1:{server.server_port}/v1#m")
    assert agent.run_sync("hi").output == "hello"
"""


def run_strictly(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(code)],
        check=False, text=True, capture_output=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "\n    agent.run_sync('again')",
        "\n    assert asyncio.run(agent.run('hi')).output == 'hello'",
        "\n    from toolhand.execution.running import run_blocking\n    run_blocking(agent.close())",
        "\n    del agent; gc.collect()",
    ],
)
def test_nothing_is_left_open_when_the_program_ends(ending):
    done = run_strictly(SERVED + ending + "\n    server.shutdown(); server.server_close(); print('end')")
    assert done.stdout == "end\n"
    # On a busy machine the debug mode also says that a step took long: that is no leak.
    said = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert said == []
    assert done.returncode == 0


def test_a_task_that_never_ends_does_not_keep_the_program_from_ending():
    code = """
        import asyncio
        from toolhand.execution.running import run_blocking

        async def leave_a_task():
            global kept
            kept = asyncio.create_task(asyncio.sleep(1_000))

        run_blocking(leave_a_task())
        print("end")
    """
    began = time.monotonic()
    done = run_strictly(code)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)
    assert time.monotonic() - began < 30


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
def test_ctrl_c_returns_as_soon_as_the_work_has_cleaned_up_and_not_before():
    cleaned: list[float] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.4)  # longer than any fixed short wait
            cleaned.append(time.monotonic())

    interrupt = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        run_blocking(work())
    returned = time.monotonic()
    assert len(cleaned) == 1
    assert returned - cleaned[0] < 0.3
    interrupt.join()


def test_work_that_was_cancelled_before_its_first_step_leaves_no_warning():
    code = """
        import asyncio, threading
        from concurrent.futures import CancelledError
        from toolhand.execution import running

        async def nothing():
            return 1

        assert running.run_blocking(nothing()) == 1
        loop = running._LOOP.get()
        create = loop.create_task

        def cancelled_at_once(coroutine):
            task = create(coroutine)
            task.cancel()
            return task

        loop.create_task = cancelled_at_once
        try:
            running.run_blocking(nothing())
        except CancelledError:
            print("cancelled")
        loop.create_task = create
    """
    done = run_strictly(code)
    assert (done.stdout, done.stderr, done.returncode) == ("cancelled\n", "", 0)


def test_the_synchronous_face_inside_the_asynchronous_one_is_refused():
    async def inner() -> int:
        return 1

    async def outer() -> int:
        return run_blocking(inner())

    with pytest.raises(RuntimeError, match="await the async one"):
        run_blocking(outer())
