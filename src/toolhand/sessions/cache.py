"""The sessions of a store that a program uses: the same object for the same name, as long as there is room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import islice
from typing import Final

from toolhand.core.errors import SessionError
from toolhand.sessions.background import blocking
from toolhand.sessions.session import check_name, refusal
from toolhand.sessions.store import SessionStore
from toolhand.sessions.stored import StoredSession

_MOST: Final = 512


class SessionCache:
    """Sessions by name, with the ends of their histories in memory; the ones unused for longest go.

    Args:
        store: where they are kept.
    """

    def __init__(self, store: SessionStore) -> None:
        self.store = store
        self._sessions: OrderedDict[str, StoredSession] = OrderedDict()
        self._mutex = threading.Lock()

    def get(self, session_id: str, user: str = "") -> StoredSession:
        """The session of that name; whose it is is seen when it is used.

        Args:
            session_id: its name.
            user: whose it becomes where there is none.

        Raises:
            SettingsError: when it cannot be a name.
        """
        check_name("session", session_id)
        check_name("user", user)
        with self._mutex:
            session = self._sessions.get(session_id)
            if session is None:
                session = self._sessions[session_id] = StoredSession(session_id, self.store, user=user)
                self._drop()
            self._sessions.move_to_end(session_id)
            return session

    def forget(self, session_id: str) -> None:
        """Lets a session go that will not be used for long, unless it is in use."""
        with self._mutex:
            session = self._sessions.get(session_id)
            if session is not None and session.turnstile.is_idle:
                del self._sessions[session_id]

    def look(self, session_id: str, user: str | None = None) -> StoredSession:
        """The session with its history as it is now, for code that reads it.

        Args:
            session_id: its name.
            user: who asks; None for a program that may see everybody's.

        Raises:
            SessionError: when it is another user's.
        """
        check_name("session", session_id)
        found = blocking(self.store.find(session_id))
        if found is not None and user is not None and found.owner != user:
            raise SessionError(refusal(session_id, user))
        session = self.get(session_id, user or "")
        if session.turnstile.is_idle:
            if found is not None:
                session.user = found.owner
            blocking(session.load())
        return session

    def _drop(self) -> None:
        """Lets those go that were unused for longest; the last one is about to be used."""
        over = len(self._sessions) - _MOST
        if over > 0:
            idle = (
                n for n, s in islice(self._sessions.items(), len(self._sessions) - 1) if s.turnstile.is_idle
            )
            for name in list(islice(idle, over)):
                del self._sessions[name]
