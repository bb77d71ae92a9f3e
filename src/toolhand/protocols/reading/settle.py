"""From what was scanned to the `Reply`: judged, bound, with an id for each call and a sentence for each problem."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from toolhand.arguments.bind import bind
from toolhand.arguments.expectation import stand_in
from toolhand.arguments.plans import tool_shape
from toolhand.arguments.settings import DEFAULT, BindSettings
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.language import Language
from toolhand.core.messages import FinishReason, Reply, ToolCall
from toolhand.parsing.costs import fix
from toolhand.protocols.reading.asked import Asked, Candidate, Scanned
from toolhand.protocols.reading.failures import WORDS, failed
from toolhand.protocols.reading.judge import judge
from toolhand.protocols.reading.markers import BRACKET_BEGUN, TAG_BEGUN
from toolhand.protocols.reading.openings import may_ask
from toolhand.protocols.reading.program import Plan, Step
from toolhand.protocols.reading.scan import Scan
from toolhand.protocols.reading.shown import Shown
from toolhand.protocols.reading.surroundings import (
    EDGE,
    extents_of,
    left_to_say,
    own_thoughts,
    setting_of,
    sole_contents,
    stands_alone,
    without_tags,
)
from toolhand.tools.collection import ToolCollection

_VARIABLE = re.compile(r"\$[^\W\d]\w*(?:\.\w+|\[[^\]]*\])*$")
_FRAGMENT_WORD = re.compile(
    r"(?:<[|｜]?/?(?:\w*:)?|\[/?)(?:\w*(?:tool|func)|invo|call|action|think)", re.IGNORECASE
)
# What a call that was wrapped once too often leaves around it: nothing that anybody would say.
_CRUMBS = re.compile(r"[\s{}\[\]()<>,;:\"'`|｛｝［］（）【】，；：]*")
_MARK = re.compile(r"<[|｜]?[/\w]|◁|\[/?[A-Z]")
"""At what nothing of a plain text can be left out but a marker."""
_TAIL_FENCE = re.compile(r"(?:^|\n)[ \t]*`{1,2}[ \t]*$")


@dataclass(slots=True)
class Settled:
    """What comes out of one reading, gathered up.

    Args:
        calls: those that can run.
        broken: those that cannot, with their problem.
        problems: everything that a model must mend.
        steps: the lines of a plan.
        has_variables: whether a step needs another's result or has a condition.
    """

    calls: list[ToolCall] = field(default_factory=list)
    broken: list[ToolCall] = field(default_factory=list)
    problems: list[ToolError] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    has_variables: bool = False

    @property
    def program(self) -> Plan | None:
        """The steps as a plan, where one of them may need another's result or has a condition."""
        is_plan = self.has_variables or any(step.save_as for step in self.steps[:-1])
        return Plan(steps=tuple(self.steps)) if is_plan and self.calls else None

    def fail(self, call: ToolCall, problem: ToolError) -> None:
        """Notes a call that cannot run."""
        self.problems.append(problem)
        if call.name:
            self.broken.append(replace(call, problem=problem))


