"""What went wrong between us and a model's server, each as one sentence that says what to do. Never holds a secret."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping
from typing import Final

import aiohttp
from yarl import URL

from toolhand.core.errors import ModelError
from toolhand.core.retry_after import retry_after
from toolhand.models.connections import Timeouts
from toolhand.models.wire import PASSING_STATUSES, error_text, quoted

_KEY: Final = re.compile(r"\b(?:sk|pk|rk|gsk|xai|AIza)[-_A-Za-z0-9*.]{8,}")

_QUOTA: Final = re.compile(
    r"insufficient_quota|insufficient.balance|exceeded your current quota|余额不足|欠费", re.IGNORECASE
)


def address(url: URL) -> str:
    """An address that may be shown: without user, password and query."""
    return str(url.with_user(None).with_query(None).with_fragment(None))


def cut(url: URL) -> ModelError:
    """The answer broke off."""
    return ModelError(
        f"the connection to {address(url)} was cut before the answer was complete", retryable=True
    )


def unreachable(url: URL, error: BaseException, timeouts: Timeouts) -> ModelError:
    """No answer came at all."""
    where = address(url)
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError):
        return ModelError(f"{where} has a certificate that cannot be trusted: check the address")
    if isinstance(error, aiohttp.ConnectionTimeoutError | aiohttp.SocketTimeoutError):
        seconds = f"timeout 'connect', {timeouts.connect:g} s"
        return ModelError(f"{where} did not take a connection in time ({seconds})", retryable=True)
    if isinstance(error, TimeoutError):
        seconds = f"timeout 'first_byte', {timeouts.first_byte:g} s"
        return ModelError(f"{where} did not begin to answer in time ({seconds})", retryable=True)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return ModelError(f"{where} cannot be reached: the host '{url.host}' is not known", retryable=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        if isinstance(error.os_error, ConnectionRefusedError):
            return ModelError(f"{where} refused the connection: is the server running there?", retryable=True)
        return ModelError(
            f"{where} cannot be reached: {error.os_error.strerror or 'no connection'}", retryable=True
        )
    return ModelError(f"{where} closed the connection without an answer", retryable=True)


def refusal(
    *,
    url: URL,
    model: str,
    status: int,
    headers: Mapping[str, str],
    raw: bytes,
    api_key: str,
    key_variable: str,
) -> ModelError:
    """The server answered with an error status.

    Args:
        url: where.
        model: the model's name on the server.
        status: the HTTP status.
        headers: the response's headers.
        raw: its body.
        api_key: the key that was sent, which some servers repeat in their answer.
        key_variable: the environment variable that holds the key.
    """
    words = _words(raw, api_key)
    said = f": {words}" if words else ""
    where = f"{address(url)} (status {status})"
    is_passing = status in PASSING_STATUSES
    if 300 <= status < 400:
        target = headers.get("Location", "elsewhere")
        message = f"{where} sends on to {_without_secrets(target, api_key)}: give that as base_url"
    elif status in (401, 403):
        key = "did not accept the API key" if api_key else "needs an API key"
        message = f"{where} {key}, see {key_variable} or api_key=…{said}"
    elif status == 404:
        message = f"{where} knows no model '{model}', or base_url is wrong{said}"
    elif status == 429 and _QUOTA.search(words):
        is_passing = False
        message = f"{where}: the account's quota is used up{said}"
    elif status == 429:
        message = f"{where} asks for fewer requests{said}"
    elif status >= 500:
        message = f"{where} failed{said}"
    else:
        message = f"{where} refused the request{said}"
    return ModelError(message, status=status, retryable=is_passing, retry_after=retry_after(headers))


def _words(raw: bytes, api_key: str) -> str:
    text = raw.decode("utf-8", "replace")
    try:
        text = error_text(json.loads(text))
    except ValueError:
        text = "" if "<html" in text[:2000].lower() else text  # a proxy's page says less than the status
    return quoted(_without_secrets(text, api_key))


def _without_secrets(text: str, api_key: str) -> str:
    if len(api_key) > 3:
        text = text.replace(api_key, "…")
    return _KEY.sub("…", text)
