"""One case, tried once: the agent with the case's tools, what came of each question, and how it is judged."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from toolhand.agent import Agent
from toolhand.arguments.settings import BindSettings
from toolhand.core.errors import ErrorCode, ToolFailure, ToolhandError
from toolhand.core.events import CallFinished, Event, ModelReplied, TurnStarted
from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.language import Language, language_of
from toolhand.core.messages import Reply, Sampling, ToolResult
from toolhand.core.tools import Tool
from toolhand.evals.case import Case, Fixture, Question
from toolhand.evals.expectation import Answer, Made, asked
from toolhand.evals.findings import Finding
from toolhand.evals.matchers import Look
from toolhand.evals.reading import runs
from toolhand.evals.results import Attempt, Exchange, Outcome, Subject
from toolhand.evals.subject_model import CutError, Progress, TapedResults, WatchedModel
from toolhand.evals.tape import NoRecordError, Tape
from toolhand.execution.dispatch import Dispatcher
from toolhand.execution.layers import default_policies
from toolhand.models import Model
from toolhand.models.facts import facts
from toolhand.observability.excerpts import Excerpts
from toolhand.policies import Policy
from toolhand.run import Limits
from toolhand.sessions.session import Session
from toolhand.toolset import Toolset

Clock = Callable[[], dt.datetime]

_MOST_REPLY: Final = 4_000
_MOST_RESULT: Final = 500
_MOST_ARGUMENTS: Final = 4_000

_NOTHING_FOUND: Final[Mapping[Language, str]] = {
    "en": "'{name}' found nothing for these arguments.",
    "zh": "“{name}”没有找到与这些参数相符的内容。",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Under which every attempt of an evaluation runs.

    Args:
        sampling: temperature and the like.
        seconds: how long one question may take.
        runs_writing_tools: whether tools that change something run for real.
        tape: what records and replays.
        plays_only: whether nothing but the tape may be asked.
        clock: gives the present; that of the record in a replay.
    """

    sampling: Sampling = field(default_factory=Sampling)
    seconds: float = 300.0
    runs_writing_tools: bool = False
    tape: Tape | None = None
    plays_only: bool = False
    clock: Clock = lambda: dt.datetime.now().astimezone()


class _CaseTools(Toolset):
    """A case's tools, bound against the evaluation's clock and behind its recorder."""

    def __init__(
        self, tools: Any = (), *, policies: Sequence[Policy] | None = None, clock: Clock | None = None
    ) -> None:
        super().__init__(tools, policies=policies)
        self._layers, self._clock = policies, clock

    @cached_property
    def dispatch(self) -> Dispatcher:
        """With the clock of the evaluation."""
        if self._clock is None:
            return Dispatcher(self, policies=self._layers)
        return Dispatcher(self, policies=self._layers, settings=BindSettings(clock=self._clock))


class _Answers:
    """A tool's function that answers from fixtures."""

    def __init__(self, tool: Tool, fixtures: Sequence[Fixture], language: Language, today: dt.date) -> None:
        self._tool, self._language, self._today = tool, language, today
        self._fixtures = fixtures
        self._left = [fixture.times for fixture in fixtures]

    async def __call__(self, **arguments: Any) -> Any:
        made = Made(name=self._tool.name, arguments=jsonable(arguments), defaults=defaults_of(self._tool))
        look = Look(self._tool.name, self._today)
        for number, fixture in enumerate(self._fixtures):
            left = self._left[number]
            if left == 0 or (fixture.when is not None and fixture.when.findings(made, look)):
                continue
            self._left[number] = None if left is None else left - 1
            if fixture.error is not None:
                error = fixture.error
                raise ToolFailure(error.message, code=error.code, retryable=error.retryable)
            return fixture.result
        raise ToolFailure(_NOTHING_FOUND[self._language].format(name=self._tool.name))


def defaults_of(tool: Tool) -> dict[str, Any]:
    """What a tool takes for arguments that are not sent, where its schema says so."""
    return {
        name: schema["default"]
        for name, schema in tool.properties.items()
        if isinstance(schema, Mapping) and "default" in schema
    }


