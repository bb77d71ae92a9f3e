"""The events of a history that is mended, or shown only in part; `toolhand.core.events` counts them among all others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTrimmed:
    """The history was too long for the model: from now on it is shown less of it. What is stored is not touched.

    Args:
        messages: how many messages are shown now.
        tokens: about how many tokens they have.
        left_out: how many are not shown any more.
    """

    messages: int
    tokens: int
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One thing that was mended in a history that came from elsewhere.

    Args:
        kind: what was done, such as "orphan_result_dropped".
        place: where, as the number of the message in the list that was given, from 0.
        call_id: which call it concerns; "" for none.
    """

    kind: str
    place: int
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryHealed:
    """The session's history came from elsewhere and was damaged; it was mended before the run.

    Args:
        repairs: what was done, in order.
    """

    repairs: tuple[Repair, ...]
