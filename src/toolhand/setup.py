"""What an agent is made of, and what one run is asked to do: the facts that the loop works from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolhand.choosing.chooser import Chooser
from toolhand.core.approvals import Decision
from toolhand.core.events import Event
from toolhand.core.language import Language
from toolhand.core.messages import Sampling
from toolhand.core.tools import ToolChoice
from toolhand.models import Model
from toolhand.observability import Sink
from toolhand.output import OutputType
from toolhand.protocols import ModelProtocol
from toolhand.run import Limits
from toolhand.sessions.session import Session
from toolhand.sessions.trimming import History
from toolhand.toolset import Toolset


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What an agent is made of, for all its runs.

    Args:
        model: what is asked.
        tools: what it may call.
        protocol: how calls are written down.
        instructions: what the model is told first; None for one sentence that says to use the tools.
        language: of the words to the model; None for that of the user's message.
        sampling: temperature and the like.
        sinks: who hears of every event.
        history: how much of a conversation the model is shown.
        output: what the answer has to be; None for text.
        chooser: chooses which of many tools the model is shown; None to show all.
    """

    model: Model
    tools: Toolset
    protocol: ModelProtocol
    instructions: str | None
    language: Language | None
    sampling: Sampling
    sinks: tuple[Sink, ...] = ()
    history: History = field(default_factory=History)
    output: OutputType | None = None
    chooser: Chooser | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one run is asked to do.

    Args:
        text: the user's message; None to go on with the calls that wait for a decision.
        session: the conversation.
        choice: which tools may be called.
        limits: how far it may go.
        user: who asks.
        permissions: what the user holds.
        roles: what the user is.
        facts: values for `Injected` parameters.
        decisions: what was decided about waiting calls, by approval id or call id.
        streams: whether the text is wanted as it comes.
        on_event: called with every event.
        output: what the answer has to be, instead of the agent's.
        history: what a new session begins with, in any shape that `heal` reads.
    """

    text: str | None
    session: Session
    choice: ToolChoice
    limits: Limits
    user: str = ""
    permissions: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    facts: Mapping[str, Any] = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    streams: bool = False
    on_event: Callable[[Event], None] | None = None
    output: OutputType | None = None
    history: Sequence[Any] = ()
