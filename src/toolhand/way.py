"""What the calls of a reply run with, whoever runs them: one by one, as a plan, or in a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolhand.core.approvals import Decision
from toolhand.core.context import RunContext
from toolhand.core.tools import ToolChoice
from toolhand.sessions.session import Session
from toolhand.toolset import Toolset


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What the calls of a reply run with.

    Args:
        tools: the run's tools.
        context: the run's facts.
        choice: which tools may be called.
        session: the conversation, held; its ledger knows of every step.
        decisions: what a person decided about calls that waited.
        running: the ids of calls whose start the ledger is to keep; steps are added.
        most_calls: how many calls the run may still make.
    """

    tools: Toolset
    context: RunContext
    choice: ToolChoice
    session: Session
    decisions: Mapping[str, Decision]
    running: set[str]
    most_calls: int | None = None
