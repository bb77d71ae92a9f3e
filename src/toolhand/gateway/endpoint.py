"""One protocol's address: reads a request, has it answered, writes the answer, and stops the work when the client has gone."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Final, Generic, Protocol, TypeVar

from starlette.types import Receive, Scope, Send

from toolhand.core.language import say
from toolhand.gateway.admission import Admission, Caller
from toolhand.gateway.fronts import Answered, Front, Writing
from toolhand.gateway.refusals import INVALID, Refusal, refusal_of, too_slow
from toolhand.gateway.repeating import sending_of
from toolhand.gateway.wanted import OBJECT, Sending, Wanted, checked, text_in, texts_in
from toolhand.models.wire import json_bytes

LOG: Final = logging.getLogger("toolhand.gateway")

HEARTBEAT_SECONDS: Final = 15.0
"""After so long without a word a stream begins all the same, and shows that it lives."""

BODY_SECONDS: Final = 60.0
"""How long a body may be under way: a client that sends it by drops must not hold a place for ever."""

GOODBYE_SECONDS: Final = 5.0
"""How long a client that reads no more is waited for with the word that its time is over."""

MOST_DEPTH: Final = 200
"""How deep a request's JSON may be nested."""

_JSON: Final = (b"content-type", b"application/json")
_EVENTS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)

_Result = TypeVar("_Result")


class Gone(Exception):  # noqa: N818 - the end of a wait, not a fault
    """The client has gone."""


class Answering(Protocol):
    """What has a request answered."""

    async def __call__(self, wanted: Wanted, caller: Caller, show: Callable[[str], None] | None) -> Answered:
        """The answer.

        Args:
            wanted: the request.
            caller: who sends it.
            show: takes the text as it comes; None where it is wanted whole.
        """
        ...


class Endpoint:
    """One protocol's address, as an ASGI application.

    Args:
        front: the protocol.
        admission: who may come in.
        answer: what has a request answered.
        most_bytes: the longest body.
        seconds: how long a request may take.
        note: told of each request when it has ended: path, model, status, seconds, and the answer where there was one.
        heartbeat: seconds after which a stream shows that it lives.
    """

    def __init__(
        self,
        front: Front,
        admission: Admission,
        answer: Answering,
        *,
        most_bytes: int,
        seconds: float,
        note: Callable[[str, str, int, float, Answered | None], None],
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.front = front
        self._admission, self._answer, self._note = admission, answer, note
        self._most_bytes, self._seconds, self._heartbeat = most_bytes, seconds, heartbeat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        started, ticket = time.monotonic(), _Ticket(secrets.token_hex(8))
        try:
            caller = self._admission.caller(scope["headers"])
            await self._admission.take(caller)
            self._admission.enter()
            try:
                await self._admitted(scope, receive, send, caller, ticket)
            finally:
                self._admission.leave()
        except Gone:
            ticket.status = 499
        except Refusal as refusal:
            await self._refuse(refusal, send, ticket)
        except Exception as error:  # noqa: BLE001 - the last one who can tell the client
            await self._refuse(refusal_of(error), send, ticket)
        self._note(self.front.path, ticket.model, ticket.status, time.monotonic() - started, ticket.answered)

    async def _admitted(
        self, scope: Scope, receive: Receive, send: Send, caller: Caller, ticket: _Ticket
    ) -> None:
        headers = dict(scope["headers"])
        try:
            async with asyncio.timeout(min(BODY_SECONDS, self._seconds)):
                raw = await self._body(receive, headers)
        except TimeoutError:
            said = say("the request's body did not come in time", "请求体没有及时到达")
            raise Refusal(408, said, kind="timeout_error", code="timeout") from None
        body = _parsed(raw)
        wanted = _with_headers(self.front.read(body), body, raw, headers)
        self._admission.check_model(caller, wanted.model)
        ticket.model = wanted.model
        try:
            async with asyncio.timeout(self._seconds):
                if wanted.streams:
                    await self._stream(wanted, caller, send, receive, ticket)
                else:
                    await self._whole(wanted, caller, send, receive, ticket)
        except TimeoutError:
            raise too_slow(self._seconds) from None

    async def _body(self, receive: Receive, headers: Mapping[bytes, bytes]) -> bytes:
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > self._most_bytes:
            raise self._too_long()
        pieces, received = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            piece = message.get("body", b"")
            received += len(piece)
            if received > self._most_bytes:
                raise self._too_long()
            pieces.append(piece)
            if not message.get("more_body"):
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _too_long(self) -> Refusal:
        most = f"{self._most_bytes / 1024 / 1024:g} MB"
        return Refusal(
            413, say(f"the request is longer than {most}", f"请求超过 {most}"), code="request_too_large"
        )

    # ------------------------------------------------------------------ whole and streamed
    async def _whole(
        self, wanted: Wanted, caller: Caller, send: Send, receive: Receive, ticket: _Ticket
    ) -> None:
        async with _Work(self._answer(wanted, caller, None), receive) as work:
            await asyncio.wait([work.task])
            answered = ticket.answered = work.result()
        body = json_bytes(self.front.whole(answered, wanted))
        await _respond(send, 200, body, (_JSON, *ticket.headers(answered)))
        ticket.status, ticket.has_begun = 200, True

    async def _stream(
        self, wanted: Wanted, caller: Caller, send: Send, receive: Receive, ticket: _Ticket
    ) -> None:
        writing, flow = self.front.writing(wanted), _Flow()
        async with _Work(self._answer(wanted, caller, flow.put), receive) as work:
            work.task.add_done_callback(flow.end)
            try:
                while ticket.answered is None:
                    await self._give(await flow.take(self._heartbeat), work, writing, send, ticket)
            except BaseException as error:
                if not ticket.has_begun or isinstance(error, Gone):
                    raise
                await self._break_off(error, writing, send, ticket)

    async def _give(
        self, pieces: list[str], work: _Work[Answered], writing: Writing, send: Send, ticket: _Ticket
    ) -> None:
        """Sends what is there, and the end once there is one."""
        if work.task.done():
            ticket.answered = work.result()  # a refusal comes out here
        answered, written = ticket.answered, [writing.text(piece) for piece in pieces]
        if not ticket.has_begun:
            written.insert(0, writing.begin())
            await _begin(send, (*_EVENTS, *ticket.headers(answered)))
            ticket.status, ticket.has_begun = 200, True
        if answered is not None:
            written.append(writing.finish(answered))
        elif not pieces:
            written.append(writing.waiting())
        await send({"type": "http.response.body", "body": b"".join(written), "more_body": answered is None})

    async def _break_off(self, error: BaseException, writing: Writing, send: Send, ticket: _Ticket) -> None:
        """Ends a stream that has begun with what went wrong."""
        is_over = isinstance(error, asyncio.CancelledError)
        refusal = too_slow(self._seconds) if is_over else refusal_of(error)
        ticket.status = refusal.status
        last = {"type": "http.response.body", "body": writing.failed(refusal), "more_body": False}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_SECONDS):
                await send(last)
        if is_over:
            raise error

    async def _refuse(self, refusal: Refusal, send: Send, ticket: _Ticket) -> None:
        ticket.status = refusal.status
        if ticket.has_begun:
            return
        headers = [_JSON, *ticket.headers(None)]
        headers += [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
        await _respond(send, refusal.status, json_bytes(self.front.error(refusal)), headers)


class _Ticket:
    """What is known of one request."""

    def __init__(self, name: str) -> None:
        self.name, self.model = name, ""
        self.status, self.has_begun = 500, False
        self.answered: Answered | None = None

    def headers(self, answered: Answered | None) -> list[tuple[bytes, bytes]]:
        """The headers that tell of it."""
        found = [(b"x-request-id", self.name.encode())]
        if answered is not None:
            found.append((b"toolhand-rounds", str(answered.rounds).encode()))
            found.append((b"toolhand-protocol", answered.protocol.encode()))
        return found


class _Work(Generic[_Result]):
    """The work for a client, while the client is there: it is cancelled when the client goes or nobody waits for it any more.

    Args:
        work: what is done.
        receive: the request's, whose body has been read.
    """

    def __init__(self, work: Coroutine[Any, Any, _Result], receive: Receive) -> None:
        self.task = asyncio.ensure_future(work)
        self._receive, self._has_gone = receive, False
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._has_gone = True
        self.task.cancel()

    def result(self) -> _Result:
        """What came of it, once it has ended.

        Raises:
            Gone: when the client has gone.
        """
        if self._has_gone:
            raise Gone
        return self.task.result()

    async def __aenter__(self) -> _Work[_Result]:
        """It is under way already."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Ends it."""
        self._watching.cancel()
        if not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task])
        if not self.task.cancelled():
            self.task.exception()  # heard here, where nobody is there any more to be told it


