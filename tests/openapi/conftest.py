"""Real servers for the tests: a FastAPI app under uvicorn, and one that gives back what it was sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import uvicorn

from tests.openapi.shop import app


class Running(uvicorn.Server):
    """A server in a thread."""

    def __init__(self, application: Any, *, lifespan: str = "off", port: int = 0) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                host="127.0.0.1",
                port=port,
                log_level="error",
                lifespan=lifespan,
                ws="none",
                timeout_graceful_shutdown=1,
            )
        )
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self) -> str:
        self.thread.start()
        while not self.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self.should_exit = True
        self.thread.join(10)


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    with Running(app) as url:
        yield url


class Echo:
    """A server that keeps every request as it came, and answers what it is told to."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        echo = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                echo.requests.append({
                    "method": self.command, "target": self.path, "headers": dict(self.headers.items()),
                    "body": self.rfile.read(length),
                })  # fmt: skip
                status, headers, content = (
                    echo.answers.pop(0)
                    if echo.answers
                    else (200, {"Content-Type": "application/json"}, b'"ok"')
                )
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = answer

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def start(self) -> None:
        """Serves from now on."""
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Ends it."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)

    @property
    def last(self) -> dict[str, Any]:
        return self.requests[-1]


@pytest.fixture
def echo() -> Iterator[Echo]:
    found = Echo()
    found.start()
    yield found
    found.close()
