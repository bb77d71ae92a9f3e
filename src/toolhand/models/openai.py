"""Any endpoint that speaks OpenAI's chat completions: OpenAI itself, vLLM, llama.cpp, LM Studio, and many more.

Source: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from itertools import count
from typing import Any, Final, NoReturn

import aiohttp
from yarl import URL

from toolhand.core.errors import ModelError, SettingsError
from toolhand.core.events import TextDelta
from toolhand.core.messages import ModelOutput, ModelRequest
from toolhand.models.connections import Connections, Retries, Timeouts
from toolhand.models.deltas import EventDecoder, StreamedOutput
from toolhand.models.refusals import address, cut, refusal, unreachable
from toolhand.models.wire import Dialect, Encoder, output, quoted

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"

_LAST_BYTES_SECONDS: Final = 0.05
"""How long the end of a stream may lag behind `[DONE]` before its connection is given up."""


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint. May be used from several event loops at once.

    Args:
        model: the model's name on the server.
        name: what people call it.
        base_url: up to and with "/v1".
        api_key: sent as a bearer token; "" for none.
        key_variable: the environment variable that a refusal of the key names.
        headers: further headers.
        dialect: the server's peculiarities.
        timeouts: how long the server may take.
        retries: when a request is sent again.
        sleep: waits between attempts.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str,
        base_url: str,
        api_key: str = "",
        key_variable: str = "OPENAI_API_KEY",
        headers: Mapping[str, str] | None = None,
        dialect: Dialect | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.model = model
        self._url = _endpoint(base_url)
        self._api_key = api_key
        self._key_variable = key_variable
        if api_key and self._url.user:
            raise SettingsError(f"give an API key or a user in the address {address(self._url)}, not both")
        authorization = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._headers = {"Content-Type": "application/json", **authorization, **(headers or {})}
        self._encoder = Encoder(model, dialect)
        self._timeouts = timeouts or Timeouts()
        self._retries = retries or Retries()
        self._sleep = sleep
        self._connections = Connections(self._url, connect_timeout=self._timeouts.connect)

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, base_url={address(self._url.parent.parent)!r})"

    async def complete(self, request: ModelRequest) -> ModelOutput:
        """One whole output.

        Raises:
            ModelError: when the server cannot be reached, refuses, or answers with something else than a reply.
        """
        body = self._encoder.body(request, streams=False)
        for attempts_made in count(1):
            try:
                return await self._complete_once(body, request)
            except ModelError as error:
                delay = self._retries.delay(attempts_made, error)
                if delay is None:
                    raise
            await self._sleep(delay)
        raise AssertionError  # pragma: no cover - the loop has no end

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelOutput]:
        """The same, with the text in pieces as it comes and the whole output as the last item.

        A failure is only tried again while nothing has been given out.

        Raises:
            ModelError: as `complete`, and when the stream is cut.
        """
        body = self._encoder.body(request, streams=True)
        for attempts_made in count(1):
            has_given = False
            try:
                async with aclosing(self._stream_once(body, request)) as pieces:
                    async for piece in pieces:
                        has_given = True
                        yield piece
            except ModelError as error:
                delay = self._retries.delay(attempts_made, error)
                if has_given or delay is None:
                    raise
            else:
                return
            await self._sleep(delay)

    async def close(self) -> None:
        """Closes the connections."""
        await self._connections.close()

    async def _complete_once(self, body: bytes, request: ModelRequest) -> ModelOutput:
        deadline = _now() + self._timeouts.total
        async with self._response(body) as response:
            return self._whole(await self._read(response, deadline), request)

    async def _stream_once(
        self, body: bytes, request: ModelRequest
    ) -> AsyncGenerator[TextDelta | ModelOutput, None]:
        deadline = _now() + self._timeouts.total
        events, streamed = EventDecoder(), StreamedOutput(request.tools)
        async with self._response(body) as response:
            if response.content_type == "application/json":  # it does not stream, whatever was asked
                whole = self._whole(await self._read(response, deadline), request)
                if whole.text:
                    yield TextDelta(text=whole.text)
                yield whole
                return
            is_over = False
            while not is_over:
                data = await self._piece(response, deadline)
                is_over = not data
                text = "".join([streamed.feed(chunk) for chunk in events.feed(data, is_last=is_over)])
                if text:
                    yield TextDelta(text=text)
                is_over = is_over or events.is_done
            if not (streamed.is_finished or events.is_done):
                raise cut(self._url)
            await _drain(response)
        yield streamed.finish()

    def _whole(self, raw: bytes, request: ModelRequest) -> ModelOutput:
        try:
            body = json.loads(raw)
        except ValueError:
            raise ModelError(
                f"{address(self._url)} answered with something that is not JSON: "
                f"{quoted(raw.decode('utf-8', 'replace'))}",
                retryable=True,
            ) from None
        return output(body, request.tools)

    @asynccontextmanager
    async def _response(self, body: bytes) -> AsyncIterator[aiohttp.ClientResponse]:
        """Sends a request; the response has a good status. A connection that was not read to its end is closed."""
        session = await self._connections.session()
        try:
            async with asyncio.timeout(self._timeouts.first_byte):
                response = await session.post(
                    self._url, data=body, headers=self._headers, allow_redirects=False
                )
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise unreachable(self._url, error, self._timeouts) from error
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
            raw = await self._read(response, _now() + self._timeouts.between_bytes)
        except ModelError:
            raw = b""
        raise refusal(
            url=self._url,
            model=self.model,
            status=response.status,
            headers=response.headers,
            raw=raw,
            api_key=self._api_key,
            key_variable=self._key_variable,
        )

    async def _read(self, response: aiohttp.ClientResponse, deadline: float) -> bytes:
        pieces = []
        while not response.content.at_eof():
            pieces.append(await self._piece(response, deadline))
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
                f"{address(self._url)} did not end its answer in time (timeout '{limit}', {seconds:g} s)",
                retryable=limit != "total",
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise cut(self._url) from error


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


def _endpoint(base_url: str) -> URL:
    try:
        url = URL(base_url)
    except ValueError:
        url = URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise SettingsError(
            f"'{base_url}' is not the address of a model's server: it should look like http://127.0.0.1:8000/v1"
        )
    return url.with_fragment(None) / "chat" / "completions"


def connect(
    rest: str, *, base_url: str | None = None, api_key: str | None = None, **options: Any
) -> OpenAIModel:
    """The model "openai:<rest>".

    Args:
        rest: the model's name.
        base_url: instead of `OPENAI_BASE_URL` (or its older name `OPENAI_API_BASE`), or OpenAI's own address.
        api_key: instead of `OPENAI_API_KEY`.
        options: as for `OpenAIModel`.

    Raises:
        SettingsError: when there is no model name, or no key where one is needed.
    """
    if not rest:
        raise SettingsError("'openai:' needs a model's name behind it, such as openai:gpt-5-mini")
    environment = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    base_url = base_url or environment or DEFAULT_BASE_URL
    api_key = os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key
    is_openai = (URL(base_url).host or "").endswith("openai.com")
    if is_openai and not api_key:
        raise SettingsError(f"openai:{rest} needs an API key: set OPENAI_API_KEY or give api_key=…")
    # OpenAI's reasoning models refuse the older key, which is the only one that most other servers know.
    own = Dialect(max_tokens_key="max_completion_tokens", grammar="strict")
    options.setdefault("dialect", own if is_openai else Dialect())
    options.setdefault("name", f"openai:{rest}")
    return OpenAIModel(rest, base_url=base_url, api_key=api_key, **options)
