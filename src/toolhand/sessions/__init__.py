"""Who said what: sessions as logs that are only ever added to, and the stores that keep them.

`Session` lives in the process; with a store it is a `StoredSession`. The port is `SessionStore`; memory, SQLite and PostgreSQL
are behind it, one file each.
"""

from __future__ import annotations

from toolhand.sessions.archive import Archive
from toolhand.sessions.entries import AuditQuery, AuditRow, Busy, Entry, Hit, Lease, Summary
from toolhand.sessions.memory import MemoryStore
from toolhand.sessions.session import Session
from toolhand.sessions.store import SessionStore, open_store
from toolhand.sessions.stored import StoredSession

__all__ = [
    "Archive",
    "AuditQuery",
    "AuditRow",
    "Busy",
    "Entry",
    "Hit",
    "Lease",
    "MemoryStore",
    "Session",
    "SessionStore",
    "StoredSession",
    "Summary",
    "open_store",
]
