"""Plans in a reply: which of its lines they are, whether they are meant, and what is wrong with them.

A stretch of lines that are statements of a plan is a candidate like any other spelling, judged by the same rules; what is
meant of a reply is put together, read by the grammar and checked as one plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from toolhand.arguments.bind import bind
from toolhand.arguments.settings import BindSettings
from toolhand.core.errors import ErrorCode, SettingsError, ToolError
from toolhand.core.language import say
from toolhand.core.messages import FinishReason, RawCall, Reply, ToolCall
from toolhand.parsing.plans.arguments import written_arguments
from toolhand.parsing.plans.nodes import references
from toolhand.plan import Plan, check, read
from toolhand.plan.check import Checked
from toolhand.protocols.reading.asked import Asked, Candidate, Scanned
from toolhand.protocols.reading.plan_lines import LineHold, Run, runs
from toolhand.protocols.reading.settle import Settled, Settler
from toolhand.protocols.reading.shown import Shown
from toolhand.protocols.reading.stream import TextReader
from toolhand.protocols.reading.structured import settle_structured
from toolhand.tools.collection import ToolCollection

RUN_PLAN: Final = "run_plan"
"""The name of the call that carries a plan through a neutral history: `{"plan": text}`."""

Manner: TypeAlias = Literal["whole", "steps"]
# Between two stretches of a plan these say that what follows hangs on something.
_HANGS: Final = re.compile(
    r"\b(?:if|when|unless|only|until|otherwise|else|or|alternatively|example|instead|after|confirm\w*|depend\w*|in case|wait)\b"
    r"|如果|若是?|当|除非|只有|否则|确认|等到?|视|取决|或者|或是|例如|比如|示例|[?？]",
    re.IGNORECASE,
)
_HEAD: Final = re.compile(r"(?:^|\n)(?![#*>\d\-])[^\s#*>\d\-][^\n]*[:：]\s*$")
"""A line that ends with a colon and has the step under it, and is no heading: the head of a block that is not known here."""
_HEADING: Final = 200
"""So many characters between two stretches are a heading, not a text of its own."""
_CALL_BEGUN: Final = re.compile(r"([^\W\d][\w.\-]*)[ \t]*[(（]")
_SIGNATURE: Final = frozenset(
    [
        "str",
        "int",
        "float",
        "bool",
        "dict",
        "list",
        "tuple",
        "set",
        "any",
        "none",
        "object",
        "string",
        "integer",
        "number",
        "boolean",
    ]
)
_WORDS: Final = {
    "en": {
        "cut": "The plan was cut off before its end, so none of it ran.",
        "cut_hint": "Write a shorter plan, or only its first steps.",
        "hangs": "Between the steps stands '{said}': it is unclear whether what follows hangs on it, so nothing ran.",
        "hangs_hint": "Write conditions as if …: with the steps indented under it, and no other words between the steps.",
        "doubt": "It is not clear whether this plan is to run, and it changes something.",
        "doubt_hint": "Did you mean to run it? Answer with only the plan, or with no.",
    },
    "zh": {
        "cut": "计划没有写完就被截断了，所以没有执行。",
        "cut_hint": "请写短一些的计划，或只写开头几步。",
        "hangs": "步骤之间写有“{said}”：不清楚后面的步骤是否取决于它，所以没有执行。",
        "hangs_hint": "条件请写成 if …:，下面缩进写步骤，步骤之间不要写其他文字。",
        "doubt": "不清楚是否要执行这个计划，而它会改变某些东西。",
        "doubt_hint": "要执行吗？请只回复计划，或回复不执行。",
    },
}  # fmt: skip


class PlanSettler(Settler):
    """Makes replies of texts in which plans may stand.

    Args:
        tools: what may be called.
        new_id: gives an id that no call has yet.
        settings: how calls are bound.
        manner: whether the whole plan counts or only its first statement.
        is_carried: whether the reply's call is the one that carries the plan, for the loop; else its steps are listed.
    """

    def __init__(
        self,
        tools: ToolCollection,
        new_id: Callable[[], str],
        settings: BindSettings,
        *,
        manner: Manner = "whole",
        is_carried: bool = False,
    ) -> None:
        super().__init__(tools, new_id, settings)
        self._manner, self._is_carried = manner, is_carried
        self._meant: list[tuple[Candidate, bool]] = []
        self._pieces: dict[int, list[str]] = {}
        self._kept: set[str] = set()
        self._text = ""

    def reply(self, text: str, finish_reason: FinishReason, settled: Settled | None = None) -> Reply:
        """Reads a whole text."""
        self._text, self._meant, self._pieces, self._kept = text, [], {}, set()
        reply = super().reply(text, finish_reason, settled)
        return self._with_plan(reply, finish_reason) if self._meant else reply

    def _shown(self, text: str) -> Shown:
        return Shown(LineHold(self.tools).feed(text), self.tools)

    def _scanned(self, text: str, shown: Shown) -> Scanned:
        scanned = super()._scanned(text, shown)
        others = [found for found in scanned.candidates if found.family != "plan"]
        made: list[Candidate] = []
        for group in self._groups(list(runs(text, self.tools, scanned.thoughts)), scanned):
            start, end = group[0].start, group[-1].end
            if not any(found.start <= start and end <= found.end for found in others):
                others = [found for found in others if not start <= found.start < end]
                made.append(self._candidate(group, scanned))
        scanned.candidates = sorted([*others, *made], key=lambda found: found.start)
        return scanned

    def _groups(self, found: list[Run], scanned: Scanned) -> list[list[Run]]:
        """Stretches with no more than a few words between them, as when each step has a heading, are one plan."""
        groups: list[list[Run]] = []
        for run in found:
            last = groups[-1][-1] if groups else None
            is_near = last is not None and run.start - last.end <= _HEADING
            if is_near and last is not None and _fence_of(scanned, run) == _fence_of(scanned, last):
                groups[-1].append(run)
            else:
                groups.append([run])
        return groups

    def _candidate(self, group: list[Run], scanned: Scanned) -> Candidate:
        start, end = group[0].start, group[-1].end
        self._pieces[start] = [self._text[run.start : run.end] for run in group]
        plan = read("\n".join(self._pieces[start]))
        steps = [step for step in plan.steps if step.tool]
        asked = [
            Asked(step.tool, written_arguments(step, self.tools.lookup(step.tool)), fixes=step.fixes)
            for step in steps
        ]
        if plan.problems:  # what cannot be read is meant all the same, where it names a tool
            names = _CALL_BEGUN.findall(self._text, start, end)
            asked += [Asked(name, {}) for name in names if self.tools.lookup(name) is not None][:1]
        words = [value for one in asked for value in one.arguments.values() if isinstance(value, str)]
        kept = {step.save_as for step in steps if step.save_as}
        used = {found.name for step in steps for value in step.values for found in references(value)}
        is_block = (
            len(asked) > 1 or bool(kept) or bool(used & self._kept)
        )  # it goes on with a result of the text
        self._kept |= kept
        return Candidate(
            start,
            end,
            "block" if is_block else "bare",
            asked,
            family="plan",
            fence=_fence_of(scanned, group[0]),
            is_signature=bool(words) and {word.lower() for word in words} <= _SIGNATURE,
        )

    def _take(
        self, candidate: Candidate, settled: Settled, finish_reason: FinishReason, *, is_doubtful: bool
    ) -> None:
        if candidate.family == "plan":
            self._meant.append((candidate, is_doubtful))
        else:
            super()._take(candidate, settled, finish_reason, is_doubtful=is_doubtful)

    # ------------------------------------------------------------------ the plan
    def _with_plan(self, reply: Reply, finish_reason: FinishReason) -> Reply:
        pieces = [piece for found, _ in self._meant for piece in self._pieces[found.start]]
        plan = read("\n".join(pieces), language=self.settings.language)
        if self._manner == "steps":
            plan = replace(plan, body=plan.body[:1], problems=() if plan.body else plan.problems)
        checked = check(plan, self.tools, self._bound, language=self.settings.language)
        problems = list(checked.problems)
        if self._is_carried and problems and all("variable" in problem.details for problem in problems):
            problems = []  # it may be one of an earlier plan: who runs it knows
        problems += self._objections(checked, finish_reason)
        if problems:
            return replace(reply, problems=(*reply.problems, *problems), program=None)
        return replace(
            reply,
            calls=(*reply.calls, *self._calls(plan, checked)),
            program=None if self._is_carried else plan,
        )

    def _bound(self, call: ToolCall) -> Any:
        return bind(call, self.tools, settings=self.settings)

    def _calls(self, plan: Plan, checked: Checked) -> Iterator[ToolCall]:
        if self._is_carried:
            yield ToolCall(id=self.new_id(), name=RUN_PLAN, arguments={"plan": str(plan)}, fixes=plan.fixes)
        else:
            yield from (replace(call, id=self.new_id()) for call in checked.calls)

    def _objections(self, checked: Checked, finish_reason: FinishReason) -> Iterator[ToolError]:
        """What keeps a plan from running that is right in itself."""
        if finish_reason == "length" and not self._text[self._meant[-1][0].end :].strip(" \t\r\n`"):
            yield self._problem("cut", ErrorCode.TRUNCATED)
        for between, piece in self._between():
            said = " ".join(between.split())
            if _HANGS.search(said) or (piece[:1].isspace() and _HEAD.search(between)):
                yield self._problem("hangs", ErrorCode.UNPARSEABLE, said=said[:80])
        writes = any(
            tool.rules.effect != "reads" for call in checked.calls if (tool := self.tools.get(call.name))
        )
        if writes and any(is_doubtful for _, is_doubtful in self._meant):
            yield self._problem("doubt", ErrorCode.DOUBTFUL)

    def _between(self) -> Iterator[tuple[str, str]]:
        """The words that stand between the stretches of the plan, each with the stretch behind it."""
        end = 0
        for found, _ in self._meant:
            at = found.start
            for number, piece in enumerate(self._pieces[found.start]):
                begin = self._text.index(piece, at)
                if number or found is not self._meant[0][0]:
                    yield self._text[end:begin], piece
                at = end = begin + len(piece)

    def _problem(self, key: str, code: ErrorCode, **words: str) -> ToolError:
        table = _WORDS[self.settings.language]
        return ToolError(
            code=code, message=table[key].format(**words), retryable=True, hint=table[f"{key}_hint"]
        )


class PlanReader(TextReader):
    """Reads one reply in which a plan may stand; prose before it streams on.

    Args:
        settler: makes the reply.
    """

    def __init__(self, settler: PlanSettler) -> None:
        if RUN_PLAN in settler.tools:
            raise SettingsError(
                say(
                    f"a tool cannot be named '{RUN_PLAN}' where plans are used: rename it with @tool(name=…)",
                    f"使用计划时，工具不能叫“{RUN_PLAN}”：请用 @tool(name=…) 改名",
                )
            )
        super().__init__(settler.tools, settler.new_id, settler.settings)
        self._settler: PlanSettler = settler
        self._hold = LineHold(settler.tools)
        self._whole: list[str] = []

    def feed(self, chunk: str) -> str:
        """Takes more of the text; gives what may be shown now."""
        self._whole.append(chunk)
        sure = self._hold.feed(chunk)
        return super().feed(sure) if sure else ""

    def finish(self, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """Ends the reading."""
        return self.read("".join(self._whole), calls, finish_reason)

    def read(self, text: str, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """The whole text at once."""
        settled = settle_structured(self._settler, calls, finish_reason) if calls else None
        return self._settler.reply(text, finish_reason, settled)


def _fence_of(scanned: Scanned, run: Run) -> int:
    """The fence in which a stretch stands, or -1."""
    for place, fence in enumerate(scanned.fences):
        if fence.inside <= run.start < max(fence.end, fence.inside + 1):
            return place
    return -1
