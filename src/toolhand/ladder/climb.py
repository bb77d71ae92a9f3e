"""Stepping from rung to rung: one `Ladder` for an agent, one `Climb` for each session.

A neutral history makes a step no more than choosing another renderer. A rung is left after some replies in a row that could not
be used, or at once when the server refuses what it asks for. Coming up again is tried after a while, not assumed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Final, Protocol

from toolhand.arguments.relations import hang_together
from toolhand.arguments.settings import BindSettings
from toolhand.core import plugins
from toolhand.core.errors import ModelError, ModelFault, SettingsError
from toolhand.core.events import SteppedDown, SteppedUp
from toolhand.core.language import Language, say
from toolhand.core.messages import Message, ModelRequest, Reply, ToolCall
from toolhand.core.tools import ToolChoice
from toolhand.ladder.profile import Profile
from toolhand.protocols import ModelProtocol, Reader
from toolhand.protocols.constrained import Constrained
from toolhand.tools.collection import ToolCollection

MOST_SESSIONS: Final = 10_000
"""Of how many sessions it is remembered where they stand; the one that was not used for longest starts again at the top."""

LONGEST_RECOVERY: Final = 256

REFUSALS: Final = frozenset({400, 422, 501})
"""Statuses with which servers refuse a field that they do not know or cannot do, such as tools or a response format."""


class Way(Protocol):
    """How one session speaks to its model, and what is learnt from each reply."""

    @property
    def protocol(self) -> ModelProtocol:
        """The protocol to ask with now."""
        ...

    @property
    def checks_values(self) -> bool:
        """Whether ids that nobody gave are sent back."""
        ...

    @property
    def checks_steps(self) -> bool:
        """Whether values that stand for a step that was left out are sent back."""
        ...

    @property
    def drops_idle(self) -> bool:
        """Whether optional values that say nothing and that nobody said are left out."""
        ...

    def heard(self, reply: Reply) -> SteppedDown | SteppedUp | None:
        """Takes note of a reply; gives the step that follows from it."""
        ...

    def lacked(
        self, calls: Sequence[ToolCall], broken: Sequence[ToolCall], tools: ToolCollection
    ) -> SteppedDown | None:
        """Takes note of a reply's calls, some of which may lack a value that nobody gave."""
        ...

    def refused(self, error: ModelError, request: ModelRequest) -> SteppedDown | None:
        """Takes note of a refusal; gives the step after which it is worth asking again."""
        ...


@dataclass(frozen=True, slots=True)
class Steady:
    """One protocol for all turns, as a user chose it."""

    protocol: ModelProtocol
    checks_values: bool = False
    checks_steps: bool = False
    drops_idle: bool = False

    def heard(self, reply: Reply) -> None:
        """Nothing follows."""
        del reply

    def lacked(self, calls: Sequence[ToolCall], broken: Sequence[ToolCall], tools: ToolCollection) -> None:
        """Nothing follows."""
        del calls, broken, tools

    def refused(self, error: ModelError, request: ModelRequest) -> None:
        """Nothing follows."""
        del error, request


