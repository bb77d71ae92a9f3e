"""Vectors of texts from a server that speaks OpenAI's `/embeddings`. They find what shares a meaning but no word.

Source: https://platform.openai.com/docs/api-reference/embeddings.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any, Final

import aiohttp
from yarl import URL

from toolhand.core.errors import ModelError, ModelFault, SettingsError
from toolhand.core.language import say
from toolhand.models.connections import Connections, Retries, Timeouts
from toolhand.models.refusals import address, refusal, unreachable
from toolhand.models.resolve import ADAPTERS, providers

BATCH: Final = 64
"""Texts in one request: what the narrowest servers take."""

LONGEST_TEXT: Final = 4_000
"""Characters of a text that are sent."""

MOST_BYTES: Final = 64 * 1024 * 1024


class Embeddings:
    """An embedding model behind a server.

    Args:
        model: "http(s)://host/v1#model", or the name of a provider and its model, such as "openai:text-embedding-3-small" or
            "dashscope:text-embedding-v4".
        base_url: the server's address, instead of the provider's.
        api_key: the key, instead of the one in the provider's environment variable.
        seconds: how long one request may take. A question waits for this at the start of a run, so it is short.
        retries: when a request is sent again.
        sleep: waits between attempts.

    Raises:
        SettingsError: when the model's name cannot be read or has no address.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        api_key: str = "",
        seconds: float = 10.0,
        retries: Retries | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        found, self.model, variable = _parted(model)
        self.name = model
        self._key_variable = variable
        self._api_key = (api_key or os.environ.get(variable, "")).strip()
        self._url = _url(base_url or found, model)
        self._seconds = seconds
        self._retries = retries or Retries(attempts=2)
        self._sleep = sleep
        self._connections = Connections(self._url, connect_timeout=min(seconds, 10.0))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {address(self._url)!r})"

    async def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, in order.

        Args:
            texts: the texts; a long one is cut.

        Raises:
            ModelError: when the server cannot be reached, refuses, or answers with something else than vectors.
        """
        found: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            found += await self._batch([text[:LONGEST_TEXT] or " " for text in texts[start : start + BATCH]])
        return found

    async def close(self) -> None:
        """Closes the connections."""
        await self._connections.close()

    async def _batch(self, texts: list[str]) -> list[list[float]]:
        for attempts_made in count(1):
            try:
                return await self._sent(texts)
            except ModelError as error:
                delay = self._retries.delay(attempts_made, error)
                if delay is None:
                    raise
            await self._sleep(delay)
        raise AssertionError  # pragma: no cover - the loop has no end

    async def _sent(self, texts: list[str]) -> list[list[float]]:
        headers = {"Authorization": f"Bearer {self._api_key}"} if self._api_key else {}
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        session = await self._connections.session()
        try:
            async with session.post(
                self._url,
                json=body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=self._seconds),
                allow_redirects=False,
            ) as response:
                raw = b""
                async for piece in response.content.iter_any():
                    raw += piece
                    if len(raw) > MOST_BYTES:
                        raise _no_vectors(
                            say(
                                f"{address(self._url)} answered with more than 64 MB",
                                f"{address(self._url)} 返回了超过 64 MB 的内容",
                            )
                        )
        except TimeoutError:
            message = say(
                f"{address(self._url)} gave no vectors within {self._seconds:g} seconds",
                f"{address(self._url)} 在 {self._seconds:g} 秒内没有返回向量",
            )
            raise ModelError(message, fault=ModelFault.TIMEOUT, retryable=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable(self._url, error, Timeouts(connect=self._seconds)) from None
        if response.status != 200:
            raise refusal(
                url=self._url,
                model=self.model,
                status=response.status,
                headers=response.headers,
                raw=raw,
                api_key=self._api_key,
                key_variable=self._key_variable,
                path="/embeddings",
            )
        return _read(raw, len(texts), self._url)


def _read(raw: bytes, wanted: int, url: URL) -> list[list[float]]:
    try:
        rows = json.loads(raw)["data"]
        ordered = sorted(rows, key=lambda row: row.get("index", 0))
        found = [[float(number) for number in row["embedding"]] for row in ordered]
    except (ValueError, KeyError, TypeError, AttributeError):
        found = []
    if len(found) != wanted or not all(found) or len({len(vector) for vector in found}) != 1:
        raise _no_vectors(
            say(
                f"{address(url)} answered with something else than one vector for each text",
                f"{address(url)} 没有为每段文本返回一个向量",
            )
        )
    return found


def _no_vectors(what: str) -> ModelError:
    return ModelError(what, fault=ModelFault.GARBLED)


def _parted(model: str) -> tuple[str, str, str]:
    """The address, the model's name there, and the variable of the key."""
    if model.startswith(("http://", "https://")):
        where, _, name = model.partition("#")
        if name:
            return where, name, "TOOLHAND_API_KEY"  # OPENAI_API_KEY is not sent to just any address
    else:
        provider, _, name = model.partition(":")
        known: dict[str, Any] = {**providers(), "openai": ADAPTERS["openai"]}
        if name and provider in known:
            row = known[provider]
            base = os.environ.get(row.get("base_variable", ""), "") or row.get("base_url", "")
            return str(base), name, str(row.get("key_variable", ""))
    raise SettingsError(
        say(
            f"'{model}' is no embedding model: write 'http://host/v1#model' or 'openai:text-embedding-3-small'",
            f"“{model}”不是向量模型：请写 'http://host/v1#model' 或 'openai:text-embedding-3-small'",
        )
    )


def _url(base: str, model: str) -> URL:
    if not base:
        raise SettingsError(
            say(
                f"the embedding model '{model}' needs an address: write 'http://host/v1#model'",
                f"向量模型“{model}”需要地址：请写 'http://host/v1#model'",
            )
        )
    try:
        return URL(base.rstrip("/") + "/embeddings")
    except ValueError:
        raise SettingsError(
            say(
                f"'{base}' is no address of a server: write something like 'http://host:8000/v1'",
                f"“{base}”不是服务器的地址：请写成例如 'http://host:8000/v1'",
            )
        ) from None