class _Flow:
    """Pieces of text on their way from the model to the client; those that are there are taken together."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._is_over = False
        self._there = asyncio.Event()

    def put(self, piece: str) -> None:
        """Adds one."""
        self._pieces.append(piece)
        self._there.set()

    def end(self, _: object) -> None:
        """No more will come."""
        self._is_over = True
        self._there.set()

    async def take(self, seconds: float) -> list[str]:
        """The pieces that are there, waited for so long."""
        if not self._there.is_set():
            try:
                async with asyncio.timeout(seconds):
                    await self._there.wait()
            except TimeoutError:
                return []
        taken, self._pieces = self._pieces, []
        if not self._is_over:
            self._there.clear()
        return taken


async def _begin(send: Send, headers: Any, status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})


async def _respond(send: Send, status: int, body: bytes, headers: Any) -> None:
    await _begin(send, [*headers, (b"content-length", str(len(body)).encode())], status)
    await send({"type": "http.response.body", "body": body})


def _parsed(raw: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Refusal(400, say("the body is not JSON", "请求体不是 JSON")) from None
    if not isinstance(body, dict):
        raise Refusal(400, say("the body must be a JSON object", "请求体应为 JSON 对象"))
    if _is_deep(body, MOST_DEPTH):
        raise Refusal(
            400,
            say(f"the body is nested more than {MOST_DEPTH} deep", f"请求体嵌套超过 {MOST_DEPTH} 层"),
            kind=INVALID,
        )
    return body


def _no_number(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are no JSON, and no server behind would take them


def _is_deep(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        ]
        if not level:
            return False
    return True


def _with_headers(
    wanted: Wanted, body: Mapping[str, Any], raw: bytes, headers: Mapping[bytes, bytes]
) -> Wanted:
    """The request with what its headers, or its own field for the gateway, say."""
    own = checked(body, "toolhand", dict, OBJECT) or {}
    told = headers.get(b"toolhand-session", b"").decode("latin-1").strip()
    named = headers.get(b"toolhand-tools")
    toolsets = None if own.get("tools") is None else texts_in(own, "tools")
    if named is not None:
        toolsets = tuple(part.strip() for part in named.decode("latin-1").split(",") if part.strip())
    sending = sending_of(own, raw, headers)
    if toolsets is None and not told and not own and sending == Sending():
        return wanted
    return replace(wanted, session=told or text_in(own, "session"), toolsets=toolsets, sending=sending)
