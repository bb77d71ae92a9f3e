"""A session that is kept in a store: it reads its end, and writes down what is new under a lease.

Entries of one session go out one batch after the other, so that they are kept in their order; what comes while a batch is
under way goes out with the next.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from toolhand.core.errors import SessionError, StoreError
from toolhand.core.language import say
from toolhand.core.messages import Message
from toolhand.sessions import codec
from toolhand.sessions.background import blocking
from toolhand.sessions.entries import AuditRow, Entry, Kind, Lease
from toolhand.sessions.leasing import leased
from toolhand.sessions.memory import taken_over
from toolhand.sessions.moments import assured_until, moment
from toolhand.sessions.reading import is_whole, stretch
from toolhand.sessions.session import Session
from toolhand.sessions.store import SessionStore
from toolhand.sessions.tail import Tail
from toolhand.sessions.trimming.window import View, Window

PAGE: Final = 256
"""How many entries are read at once."""

MOST_LOADED: Final = 2_000
"""How many messages of a session stay in memory between runs; past that the older half goes."""

_TITLE: Final = 80


class StoredSession(Session):
    """A session of a store. Use it through `held`; runs do.

    Args:
        id: its name.
        store: where it is kept.
        user: whose it is.
    """

    def __init__(self, id: str, store: SessionStore, *, user: str = "") -> None:  # noqa: A002 - the field's word
        super().__init__(id, user=user)
        self.store = store
        self._tail = Tail(load=self._load_blocking)
        self._lease: Lease | None = None
        self.grant: Lease | None = None
        """A lease that was got for the next run, by someone who keeps it up and gives it back."""
        self.assured_until = 0.0
        """Until when the lease is surely this run's, on the clock of `moments.moment`."""
        self._first: Message | None = None
        self._next_seq = 0  # 0 until something was read
        self._seqs: list[int] = []  # of the loaded messages
        self._unsent: list[Entry] = []
        self._rows: list[AuditRow] = []
        self._sending: asyncio.Future[None] | None = None
        self._broken: BaseException | None = None
        self.turn: dict[str, Any] | None = None
        """What is known of the reply that is under way beside its words; it is kept with them."""

    # reading

    async def load(self) -> None:
        """Reads the end of the history, unless it is in memory; outside of a run it is read anew."""
        if self._lease is None:
            await self._reload()

    async def _reload(self) -> None:
        entries = await self._entries_before(None)
        found = stretch(entries)
        self._tail = Tail(
            found.messages, offset=found.offset, first_seq=found.first_seq, load=self._load_blocking
        )
        self.ledger, self._calls, self._seqs = found.ledger, found.calls, found.seqs
        self.view = View.from_json(found.view)
        self._renew_window()
        self._first = await self._read_first()
        self._ids = {call.id for message in found.messages for call in message.calls}
        next_seq = entries[-1].seq + 1 if entries else 1
        if next_seq != self._next_seq:
            self.suspended = {}  # another has gone on with it: what was known here is not all
        self._next_seq = next_seq
        while self._last_user() is None and await self.load_older():
            pass  # a run can be gone on with only from the message that it answers

    def _renew_window(self) -> None:
        """What is shown is chosen anew; what was learnt about the model's counting stays."""
        if self.window is not None:
            fresh = Window(self.window.language)
            fresh.factor, fresh.most_tokens = self.window.factor, self.window.most_tokens
            self.window = fresh

    async def _read_first(self) -> Message | None:
        if self._tail.offset == 0:
            return None
        found = stretch(await self.store.read(self.id, before=2, limit=1)).messages
        return found[0] if found else None

    @property
    def first(self) -> Message | None:
        """The message that it begins with."""
        return self._first if self._tail.offset else super().first

    async def _entries_before(self, before: int | None) -> list[Entry]:
        """A stretch of entries that ends before a number and begins where a message may stand first."""
        found: list[Entry] = []
        while True:
            page = await self.store.read(self.id, before=before, limit=PAGE)
            found[:0] = page
            if not page or is_whole(found):
                return found
            before = page[0].seq

    def said_since(self, seq: int) -> int:
        """How many messages the user has written from an entry on, as far as they are loaded."""
        messages = zip(self._tail.messages, self._seqs, strict=True)
        return sum(number >= seq and message.is_said for message, number in messages)

    async def load_older(self) -> bool:
        """Loads a stretch of older messages in front of `recent`; whether there were any."""
        if self._tail.offset == 0:
            return False
        tail, before = self._tail, len(self._tail.messages)
        self._take(tail, await self._entries_before(tail.first_seq))
        return len(tail.messages) > before

    def _load_blocking(self, tail: Tail) -> None:
        self._take(tail, blocking(self._entries_before(tail.first_seq)))

    def _take(self, tail: Tail, entries: list[Entry]) -> None:
        """Puts older entries in front of what is loaded."""
        found = stretch(entries)
        tail.extend_front(found.messages, found.first_seq)
        tail.offset = found.offset
        if tail is self._tail:
            self._seqs[:0] = found.seqs
            self._ids.update(call.id for message in found.messages for call in message.calls)

    async def exists(self) -> bool:
        """Whether anything is known of it."""
        return self._lease is not None or await self.store.find(self.id) is not None

    async def known_calls(self, ids: Iterable[str]) -> frozenset[str]:
        """Which of these ids belong to calls that are not loaded."""
        asked = tuple(ids)
        if self._tail.offset == 0 or not asked:
            return frozenset()
        return await self.store.known_calls(self.id, asked)

    # holding

    @asynccontextmanager
    async def held(self, user: str | None = None) -> AsyncIterator[None]:
        """Has the session to itself, in this process and all others: other runs wait in a row.

        Args:
            user: who asks, its own user by default; a session that there is not yet becomes his.

        Raises:
            SessionError: when it belongs to another user, does not become free in time, or was taken over.
            StoreError: when the store cannot be used.
        """
        if self.turnstile.is_inside:
            await self.turnstile.enter()  # says why not
        async with leased(self, self.user if user is None else user) as lease:
            if self._lease is not None:  # of a run whose loop was closed in the midst of it
                self._next_seq, self._unsent, self._rows, self._sending = 0, [], [], None
            self._lease, self._broken, self.user = lease, None, lease.owner
            try:
                if self._next_seq != lease.next_seq:
                    if lease.next_seq > 1 or self._next_seq:
                        await self._reload()
                    self._next_seq = lease.next_seq
                yield
                await self.saved()
            finally:
                if self._lease is lease:  # else the session has gone on without this run
                    await self._let_go()

    async def _let_go(self) -> None:
        try:
            if self._unsent or self._rows or self._sending is not None:
                await asyncio.shield(asyncio.ensure_future(self._quietly_saved()))
        finally:
            is_empty = not self._tail.messages and self._tail.offset
            if self._broken is not None or self._unsent or is_empty:
                self._next_seq = 0  # what is in memory is not what is kept: it is read anew
            self._unsent, self._rows, self._lease = [], [], None
            if len(self._tail.messages) > MOST_LOADED:
                self._forget_older()

    async def _quietly_saved(self) -> None:
        try:
            await self.saved()
        except (SessionError, StoreError):
            return  # the run ends for another reason, or was told before

    def _forget_older(self) -> None:
        keep = MOST_LOADED // 2
        messages, seqs = self._tail.messages[-keep:], self._seqs[-keep:]
        while messages and messages[0].role == "tool":
            messages, seqs = messages[1:], seqs[1:]
        offset = len(self._tail) - len(messages)
        self._tail = Tail(messages, offset=offset, first_seq=seqs[0], load=self._load_blocking)
        self._seqs = seqs
        self._ids = {call.id for message in messages for call in message.calls}

    @property
    def title(self) -> str:
        """How it began, where that is loaded; else ""."""
        if self._tail.offset:
            return ""
        words = next((m.text for m in self._tail.messages if m.role == "user" and m.text), "")[:_TITLE]
        return words.encode(errors="replace").decode().replace("\0", "")

    # writing

    def _body(self, message: Message) -> dict[str, Any]:
        body = super()._body(message)
        if message.role == "assistant" and (turn := self.turn) is not None:
            self.turn = None
            body["t"] = {name: value for name, value in turn.items() if value}
        return body

    def _write(self, kind: Kind, body: Callable[[], Mapping[str, Any]], call_id: str = "") -> int:
        if self._lease is None:
            raise SessionError(
                say(
                    f"the session '{self.id}' is written to by runs alone: `async with session.held():` makes you one",
                    f"会话“{self.id}”只能由运行写入：请使用 `async with session.held():`",
                )
            )
        seq = self._next_seq
        text = codec.written(body())
        self._unsent.append(Entry(seq=seq, kind=kind, body=text, call_id=call_id, at=time.time()))
        self._next_seq = seq + 1
        if kind == "message":
            self._seqs.append(seq)
        elif kind == "ended":
            self._start_sending()  # its result is worth keeping at once; nobody waits for it
        return seq

    def _undone(self, length: int) -> None:
        place = length - self._tail.offset
        first = self._seqs[place]
        self._write("undone", lambda: {"from": first, "left": length})
        del self._seqs[place:]

    async def remove(self) -> None:
        """Removes it from its store, for good. Only for its holder.

        Raises:
            SessionError: when it is not held.
        """
        await self.saved()
        if self._lease is None:
            raise SessionError(
                say(
                    f"the session '{self.id}' can be removed by its holder alone",
                    f"会话“{self.id}”只能由占用它的运行删除",
                )
            )
        await self.store.remove(self._lease)
        self._tail, self._next_seq = Tail(), 0

    def audit(self, row: AuditRow) -> None:
        """Takes a row of the audit along with the next entries."""
        if self._lease is not None:
            self._rows.append(row)

    async def saved(self) -> None:
        """Waits until everything that was added is kept.

        Raises:
            SessionError: when another run has taken the session over.
            StoreError: when the store cannot be written.
        """
        while self._sending is not None or self._unsent or self._rows:
            if self._broken is not None:
                raise self._broken
            await asyncio.shield(self._start_sending())
        if self._broken is not None:
            raise self._broken

    async def assured(self) -> None:
        """Waits until everything is kept, and asks the store whose the session is where the lease may have run out."""
        await self.saved()
        while self._lease is not None and moment() >= self.assured_until:
            asked_at = moment()
            if not await self.store.renew(self._lease):
                raise SessionError(taken_over(self.id))
            self.assured_until = assured_until(asked_at, self.store.lease_seconds)

    def begin_saving(self) -> None:
        """Starts to keep what was added; `saved` tells whether it was.

        Raises:
            SessionError: when what was added before could not be kept, as another run has taken the session over.
            StoreError: when it could not be, as the store cannot be written.
        """
        if self._broken is not None:
            raise self._broken
        if self._unsent or self._rows:
            self._start_sending()

    def _start_sending(self) -> asyncio.Future[None]:
        if self._sending is None:
            self._sending = asyncio.ensure_future(self._send())
        return self._sending

    async def _send(self) -> None:
        try:
            while (self._unsent or self._rows) and self._broken is None and self._lease is not None:
                entries, rows = self._unsent, self._rows
                self._unsent, self._rows = [], []
                await self.store.append(self._lease, entries, rows)
        except BaseException as error:
            self._broken = error  # told to whoever waits for it to be kept
            if not isinstance(error, Exception):
                raise
        finally:
            self._sending = None
