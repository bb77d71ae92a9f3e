"""A model behind an HTTP server, whatever protocol it speaks: sending, waiting, trying again. The protocol is a `Wire`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Final, NoReturn

import aiohttp
from yarl import URL

from toolhand.core.errors import ModelError, ModelFault, SettingsError
from toolhand.core.events import ModelRetried, TextDelta
from toolhand.core.language import say
from toolhand.core.messages import ModelOutput, ModelRequest
from toolhand.models.announcing import announce
from toolhand.models.connections import Connections, Retries, Timeouts, usable_headers
from toolhand.models.deltas import EventDecoder
from toolhand.models.refusals import (
    address,
    cut,
    no_reply,
    not_json,
    nothing_said,
    refusal,
    unreachable,
    without_secrets,
)
from toolhand.models.refused_settings import refused_setting
from toolhand.models.wires import Incoming, Learning, Wire

MOST_BYTES: Final = 64 * 1024 * 1024
"""How long an answer may be, unpacked."""

MOST_LEARNT: Final = 4
"""How often one request is sent otherwise because of what the server refused."""

_MOST_REFUSAL_BYTES: Final = 256 * 1024

_LAST_BYTES_SECONDS: Final = 0.05
"""How long the end of a stream may lag behind its last event before its connection is given up."""

_SECRET_HEADER: Final = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)


class RemoteModel:
    """A model behind an HTTP server. May be used from several event loops at once.

    Args:
        wire: what the server speaks.
        name: what people call the model.
        base_url: where the server is.
        api_key: sent as the wire says; "" for none.
        key_variable: the environment variable that a refusal of the key names.
        headers: further headers.
        timeouts: how long the server may take.
        retries: when a request is sent again.
        sleep: waits between attempts.

    Raises:
        SettingsError: when the address is none, or a header or the proxy that the environment names cannot be used.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        name: str,
        base_url: str,
        api_key: str = "",
        key_variable: str = "",
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.wire = wire
        self.model = wire.model
        self._base = _address(base_url)
        self._api_key = api_key = api_key.strip()
        self._key_variable = key_variable
        if api_key and self._base.user:
            raise SettingsError(
                say(
                    f"give an API key or a user in the address {address(self._base)}, not both",
                    f"API key 和地址 {address(self._base)} 里的用户只能给一个",
                )
            )
        own = usable_headers({**wire.headers(api_key), **(headers or {})})
        self._headers = {"Content-Type": "application/json", **own}
        named = [value.removeprefix("Bearer ") for name, value in own.items() if _SECRET_HEADER.search(name)]
        self._secrets = {api_key, self._base.password or "", *named}
        bare = self._base.with_query(None)
        self._urls = {
            streams: wire.url(bare, streams=streams).update_query(self._base.query)
            for streams in (False, True)
        }
        self._timeouts = timeouts or Timeouts()
        self._retries = retries or Retries()
        self._sleep = sleep
        self._refused: set[str] = set()
        self._connections = Connections(self._base, connect_timeout=self._timeouts.connect)

    @property
    def base_url(self) -> URL:
        """Where the server is."""
        return self._base

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, base_url={address(self._base)!r})"

    async def complete(self, request: ModelRequest) -> ModelOutput:
        """One whole output.

        Raises:
            ModelError: when the server cannot be reached, refuses, or answers with something else than a reply.
        """
        request = self._suited(request)
        body = self.wire.body(request, streams=False)
        for attempts_made in count(1):
            try:
                return self._signed(await self._complete_once(body, request))
            except ModelError as error:
                self._hide_secrets(error)
                if self._learns(error, request, body, attempts_made):
                    request = self._suited(request)
                    body = self.wire.body(request, streams=False)
                    continue
                delay = self._retries.delay(attempts_made, error)
                if delay is None:
                    raise
                self._announce(error, attempts_made, delay)
            await self._sleep(delay)
        raise AssertionError  # pragma: no cover - the loop has no end

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelOutput]:
        """The same, with the text in pieces as it comes and the whole output as the last item.

        A failure is only tried again while nothing has been given out.

        Raises:
            ModelError: as `complete`, and when the stream is cut.
        """
        request = self._suited(request)
        body = self.wire.body(request, streams=True)
        for attempts_made in count(1):
            has_given = False
            try:
                async with aclosing(self._stream_once(body, request)) as pieces:
                    async for piece in pieces:
                        has_given = True
                        yield piece if isinstance(piece, TextDelta) else self._signed(piece)
            except ModelError as error:
                self._hide_secrets(error)
                if not has_given and self._learns(error, request, body, attempts_made):
                    request = self._suited(request)
                    body = self.wire.body(request, streams=True)
                    continue
                delay = self._retries.delay(attempts_made, error)
                if has_given or delay is None:
                    raise
                self._announce(error, attempts_made, delay)
            else:
                return
            await self._sleep(delay)

    async def close(self) -> None:
        """Closes the connections."""
        await self._connections.close()

    def _signed(self, output: ModelOutput) -> ModelOutput:
        """The output with who gave it; a provider's own part belongs to this model's name."""
        opaque = None if output.opaque is None else replace(output.opaque, source=self.name)
        return replace(output, model=self.name, opaque=opaque)

    def _learns(self, error: ModelError, request: ModelRequest, body: bytes, attempts_made: int) -> bool:
        """Whether an error says what to do otherwise: a setting to leave out, or what the wire sees to. It holds from now on."""
        if attempts_made > MOST_LEARNT:
            return False
        name = refused_setting(error, request.sampling)
        if name is not None:
            self._refused.add(name)
        elif not (isinstance(self.wire, Learning) and self.wire.learns(error, body)):
            return False
        self._announce(error, attempts_made, 0.0)
        return True

    def _suited(self, request: ModelRequest) -> ModelRequest:
        """The request without the settings that the server refused before."""
        if not self._refused:
            return request
        sampling = replace(request.sampling, **dict.fromkeys(self._refused))
        return replace(request, sampling=sampling)

    def _hide_secrets(self, error: ModelError) -> None:
        """Takes out of an error what was sent as a key: some servers repeat it in their words."""
        error.args = (without_secrets(str(error), self._secrets),)

    def _announce(self, error: ModelError, attempts_made: int, delay: float) -> None:
        announce(ModelRetried(model=self.name, error=error, attempt=attempts_made, wait_seconds=delay))

    async def _complete_once(self, body: bytes, request: ModelRequest) -> ModelOutput:
        deadline = _now() + self._timeouts.total
        async with self._response(body, deadline, streams=False) as response:
            raw = await self._read(response, deadline)
            if response.content_type == "text/event-stream":  # it streams, whatever was asked
                events, incoming = EventDecoder(), self.wire.incoming(request)
                for chunk in events.feed(raw, is_last=True):
                    incoming.feed(chunk)
                return self._ended(incoming, events, response.url)
            return self._whole(raw, request, response.url)

    async def _stream_once(
        self, body: bytes, request: ModelRequest
    ) -> AsyncGenerator[TextDelta | ModelOutput, None]:
        deadline = _now() + self._timeouts.total
        events, incoming, received = EventDecoder(), self.wire.incoming(request), 0
        async with self._response(body, deadline, streams=True) as response:
            if response.content_type in ("application/json", "text/html"):  # it does not stream
                whole = self._whole(await self._read(response, deadline), request, response.url)
                if whole.text:
                    yield TextDelta(text=whole.text)
                yield whole
                return
            is_over = False
            while not is_over:
                data = await self._piece(response, deadline)
                received = _bounded(received + len(data), MOST_BYTES, response.url)
                is_over = not data
                text = "".join([incoming.feed(chunk) for chunk in events.feed(data, is_last=is_over)])
                if text:
                    yield TextDelta(text=text)
                is_over = is_over or events.is_done or incoming.is_over
            output = self._ended(incoming, events, response.url)
            await _drain(response)
        yield output

    def _ended(self, incoming: Incoming, events: EventDecoder, url: URL) -> ModelOutput:
        """The output of a stream that is over."""
        if not (incoming.is_finished or events.is_done):
            raise cut(url)
        output = incoming.finish()
        if not (incoming.is_finished or output.text or output.calls or output.thinking):
            raise nothing_said(url)
        return self._answered(output, url)

    def _whole(self, raw: bytes, request: ModelRequest, url: URL) -> ModelOutput:
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            raise not_json(url, raw) from None
        return self._answered(self.wire.whole(body, request), url)

    def _answered(self, output: ModelOutput, url: URL) -> ModelOutput:
        """The output, unless it is nothing but a refusal."""
        if output.finish_reason == "content_filter" and not output.text and not output.calls:
            raise no_reply(url)
        return output

    @asynccontextmanager
    async def _response(
        self, body: bytes, deadline: float, *, streams: bool
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Sends a request; the response has a good status. A connection that was not read to its end is closed."""
        session, url = await self._connections.session(), self._urls[streams]
        left = max(deadline - _now(), 0.0)
        limit = "total" if left < self._timeouts.first_byte else "first_byte"
        try:
            async with asyncio.timeout(min(self._timeouts.first_byte, left)):
                response = await session.post(url, data=body, headers=self._headers, allow_redirects=False)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise unreachable(url, error, self._timeouts, limit=limit) from error
        try:
            if response.status >= 300:
                await self._refuse(response)
            yield response
        finally:
            if response.content.at_eof():
                response.release()
            else:
                response.close()

    async def _refuse(self, response: aiohttp.ClientResponse) -> NoReturn:
        try:
            deadline = _now() + self._timeouts.between_bytes
            raw = await self._read(response, deadline, _MOST_REFUSAL_BYTES)
        except ModelError:
            raw = b""
        raise refusal(
            url=response.url,
            model=self.model,
            status=response.status,
            headers=response.headers,
            raw=raw,
            api_key=self._api_key,
            key_variable=self._key_variable,
            path=response.url.path.removeprefix(self._base.path.rstrip("/")),
        )

    async def _read(
        self, response: aiohttp.ClientResponse, deadline: float, most: int | None = None
    ) -> bytes:
        pieces, received = [], 0
        while not response.content.at_eof():
            pieces.append(await self._piece(response, deadline))
            received = _bounded(received + len(pieces[-1]), most or MOST_BYTES, response.url)
        return b"".join(pieces)

    async def _piece(self, response: aiohttp.ClientResponse, deadline: float) -> bytes:
        """The bytes that are there, or the next ones; empty at the end."""
        left = deadline - _now()
        try:
            async with asyncio.timeout(min(self._timeouts.between_bytes, max(left, 0.0))):
                return await response.content.readany()
        except TimeoutError as error:
            limit = "total" if left < self._timeouts.between_bytes else "between_bytes"
            seconds = getattr(self._timeouts, limit)
            raise ModelError(
                say(
                    f"{address(response.url)} did not end its answer in time (timeout '{limit}', {seconds:g} s)",
                    f"{address(response.url)} 没有及时答完（timeout '{limit}'，{seconds:g} 秒）",
                ),
                fault=ModelFault.TIMEOUT,
                retryable=limit != "total",
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise cut(response.url) from error


def _bounded(received: int, most: int, url: URL) -> int:
    if received > most:
        raise ModelError(
            say(
                f"{address(url)} sent more than {most // 1024:,} KB in one answer, and it was given up",
                f"{address(url)} 一次回答超过 {most // 1024:,} KB，已放弃",
            ),
            fault=ModelFault.GARBLED,
        )
    return received


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Takes the last bytes of a stream, so that its connection can serve again."""
    try:
        async with asyncio.timeout(_LAST_BYTES_SECONDS):
            while not response.content.at_eof():
                await response.content.readany()
    except (TimeoutError, aiohttp.ClientError, OSError):
        return


def _now() -> float:
    return asyncio.get_running_loop().time()


def _address(base_url: str) -> URL:
    try:
        url = URL(base_url)
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise SettingsError(
            say(
                f"'{base_url}' is not the address of a model's server: it should look like http://127.0.0.1:8000/v1",
                f"“{base_url}”不是模型服务的地址：应类似 http://127.0.0.1:8000/v1",
            )
        )
    return url.with_fragment(None)
