"""Having a session to oneself: first in this process, in order of arrival, then among all processes that share its store."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from toolhand.core.errors import SessionError, StoreError
from toolhand.core.language import say
from toolhand.sessions.entries import Busy, Lease
from toolhand.sessions.holder import described, new_holder
from toolhand.sessions.moments import assured_until, moment
from toolhand.sessions.store import SessionStore

if TYPE_CHECKING:
    from toolhand.sessions.stored import StoredSession

_SHORTEST_LOOK, _LONGEST_LOOK = 0.005, 0.2
_BEATS: Final = 3
"""How often a lease is renewed in its length."""


@asynccontextmanager
async def leased(session: StoredSession, user: str) -> AsyncIterator[Lease]:
    """The lease of a session, kept up while one is inside: its grant where it has one, which somebody else keeps up.

    Raises:
        SessionError: when it is another user's, or does not become free within the store's `wait_seconds`.
        StoreError: when the store cannot be used.
    """
    store, loop = session.store, asyncio.get_running_loop()
    until = loop.time() + store.wait_seconds
    limit = asyncio.timeout_at(until)
    try:
        async with limit:
            passage = await session.turnstile.enter()
    except TimeoutError:
        if not limit.expired():
            raise
        raise SessionError(
            _busy(session.id, say("another run of this process", "本进程的另一次运行"), store)
        ) from None
    try:
        if session.grant is not None:
            lease, session.grant = session.grant, None
            yield lease
            return
        asked_at = moment()
        lease = await _claimed(session, user, until)
        session.assured_until = assured_until(asked_at, store.lease_seconds)
        beat = asyncio.ensure_future(_beating(session, lease))
        try:
            yield lease
        finally:
            beat.cancel()
            release = store.release(lease, title=session.title, messages=len(session.messages))
            with contextlib.suppress(StoreError):  # then it runs out by itself
                await asyncio.shield(asyncio.ensure_future(release))
    finally:
        session.turnstile.leave(passage)


async def _claimed(session: StoredSession, user: str, until: float) -> Lease:
    store, holder = session.store, new_holder()
    place = _Place()
    try:
        return await _waited(session, user, until, holder, place)
    except BaseException:
        if place.ticket:  # whoever stands behind must not wait for one who has gone
            _unattended(store.leave(session.id, ticket=place.ticket))
        raise


class _Place:
    """A place in the row."""

    ticket = 0


def _unattended(work: Coroutine[Any, Any, object]) -> None:
    """Starts what need not be waited for, and may fail."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())


async def _waited(session: StoredSession, user: str, until: float, holder: str, place: _Place) -> Lease:
    store, loop, look = session.store, asyncio.get_running_loop(), _SHORTEST_LOOK
    while True:
        ticket = place.ticket
        claim = asyncio.ensure_future(store.claim(session.id, owner=user, holder=holder, ticket=ticket))
        try:
            found = await asyncio.shield(claim)
        except asyncio.CancelledError:
            claim.add_done_callback(lambda done: _given_back(store, done))
            raise
        if isinstance(found, Lease):
            return found
        place.ticket, left = found.ticket, until - loop.time()
        if left <= 0:
            raise SessionError(_busy(session.id, described(found.holder), store))
        await asyncio.sleep(min(left, look * random.uniform(0.7, 1.3)))  # noqa: S311 - not a secret
        look = min(_LONGEST_LOOK, look * 1.5)


def _given_back(store: SessionStore, claim: asyncio.Future[Lease | Busy]) -> None:
    """A lease that came when nobody waited for it any more."""
    if not claim.cancelled() and claim.exception() is None and isinstance(lease := claim.result(), Lease):
        _unattended(store.release(lease))


async def _beating(session: StoredSession, lease: Lease) -> None:
    store = session.store
    while True:
        await asyncio.sleep(store.lease_seconds / _BEATS)
        with contextlib.suppress(StoreError):  # a store that is away for a while; entries wait for it too
            asked_at = moment()
            if not await store.renew(lease):
                return  # taken over: the next entry is refused and says so
            session.assured_until = assured_until(asked_at, store.lease_seconds)


def _busy(session_id: str, holder: str, store: SessionStore) -> str:
    seconds = f"{store.wait_seconds:g}"
    return say(
        f"the session '{session_id}' was in use for {seconds} seconds by {holder}: "
        "try again when that run has ended, or use another session",
        f"会话“{session_id}”在 {seconds} 秒内一直被{holder}占用：请等那次运行结束后再试，或使用另一个会话",
    )
