"""Things that take a while to make, kept ahead of need: each is taken once, and another is made behind its back."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
_PAUSE_SECONDS: Final = 0.005
"""A short run is over by then, and has the processor to itself."""


def is_over(process: int) -> bool:
    """Whether the process of a descriptor has ended."""
    gone = select.poll()
    gone.register(process, select.POLLIN)
    return bool(gone.poll(0))


class Ring(Generic[K, T]):
    """Keeps some things ready for the last key that was asked for.

    Args:
        make: makes one for a key; called in any thread, one at a time.
        drop: ends one that is not needed.
        size: how many are kept.
        is_gone: whether one that is ready has been ended from outside, and is of no use.
    """

    def __init__(
        self,
        make: Callable[[K], T],
        drop: Callable[[T], None],
        size: int = 2,
        *,
        is_gone: Callable[[T], bool] = lambda one: False,  # noqa: ARG005
    ) -> None:
        self._make, self._drop, self._size, self._is_gone = make, drop, size, is_gone
        self._begin()
        atexit.register(self.clear)

    def _begin(self) -> None:
        self._owner = os.getpid()
        self._ready: deque[T] = deque()
        self._used: deque[T] = deque()
        self._key: K | None = None
        self._lock, self._making, self._wanted = threading.Lock(), threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, key: K) -> T:
        """One for this key, made now where none is ready."""
        found = self.ready(key)
        if found is not None:
            return found
        try:
            with self._making:
                return self._make(key)
        finally:
            self._refill()

    def ready(self, key: K) -> T | None:
        """One for this key, where one is ready; those for another are ended."""
        if self._owner != os.getpid():  # a forked host: what is ready is its parent's
            self._begin()
        old: list[T] = []
        with self._lock:
            if key != self._key:
                old, self._key = list(self._ready), key
                self._ready.clear()
            found = self._ready.popleft() if self._ready else None
            while found is not None and self._is_gone(found):
                old.append(found)
                found = self._ready.popleft() if self._ready else None
        self._used.extend(old)
        if found is not None or old:
            self._refill()
        return found

    def retire(self, one: T) -> None:
        """Ends one that has been used, behind the caller's back; it must not be able to do anything any more."""
        self._used.append(one)
        self._refill()

    def _drop_used(self) -> None:
        while True:
            try:
                used = self._used.popleft()
            except IndexError:
                return
            self._drop(used)

    def clear(self) -> None:
        """Ends all that are ready; none is made behind it."""
        if self._owner != os.getpid():
            return
        self._key = None
        with self._making, self._lock:
            ready = list(self._ready)
            self._ready.clear()
        for one in ready:
            self._drop(one)
        self._drop_used()

    def _refill(self) -> None:
        self._wanted.set()
        if (self._size or self._used) and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._keep_full, name="toolhand-sandbox", daemon=True)
            self._thread.start()

    def _keep_full(self) -> None:
        while True:
            self._wanted.wait()
            time.sleep(_PAUSE_SECONDS)
            self._wanted.clear()
            with contextlib.suppress(Exception):  # whoever needs one finds out why
                self._drop_used()
                while self._add_one():
                    self._drop_used()

    def _add_one(self) -> bool:
        """Makes one more where one is missing; gives whether it did."""
        with self._making:
            key = self._key
            if key is None or len(self._ready) >= self._size:
                return False
            made = self._make(key)
            with self._lock:
                is_wanted = key == self._key
                if is_wanted:
                    self._ready.append(made)
        if not is_wanted:
            self._drop(made)
        return is_wanted
