"""Fetching one file over HTTP in pieces that can be resumed, and giving up on what cannot be reached."""

from __future__ import annotations

import http.client
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from toolhand.models.weights.partial import PartialFile

REACH_SECONDS: Final = 3.0
"""How long a source may take to say that it is there."""

STALL_SECONDS: Final = 30.0
"""How long a download may be silent."""

MOST_FAILURES: Final = 5
"""How often in a row a download is taken up again without a byte having come."""

_BLOCK_BYTES: Final = 1024 * 1024

T = TypeVar("T")


class UnavailableError(Exception):
    """A source cannot be reached or does not have the file; the message is a clause that says why."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """Runs something that may hang in places where no timeout reaches, such as looking up a host's name.

    Raises:
        TimeoutError: when it has not ended in time; it is left alone then.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def attempt() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again below, in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(seconds)
    if results:
        return results[0]
    if errors:
        raise errors[0]
    raise TimeoutError(f"no answer within {seconds:g} s")


def opened(url: str, headers: Mapping[str, str] | None = None) -> Any:
    """An HTTP response that has begun.

    Raises:
        UnavailableError: when it does not begin in time, or is an error.
    """
    if not url.startswith(("http://", "https://")):
        raise UnavailableError(f"{url} is not an HTTP address")
    request = urllib.request.Request(url, headers={"User-Agent": "toolhand", **(headers or {})})  # noqa: S310 - checked
    try:
        return within(REACH_SECONDS, lambda: urllib.request.urlopen(request, timeout=STALL_SECONDS))  # noqa: S310
    except urllib.error.HTTPError as error:
        with error:
            raise UnavailableError(f"it answered with status {error.code}") from error
    except TimeoutError as error:
        raise UnavailableError(f"no answer within {REACH_SECONDS:g} s") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise UnavailableError(f"it cannot be reached ({reason})") from error


def download(
    url: str, part: PartialFile, *, total: int | None, headers: Mapping[str, str] | None = None
) -> None:
    """Appends what is missing of a file to its part.

    Args:
        url: where the file is; the server should honour ranges, but need not.
        part: open already.
        total: the file's size in bytes, where that is known.
        headers: for the request, such as an authorization.

    Raises:
        UnavailableError: when it does not get on.
    """
    failures = 0
    while total is None or part.size < total:
        before = part.size
        try:
            is_whole = _append(url, part, headers or {})
        except (OSError, http.client.HTTPException) as error:
            is_whole, reason = False, str(error) or type(error).__name__
        else:
            reason = "the connection ended too early"
        if is_whole:
            return
        failures = failures + 1 if part.size == before else 0
        if failures >= MOST_FAILURES:
            raise UnavailableError(f"the download broke off ({reason})")


def _append(url: str, part: PartialFile, headers: Mapping[str, str]) -> bool:
    """One request; whether it brought everything to the file's end."""
    offset = part.size
    ranged = {**headers, "Range": f"bytes={offset}-", "Accept-Encoding": "identity"}
    with opened(url, ranged if offset else {**headers, "Accept-Encoding": "identity"}) as response:
        if response.status != 206 and offset:
            offset = part.cut_back_to(0)
        length = response.headers.get("Content-Length")
        while block := response.read(_BLOCK_BYTES):
            part.write(block)
        return length is None or part.size - offset >= int(length)
