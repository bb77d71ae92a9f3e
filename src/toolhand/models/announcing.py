"""What a model's adapter tells of itself while it works: that it asks again, that another model takes over.

An adapter knows no run. Whoever asks it listens; where nobody does, nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from toolhand.core.events import ModelReplaced, ModelRetried

Announcement = ModelRetried | ModelReplaced

_LISTENER: Final[ContextVar[Callable[[Announcement], None] | None]] = ContextVar("_LISTENER", default=None)


@contextmanager
def heard_by(listen: Callable[[Announcement], None]) -> Iterator[None]:
    """Inside, `listen` is called with what adapters announce."""
    token = _LISTENER.set(listen)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def announce(event: Announcement) -> None:
    """Tells whoever listens."""
    listen = _LISTENER.get()
    if listen is not None:
        listen(event)