class Ladder:
    """The protocols that a model's profile names, in their order. As a protocol it is its first rung.

    Args:
        profile: of the model.

    Raises:
        SettingsError: when the profile names a protocol that does not exist.
    """

    name = "auto"

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.rungs = tuple(_rung(name, profile) for name in profile.rungs)
        self.planner = _rung("plan", profile) if profile.plans_chains and find_spec("lark") else None
        self.refused_rungs: set[int] = set()
        """Rungs that the server cannot do, for every session."""
        self.top = 0
        """The first rung that it has not refused."""
        self._climbs: OrderedDict[str, Climb] = OrderedDict()

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        """As the first rung does."""
        return self.rungs[self.top].render(messages, tools, choice, language)

    def reader(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        """As the first rung does."""
        return self.rungs[self.top].reader(tools, new_id, settings)

    def refuse(self, rungs: Iterable[int]) -> None:
        """Takes note that the server cannot do some rungs."""
        self.refused_rungs.update(rungs)
        last = len(self.rungs) - 1
        self.top = next((n for n in range(last) if n not in self.refused_rungs), last)

    def climb(self, session_id: str) -> Climb:
        """Where a session stands."""
        climb = self._climbs.get(session_id)
        if climb is None:
            climb = self._climbs[session_id] = Climb(self)
        self._climbs.move_to_end(session_id)
        while len(self._climbs) > MOST_SESSIONS:
            self._climbs.popitem(last=False)
        return climb


class Climb:
    """One session's place on the ladder.

    Args:
        ladder: the agent's.
    """

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder
        self.checks_values, self.checks_steps = ladder.profile.checks_values, ladder.profile.checks_steps
        self.drops_idle = ladder.profile.drops_idle
        self._at = ladder.top
        self._failures = 0
        self._good = 0
        self._recovery = ladder.profile.recovery
        self._is_on_trial = False
        self._planner: ModelProtocol | None = None
        self._refused: list[int] = []

    @property
    def protocol(self) -> ModelProtocol:
        """The rung to ask on now; beside the ladder, while a chain of steps is planned."""
        if self._planner is not None:
            return self._planner
        if self._at in self._ladder.refused_rungs:
            self._at = self._ladder.top
        return self._ladder.rungs[self._at]

    def heard(self, reply: Reply) -> SteppedDown | SteppedUp | None:
        """Takes note of a reply: too many in a row that hold no call and no answer lead down, enough good ones up again."""
        if self._refused:
            self._ladder.refuse(self._refused)
            self._refused = []
        if self._planner is not None:
            return self._planned(reply)
        if reply.calls or (not reply.problems and (reply.text or "").strip()):
            self._failures = 0
            self._good += 1
            self._is_on_trial = self._is_on_trial and self._good < self._ladder.profile.failures
            return self._up() if self._good >= self._recovery else None
        self._good = 0
        self._failures += 1
        if self._is_on_trial:  # one failure is enough for a rung that was only tried
            self._recovery = min(self._recovery * 2, LONGEST_RECOVERY)
            return self._down("on trial")
        return self._down("unusable") if self._failures >= self._ladder.profile.failures else None

    def lacked(
        self, calls: Sequence[ToolCall], broken: Sequence[ToolCall], tools: ToolCollection
    ) -> SteppedDown | None:
        """Takes note of a reply's calls; a chain of steps that it left out, or made up the results of, is planned as a whole.

        Asked for one call after another, small models make up what each needs; in a plan they write down what hangs on what.

        Args:
            calls: those that may run.
            broken: those that were sent back for a value that nobody gave.
            tools: what may be called.
        """
        if self._ladder.planner is None or self._planner is not None:
            return None
        called = {call.name for call in (*calls, *broken)}
        lacking = [call.problem.details for call in broken if call.problem is not None]
        is_chain = any(told.get("is_chain") or called & set(told.get("tools", ())) for told in lacking)
        if not is_chain and not hang_together((*calls, *broken), tools):
            return None
        before, self._planner = self.protocol.name, self._ladder.planner
        return SteppedDown(protocol=before, next_protocol=self._planner.name, reason="chain")

    def _planned(self, reply: Reply) -> SteppedUp | None:
        """An answer ends the planning; so do replies in a row that are neither an answer nor a plan."""
        self._failures = 0 if reply.calls else self._failures + 1
        is_answer = not reply.calls and not reply.problems
        if self._planner is None or not (is_answer or self._failures > self._ladder.profile.failures):
            return None
        before, self._planner, self._failures = self._planner.name, None, 0
        return SteppedUp(protocol=before, next_protocol=self.protocol.name)

    def refused(self, error: ModelError, request: ModelRequest) -> SteppedDown | None:
        """Takes note of a refusal, such as of tools or of a response format: the next rung asks for less.

        What the server cannot do is remembered for all sessions, once it took what a later rung asked for.
        """
        before = self._at
        asks_for_more = bool(request.tools) or request.grammar is not None
        is_refusal = error.fault == ModelFault.REFUSED and error.status in REFUSALS
        step = self._down("refused") if is_refusal and asks_for_more else None
        if step is not None:
            self._refused.append(before)
        elif self._refused:  # it was nothing that a protocol could help
            self._at, self._refused = self._refused[0], []
        return step

    def _down(self, reason: str) -> SteppedDown | None:
        if self._at + 1 >= len(self._ladder.rungs):
            return None
        before = self.protocol.name
        self._at += 1
        self._failures = self._good = 0
        self._is_on_trial = False
        return SteppedDown(protocol=before, next_protocol=self.protocol.name, reason=reason)

    def _up(self) -> SteppedUp | None:
        above = next((n for n in range(self._at - 1, -1, -1) if n not in self._ladder.refused_rungs), None)
        if above is None:
            return None
        before = self.protocol.name
        self._at, self._good, self._is_on_trial = above, 0, True
        return SteppedUp(protocol=before, next_protocol=self.protocol.name)


def way_of(protocol: ModelProtocol, session_id: str) -> Way:
    """How a session speaks to its model: where it stands on a ladder, or the one protocol that there is."""
    return protocol.climb(session_id) if isinstance(protocol, Ladder) else Steady(protocol)


def _rung(name: str, profile: Profile) -> ModelProtocol:
    found: ModelProtocol | None = plugins.found("protocols", name, "PROTOCOL")
    if found is None:
        there = plugins.listed("protocols", "PROTOCOL")
        raise SettingsError(
            say(
                f"{profile.origin}: there is no protocol '{name}'; there is: {there}",
                f"{profile.origin}：没有协议“{name}”；可用：{there}",
            )
        )
    return replace(found, least_sure=profile.least_sure) if isinstance(found, Constrained) else found