@dataclass(eq=False)
class Settler:
    """Makes replies for one collection of tools.

    Args:
        tools: what may be called.
        new_id: gives an id that no call has yet.
        settings: how calls are bound.
    """

    tools: ToolCollection
    new_id: Callable[[], str]
    settings: BindSettings = DEFAULT

    def reply(self, text: str, finish_reason: FinishReason, settled: Settled | None = None) -> Reply:
        """Reads a whole text.

        Args:
            text: what the model wrote.
            finish_reason: why it stopped.
            settled: what the structured calls beside the text gave, if there were any.
        """
        settled = settled or Settled()
        if not may_ask().search(text):  # as most answers: nothing in it could begin a call
            return self._plain(text, settled, finish_reason)
        structured, shown = list(settled.calls), self._shown(text)
        scanned = self._scanned(text, shown)
        if not scanned.candidates and not scanned.thoughts and not scanned.labelled and not scanned.noise:
            return self._plain(text, settled, finish_reason)
        if (
            not (scanned.thoughts or scanned.labelled or scanned.noise or scanned.fences)
            and stands_alone(text, scanned)
            and not shown.text
        ):
            return self._alone(scanned, settled, structured, finish_reason)
        taken, answer = self._judged(text, scanned, settled, finish_reason)
        if structured:
            _drop_repeated(settled, structured)
        said = left_to_say(text, scanned, taken, answer)
        if not said.startswith(shown.text):  # it looked like no call as it came: what is shown stays said
            rest = left_to_say(text, scanned, taken, answer, start=shown.end)
            said = f"{shown.text}\n{rest}" if rest else shown.text
        return self._finish(text, said, scanned, settled, finish_reason=finish_reason, shown=shown)

    def _shown(self, text: str) -> Shown:
        """What of a text has been shown as it streamed in."""
        return Shown(text, self.tools)

    def _scanned(self, text: str, shown: Shown) -> Scanned:
        """What may be asked for in a text."""
        return Scan(text, self.tools, lambda: shown.end).run()

    def _judged(
        self, text: str, scanned: Scanned, settled: Settled, finish_reason: FinishReason
    ) -> tuple[list[tuple[int, int]], str | None]:
        """Takes the candidates that are meant; gives what they take up of the text, and an answer among them."""
        marked_thoughts = scanned.thoughts
        sole = sole_contents(text, scanned) if scanned.fences else set()
        extents = extents_of(scanned, sole)
        scanned.thoughts = sorted([*marked_thoughts, *scanned.labelled])
        setting = setting_of(text, scanned, extents)
        verdicts = judge(text, scanned, setting, self.tools, sole)
        taken: list[tuple[int, int]] = []
        meant: set[int] = set()
        answer: str | None = None
        for index, candidate in enumerate(scanned.candidates):
            if verdicts[index] == "mention":
                if candidate.family == "labels":
                    scanned.thoughts = marked_thoughts  # a trace that is shown, thoughts and all
                continue
            taken.append(extents[index])
            meant.add(candidate.fence)
            if candidate.rest_end >= 0:
                taken.append((candidate.end, candidate.rest_end))
            answer = candidate.answer or answer
            self._take(candidate, settled, finish_reason, is_doubtful=verdicts[index] == "doubt")
        scanned.thoughts = own_thoughts(scanned, meant)
        return taken, answer

    def _alone(
        self, scanned: Scanned, settled: Settled, structured: list[ToolCall], finish_reason: FinishReason
    ) -> Reply:
        """The short way where a text is calls and nothing else, as most are."""
        for candidate in scanned.candidates:
            self._take(candidate, settled, finish_reason, is_doubtful=False)
        if structured:
            _drop_repeated(settled, structured)
        answer = next((found.answer for found in reversed(scanned.candidates) if found.answer), None)
        program = settled.program
        return Reply(
            text=answer,
            calls=tuple(settled.calls),
            problems=tuple(settled.problems),
            broken=tuple(settled.broken),
            program=program,
        )

    def _plain(self, text: str, settled: Settled, finish_reason: FinishReason) -> Reply:
        said = text.strip(EDGE)
        if "<" in said or "[" in said or "`" in said:
            shown = self._shown(text)
            if _MARK.search(said) and not said.startswith(shown.text):
                said = (shown.text + text[shown.end :]).rstrip(EDGE)
            said = self._without_fragment(said, settled, finish_reason, shown)
        return Reply(
            text=said or None,
            calls=tuple(settled.calls),
            problems=tuple(settled.problems),
            broken=tuple(settled.broken),
        )

    def _finish(
        self,
        text: str,
        said: str,
        scanned: Scanned,
        settled: Settled,
        *,
        finish_reason: FinishReason,
        shown: Shown,
    ) -> Reply:
        if settled.calls or settled.problems:
            said = shown.kept(_TAIL_FENCE.sub("", said).rstrip(), said)
            if _CRUMBS.fullmatch(said):
                said = shown.kept("", said)
        said = self._without_fragment(said, settled, finish_reason, shown)
        thinking = "\n".join(without_tags(text[begin:end]) for begin, end in scanned.thoughts)
        if not said and not settled.calls and not settled.problems and thinking:
            self._look_into(thinking, settled)
        program = settled.program
        return Reply(
            text=said or None,
            calls=tuple(settled.calls),
            problems=tuple(settled.problems),
            broken=tuple(settled.broken),
            program=program,
            thinking=thinking,
        )

    # ------------------------------------------------------------------ calls
    def _take(
        self, candidate: Candidate, settled: Settled, finish_reason: FinishReason, *, is_doubtful: bool
    ) -> None:
        if not candidate.asked and candidate.answer is None:
            settled.problems.append(failed("marker", self.settings.language, code=_code(finish_reason)))
        for asked in candidate.asked:
            self._bind(asked, candidate, settled, finish_reason, is_doubtful=is_doubtful)

    def _bind(
        self,
        asked: Asked,
        candidate: Candidate,
        settled: Settled,
        finish_reason: FinishReason,
        *,
        is_doubtful: bool,
    ) -> None:
        call = ToolCall(id=self.new_id(), name=asked.name, arguments=asked.arguments, fixes=asked.fixes)
        problem = _unreadable(asked, finish_reason, self.settings.language)
        if problem is not None:
            settled.fail(call, problem)
            return
        stand_ins = self._stand_ins(asked) if candidate.family == "plan" else {}
        if stand_ins:
            call = replace(call, arguments={**asked.arguments, **stand_ins})
        bound = bind(call, self.tools, settings=self.settings, positional=asked.positional)
        if isinstance(bound, ToolError):
            settled.fail(call, bound)
            return
        if is_doubtful and bound.tool.rules.effect != "reads":
            settled.fail(
                bound.call,
                failed("doubt", self.settings.language, code=ErrorCode.DOUBTFUL, name=bound.call.name),
            )
            return
        done = bound.call
        if stand_ins:
            done = replace(done, arguments=_with_variables(done.arguments, asked, stand_ins))
        settled.calls.append(done)
        if candidate.family == "plan":
            settled.steps.append(Step(call=done, save_as=asked.save_as, when=asked.when))
            settled.has_variables = settled.has_variables or bool(asked.when) or bool(stand_ins)

    def _stand_ins(self, asked: Asked) -> dict[str, Any]:
        """For each argument that is a variable, a value of the declared type, so that the rest can be bound."""
        tool = self.tools.lookup(asked.name)
        if tool is None:
            return {}
        shapes = tool_shape(tool).properties
        return {
            key: stand_in(shapes.get(key))
            for key, value in asked.arguments.items()
            if isinstance(value, str) and _VARIABLE.match(value)
        }

    # ------------------------------------------------------------------ what is left
    def _without_fragment(
        self, said: str, settled: Settled, finish_reason: FinishReason, shown: Shown
    ) -> str:
        """The text without a marker that was begun at its end and not finished."""
        begin = max(said.rfind("<"), said.rfind("["))
        if begin < max(0, len(said) - 120) or begin < 0 or not _FRAGMENT_WORD.match(said, begin):
            return said
        is_begun = TAG_BEGUN.match(said, begin) or BRACKET_BEGUN.match(said, begin)
        if not is_begun or begin < len(shown.text) or said[:begin].endswith(("`", '"', "'", "“")):
            return said
        if not settled.calls and "think" not in said[begin:].lower():
            settled.problems.append(failed("begun", self.settings.language, code=_code(finish_reason)))
        return said[:begin].rstrip()

    def _look_into(self, thinking: str, settled: Settled) -> None:
        """A call that stands only in the reasoning does not run, and the model is told so."""
        scanned = Scan(thinking, self.tools).run()
        for candidate in scanned.candidates:
            for asked in candidate.asked:
                if self.tools.lookup(asked.name) is not None and not asked.problem:
                    settled.problems.append(failed("thought", self.settings.language, name=asked.name))
                    return