class _Collector:
    """Listens to one run and keeps what it is judged by."""

    def __init__(self, progress: Progress, turns: int) -> None:
        self._progress, self._turns = progress, turns
        self._replies: list[Reply] = []
        self._finished: dict[str, tuple[CallFinished, ToolResult]] = {}
        self.raw: list[str] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, TurnStarted):
            if event.turn > self._turns:
                self._progress.stopped = "turn_limit"
        elif isinstance(event, ModelReplied):
            self._replies.append(event.reply)
            written = "\n".join(f"{call.name}({call.arguments})" for call in event.raw_calls)
            self.raw.append("\n".join(filter(None, (event.raw, written))))
        elif isinstance(event, CallFinished):
            self._finished[event.call.id] = (event, event.result)

    @property
    def text(self) -> str:
        """What the last reply says to the user."""
        return (self._replies[-1].text or "") if self._replies else ""

    def made(self) -> list[Made]:
        """The calls in the order in which they were asked for."""
        asked_for = [call.id for reply in self._replies for call in (*reply.calls, *reply.broken)]
        return [_made(*self._finished[id_]) for id_ in asked_for if id_ in self._finished]

    def problems(self) -> Counter[str]:
        """How often each code came up: of replies that could not be read, and of calls that failed."""
        found = Counter(str(problem.code) for reply in self._replies for problem in reply.problems)
        owed = {call.id for reply in self._replies for call in reply.broken}
        for id_, (_, result) in self._finished.items():
            if result.error is not None and id_ not in owed:
                found[str(result.error.code)] += 1
        return found


def _made(event: CallFinished, result: ToolResult) -> Made:
    call = event.call
    code = str(result.error.code) if result.error else str(call.problem.code) if call.problem else ""
    return Made(
        name=event.tool.name if event.tool is not None else call.name,
        arguments=jsonable(dict(call.arguments)),
        # A call that waits for a person was made well; it is the person who is missing here.
        error="" if code == ErrorCode.APPROVAL_REQUIRED else code,
        defaults=defaults_of(event.tool) if event.tool is not None else {},
        result=result_text(result),
        fixes=tuple(fix.kind for fix in call.fixes),
        is_harmless=event.tool is None or event.tool.repeatable,
    )


