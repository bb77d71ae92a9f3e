"""The same request once more: which run it belongs to, so that what a client sends again is not made again.

OpenAI's and Anthropic's clients send a request up to three times: where it took longer than they wait, and where an answer was
an error of the server's. Each time they say how often they did (`x-stainless-retry-count`); an `Idempotency-Key` stands there
only where the program gives one. Source: `_base_client.py` of openai 3.57 and anthropic 2.14; the header is that of
https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolhand.gateway.refusals import invalid
from toolhand.gateway.wanted import Sending, text_in

MOST_KEPT: Final = 10_000
"""Of how many requests it is remembered that their clients have no answer yet."""

_NAME: Final = re.compile(r"[^\s\0]{1,128}")
_RETRIES: Final = b"x-stainless-retry-count"
_GRACE_SECONDS: Final = 60.0
"""How long a client may rest between two tries."""


def sending_of(own: Mapping[str, Any], raw: bytes, headers: Mapping[bytes, bytes]) -> Sending:
    """What a request says of itself.

    Args:
        own: its field for the gateway.
        raw: its body.
        headers: its headers.

    Raises:
        Refusal: when a run cannot have the name that it gives.
    """
    run_id = text_in(own, "run_id")
    if run_id and not _NAME.fullmatch(run_id):
        raise invalid(
            "toolhand.run_id",
            "this is a name of up to 128 characters without blanks",
            "应是不含空白、最多 128 个字符的名称",
        )
    key, tries = headers.get(b"idempotency-key", b"").decode("latin-1").strip(), headers.get(_RETRIES)
    if not run_id and not key and tries is None:
        return Sending()
    session = headers.get(b"toolhand-session", b"").strip()  # it may stand there instead of in the body
    digest = "" if tries is None else hashlib.sha256(raw + b"\0" + session).hexdigest()
    return Sending(run_id=run_id, key=key, digest=digest, is_repeated=tries not in (None, b"", b"0"))


class Repeats:
    """The runs of requests that are sent again.

    Args:
        seconds: how long one try may take.
        clock: gives seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds + _GRACE_SECONDS, clock
        self._unanswered: OrderedDict[tuple[str, str], tuple[str, float]] = OrderedDict()

    def run_of(self, sending: Sending, user: str) -> str:
        """The name of a request's run; "" where it has none yet. A key is bound to its user: another's is another run.

        Args:
            sending: what the request says.
            user: for whom it is.
        """
        if sending.run_id:
            return sending.run_id
        if sending.key:
            return (
                "request-"
                + hashlib.sha256(f"{user}\0{sending.key}".encode("utf-8", "replace")).hexdigest()[:32]
            )
        run_id, since = self._unanswered.get((user, sending.digest), ("", 0.0))
        return run_id if sending.is_repeated and self._clock() - since <= self._seconds else ""

    def began(self, sending: Sending, user: str, run_id: str) -> None:
        """Remembers the run of a request whose client has no answer yet."""
        if sending.digest:
            self._unanswered[user, sending.digest] = (run_id, self._clock())
            self._unanswered.move_to_end((user, sending.digest))
            while len(self._unanswered) > MOST_KEPT:
                self._unanswered.popitem(last=False)

    def answered(self, sending: Sending, user: str) -> None:
        """Its client has an answer: the same words once more are another request."""
        self._unanswered.pop((user, sending.digest), None)