def _code(finish_reason: FinishReason) -> ErrorCode:
    return ErrorCode.TRUNCATED if finish_reason == "length" else ErrorCode.UNPARSEABLE


def _unreadable(asked: Asked, finish_reason: FinishReason, language: Language) -> ToolError | None:
    if asked.state == "cut" or (asked.state == "unclosed" and finish_reason == "length"):
        kind = "half_of" if asked.name else "half"
        return failed(kind, language, code=_code(finish_reason), hint="half_hint", name=asked.name)
    if asked.problem is not None:
        return ToolError(
            code=ErrorCode.UNPARSEABLE,
            message=asked.problem.said(language),
            retryable=True,
            hint=WORDS[language]["again"],
        )
    if asked.state == "unclosed" and not any(taken.kind == "missing_closer" for taken in asked.fixes):
        asked.fixes = (*asked.fixes, fix("missing_closer"))
    return None


def _with_variables(arguments: Any, asked: Asked, stand_ins: dict[str, Any]) -> dict[str, Any]:
    return {key: asked.arguments[key] if key in stand_ins else value for key, value in arguments.items()}


def _drop_repeated(settled: Settled, structured: list[ToolCall]) -> None:
    """A call that came structured and stands in the text too is one call."""
    said = [(call.name, dict(call.arguments)) for call in structured]
    settled.calls[len(structured) :] = [
        call for call in settled.calls[len(structured) :] if (call.name, dict(call.arguments)) not in said
    ]


# ---------------------------------------------------------------------- the text around