class _Try:
    """One attempt under way."""

    def __init__(self, case: Case, subject: Subject, repeat: int, conditions: Conditions) -> None:
        self.case, self.subject, self.repeat, self.conditions = case, subject, repeat, conditions
        self.progress = Progress()
        self.today = conditions.clock().date()
        self.excerpts = Excerpts.of_all(case.tools)
        self.findings: list[Finding] = []
        self.exchanges: list[Exchange] = []
        self.fixes: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()
        self.wrong_calls = 0

    def agent(self, model: Model | None) -> Agent:
        """The agent that is asked."""
        case, conditions = self.case, self.conditions
        watched = WatchedModel(
            self.subject.model,
            case.id,
            self.repeat,
            self.progress,
            model=model,
            tape=None if case.outputs else conditions.tape,
            outputs=case.outputs,
        )
        return Agent(
            watched,
            self._tools(),
            instructions=case.instructions,
            protocol=self.subject.protocol,
            tool_choice=case.tool_choice,
            language=case.language,
            sampling=conditions.sampling,
            # One turn more than the case has: at that turn it is cut, without a last answer that nobody judges.
            limits=Limits(turns=case.turns + 1, seconds=conditions.seconds),
        )

    def _tools(self) -> Toolset:
        conditions, live = self.conditions, set(self.case.fixtures)
        tools = []
        for tool in self.case.tools:
            if tool.name in self.case.fixtures:
                language = self.case.language or language_of(self.case.questions[0].text)
                answers = _Answers(tool, self.case.fixtures[tool.name], language, self.today)
                tools.append(_tame(tool, answers))
            elif runs(tool, self.case.fixtures, runs_writing_tools=conditions.runs_writing_tools):
                tools.append(tool)
            else:
                tools.append(_tame(tool, self._not_run))
                live.add(tool.name)
        policies = None
        if conditions.tape is not None:
            recorder = TapedResults(conditions.tape, self.case.id, self.repeat, frozenset(live))
            policies = (*default_policies(), recorder)
        return _CaseTools(tools, policies=policies, clock=conditions.clock)

    async def _not_run(self, **arguments: Any) -> str:
        """Stands for a tool that has no function here: the case ends with its call."""
        del arguments
        self.progress.stopped = "cut"
        return "(not run)"

    async def ask(self, agent: Agent, question: Question, session: Session, number: int) -> None:
        """Asks one question and judges what comes."""
        collector = _Collector(self.progress, self.case.turns)
        self.progress.stopped = ""
        text, stopped = "", ""
        try:
            run = await agent.run(
                question.text,
                session=session,
                user=self.case.user,
                permissions=self.case.permissions,
                roles=self.case.roles,
                facts=self.case.facts,
                on_event=collector,
            )
            text, stopped = run.text, run.stopped
        except CutError:
            # A first reply that both says something and calls is judged by both.
            text, stopped = collector.text, self.progress.stopped
        finally:
            made = collector.made()
            self._note(question, collector, made, text, stopped)
        answer = Answer(calls=tuple(made), text=text, stopped=stopped)
        verdict = question.expectation.judge(answer, self.today)
        self.findings += asked(verdict.findings, number)
        self.wrong_calls += verdict.wrong_calls

    def _note(
        self, question: Question, collector: _Collector, made: Sequence[Made], text: str, stopped: str
    ) -> None:
        self.problems += collector.problems()
        self.fixes += Counter(kind for call in made for kind in call.fixes)
        cut = self.excerpts
        self.exchanges.append(
            Exchange(
                question=cut.text(question.text, _MOST_REPLY),
                calls=tuple(
                    {
                        "name": call.name,
                        "arguments": cut.value(call.arguments, _MOST_ARGUMENTS),
                        "error": call.error,
                        "result": cut.text(call.result, _MOST_RESULT),
                        "fixes": list(call.fixes),
                    }
                    for call in made
                ),
                text=cut.text(text, _MOST_REPLY),
                stopped=stopped,
                replies=tuple(cut.text(raw, _MOST_REPLY) for raw in collector.raw),
            )
        )

    def result(self, outcome: Outcome, message: str = "") -> Attempt:
        """The attempt as it is kept."""
        usages = self.progress.usages
        price = facts(self.subject.model).price
        cut = self.excerpts
        return Attempt(
            subject=self.subject,
            case=self.case.id,
            kind=self.case.kind,
            tags=self.case.tags,
            repeat=self.repeat,
            outcome=outcome,
            findings=tuple(
                replace(
                    f, actual=cut.text(f.actual, _MOST_RESULT), expected=cut.text(f.expected, _MOST_RESULT)
                )
                for f in self.findings
            ),
            exchanges=tuple(self.exchanges),
            message=cut.text(message, _MOST_REPLY),
            wrong_calls=self.wrong_calls,
            seconds=round(self.progress.seconds, 4),
            requests=len(usages),
            input_tokens=sum(usage.input_tokens for usage in usages),
            output_tokens=sum(usage.output_tokens for usage in usages),
            cost=None if price is None else sum(price.cost(usage) for usage in usages),
            currency="" if price is None else price.currency,
            fixes=dict(self.fixes),
            problems=dict(self.problems),
        )


def _tame(tool: Tool, function: Callable[..., Any]) -> Tool:
    """The tool with another function and without rules that are about the real one: where it runs, how often, what it waits."""
    rules = replace(
        tool.rules, isolation=None, timeout=None, retries=0, rate_limit="", concurrency=None, fallback=None
    )
    return replace(tool, function=function, injected={}, rules=rules)


async def attempt(
    case: Case, subject: Subject, repeat: int, model: Model | None, conditions: Conditions
) -> Attempt:
    """Tries a case once. Never raises for what the model, its server or a record got wrong.

    Args:
        case: the case.
        subject: who tries it.
        repeat: which try, from 1.
        model: what is asked; None where everything comes from the tape.
        conditions: how.

    Raises:
        SettingsError: when the protocol does not exist or the tape is damaged.
    """
    trying = _Try(case, subject, repeat, conditions)
    agent = trying.agent(model)
    session = Session(user=case.user)
    session.append(*case.history)
    try:
        for number, question in enumerate(case.questions, 1):
            await trying.ask(agent, question, session, number)
    except NoRecordError as error:
        return trying.result("no_record", str(error))
    except ToolhandError as error:
        return trying.result("error", str(error))
    return trying.result("failed" if trying.findings else "passed")
