"""A plan of a person's own, run as a model's would be: through every policy, kept in a session, resumable, with no model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Unpack

from toolhand.agent import Agent
from toolhand.arguments.settings import BindSettings
from toolhand.core.approvals import Decision, PendingCall
from toolhand.core.events import TextDelta
from toolhand.core.language import Language
from toolhand.core.messages import FinishReason, Message, ModelOutput, ModelRequest, RawCall, Reply, ToolCall
from toolhand.core.tools import ToolChoice
from toolhand.options import ResumeOptions, RunOptions
from toolhand.plan import Rules, read
from toolhand.policies import Policy
from toolhand.protocols import Reader
from toolhand.protocols.reading.planned import RUN_PLAN
from toolhand.run import Run
from toolhand.sessions.store import SessionStore
from toolhand.tools.collection import ToolCollection

ENDED: Final = "The plan has ended."


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRun:
    """How a plan of a person's own ended.

    Args:
        ending: "answered" (by `return`), "done", "failed", "stopped", "waiting" (for a person) or "refused" (by the check).
        answer: what `return` gave.
        steps: the steps that ended: `step`, `call`, and `result`, `error` or `skipped`.
        error: why it failed or was refused, as sentences.
        undone: what was undone: `step`, `ok`, `call`, `reason`.
        pending: the calls that wait for a person; `resume_plan` goes on with a decision.
        run: the run behind it.
    """

    ending: str
    answer: Any = None
    steps: Sequence[Mapping[str, Any]] = ()
    error: str = ""
    undone: Sequence[Mapping[str, Any]] = ()
    pending: Sequence[PendingCall] = ()
    run: Run


@dataclass(slots=True)
class _Noted:
    """A plan in the place of a model that would write it: the model and its protocol in one."""

    source: str
    rules: Rules = field(default_factory=Rules)
    name: str = "plan"
    is_given: bool = False

    async def complete(self, request: ModelRequest) -> ModelOutput:
        del request
        return ModelOutput()

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelOutput]:
        yield await self.complete(request)

    async def close(self) -> None:
        """There is nothing to give back."""

    def render(
        self, messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice, language: Language
    ) -> ModelRequest:
        del messages, tools, choice
        return ModelRequest(messages=(), language=language)

    def reader(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> Reader:
        del tools, settings
        return _NotedReader(self, new_id)


class _NotedReader:
    def __init__(self, noted: _Noted, new_id: Callable[[], str]) -> None:
        self._noted, self._new_id = noted, new_id

    def feed(self, chunk: str) -> str:
        del chunk
        return ""

    def finish(self, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        del calls, finish_reason
        if self._noted.is_given or not self._noted.source:
            return Reply(text=ENDED)
        self._noted.is_given = True
        call = ToolCall(id=self._new_id(), name=RUN_PLAN, arguments={"plan": self._noted.source})
        return Reply(calls=(call,))

    def read(self, text: str, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        del text
        return self.finish(calls, finish_reason)


async def run_plan(
    source: str,
    tools: Any,
    *,
    rules: Rules | None = None,
    store: str | SessionStore | None = None,
    policies: Sequence[Policy] | None = None,
    language: Language | None = None,
    **options: Unpack[RunOptions],
) -> PlanRun:
    """Checks a plan and runs it.

    Args:
        source: the plan's text.
        tools: as for `Agent`; nothing else can run.
        rules: bounds, and whether it is dry or undoes what it did when it fails.
        store: where sessions are kept, as for `Agent`.
        policies: the layers around each call, as for `Agent`.
        language: of the words.
        options: as for `Agent.run`; with a `session` of a name the plan can be resumed after a crash.

    Raises:
        MissingExtraError: when the extra `plan` is not installed.
    """
    agent = _agent(source, tools, rules, store, policies, language)
    return _ended(await agent.run(source, **options))


async def resume_plan(
    session: str,
    tools: Any,
    *,
    decisions: Mapping[str, Decision] | None = None,
    rules: Rules | None = None,
    store: str | SessionStore | None = None,
    policies: Sequence[Policy] | None = None,
    language: Language | None = None,
    **options: Unpack[ResumeOptions],
) -> PlanRun:
    """Goes on with a plan that was interrupted, or that waits for a person. Steps that have ended do not run again.

    Args:
        session: the session that it ran in.
        tools: as for `run_plan`, like the other arguments.
        decisions: as for `Agent.resume`.
        rules: as for `run_plan`.
        store: as for `run_plan`.
        policies: as for `run_plan`.
        language: as for `run_plan`.
        options: as for `Agent.resume`.

    Raises:
        SettingsError: when nothing of the session waits.
    """
    agent = _agent("", tools, rules, store, policies, language)
    return _ended(await agent.resume(session, decisions, **options))


def _agent(  # noqa: PLR0917 - the arguments of the two functions above
    source: str,
    tools: Any,
    rules: Rules | None,
    store: str | SessionStore | None,
    policies: Sequence[Policy] | None,
    language: Language | None,
) -> Agent:
    read("")  # what is missing is said first
    noted = _Noted(source, rules or Rules())
    return Agent(noted, tools, protocol=noted, store=store, policies=policies, language=language)


def _ended(run: Run) -> PlanRun:
    results = [
        result for message in run.new_messages for result in message.results if result.name == RUN_PLAN
    ]
    if run.pending or not results:
        return PlanRun(ending="waiting" if run.pending else "stopped", pending=run.pending, run=run)
    last = results[-1]
    if last.error is not None:
        return PlanRun(ending="refused", error=last.error.sentence, run=run)
    told: Mapping[str, Any] = last.data
    return PlanRun(
        ending=str(told["ending"]),
        answer=told.get("answer"),
        steps=told["steps"],
        error=str(told.get("error", "")),
        undone=told.get("undone", ()),
        run=run,
    )
