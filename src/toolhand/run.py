"""What a run is bounded by, what it has used so far, what it tells the model, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, Literal

from typing_extensions import TypeVar

from toolhand.arguments.suggest import closest
from toolhand.core.approvals import PendingCall
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError
from toolhand.core.language import Language, say
from toolhand.core.messages import Message, ToolCall, ToolResult, Usage
from toolhand.policies.deduplicate import is_stuck

Output = TypeVar("Output", default=str)

Stopped = Literal[
    "answered", "turn_limit", "call_limit", "token_limit", "cost_limit", "time_limit", "repair_limit", "loop", "approval",
    "output_invalid",
]  # fmt: skip


WORDS: Mapping[Language, Mapping[str, str]] = {
    "en": {
        "facts": "Use the tools to find facts and to calculate; never guess what a tool can tell.",
        "answer": "Then answer the question in one short sentence with the values found.",
        "limit": "You have reached the limit of this run. Call no more tools: give your best answer from what you have now.",
        "left_out": "(Earlier parts of this conversation are left out or shortened. If you need them, call a tool again.)",
        "call": "You answered without calling a tool. Call one of the tools now.",
        "empty": "Your reply was empty. Answer the user, or call a tool.",
        "calls": "This run may make at most {limit} calls: this one did not run.",
        "steps": "Only the first {count} of your steps ran: a step cannot use the result of another in the same reply. "
        "Go on from the results that you have now, with plain values.",
        "time": "The time for this run ({seconds:g} seconds) ran out before there was a whole answer.",
        "no_steps": "None of your steps ran: each needs the result of another, or of one that is not there. "
        "Write the first step again with plain values.",
        "no_answer": "No answer was found before the run's limit ({limit}) was reached.",
        "not_run": "This call did not run: the run was stopped before it. Ask for it again if it is still wanted.",
        "perhaps": "The program was stopped during this call of '{name}': it may or may not have had its effect. "
        "It was not run again. Check first whether it had, with a tool that reads; if you cannot, tell the user.",
        "declined": "A person was asked and did not let it run again. {reason}",
        ErrorCode.CANCELLED: "The run was stopped before this call ended.",
        ErrorCode.OUTCOME_UNKNOWN: "The run was stopped during this call: it may have had its effect, or not.",
    },
    "zh": {
        "facts": "请用工具查找事实和进行计算，工具能告诉你的不要猜测。",
        "answer": "然后用一句话回答问题，并写出查到的数值。",
        "limit": "本次运行已达到上限。不要再调用工具，请根据已有的信息给出最好的回答。",
        "left_out": "（此前对话的部分内容已省略或缩短。如果需要其中的信息，请再次调用工具。）",
        "call": "你没有调用工具就回答了。请现在调用其中一个工具。",
        "empty": "你的回复是空的。请回答用户，或调用工具。",
        "calls": "本次运行最多调用 {limit} 次工具：这次调用没有执行。",
        "steps": "只执行了你的前 {count} 个步骤：同一次回复中，一个步骤不能使用另一个步骤的结果。请根据现有结果继续。",
        "time": "本次运行的时间（{seconds:g} 秒）已用完，没有得到完整的回答。",
        "no_steps": "没有执行任何步骤：每个步骤都需要另一个步骤的结果，或需要不存在的结果。请用具体的值重新写出第一个步骤。",
        "no_answer": "在达到本次运行的上限（{limit}）之前没有得到答案。",
        "not_run": "这次调用没有执行：运行在它之前就被停止了。如果仍然需要，请再次请求。",
        "perhaps": "程序在调用“{name}”的过程中被停止：它可能已经生效，也可能没有，没有再次运行。"
        "请先用读取类的工具核实；无法核实时，请告诉用户。",
        "declined": "已询问过人，没有同意再次运行。{reason}",
        ErrorCode.CANCELLED: "运行在这次调用结束之前被停止了。",
        ErrorCode.OUTCOME_UNKNOWN: "运行在这次调用进行中被停止：它可能已经生效，也可能没有。",
    },
}
"""The program's words to the model."""


_Options = TypeVar("_Options")


def _names_what_was_meant(kind: type[_Options]) -> type[_Options]:
    """Lets a dataclass refuse an option that it does not have as everything else here does: by the one that was meant."""
    init: Callable[..., None] = kind.__init__

    @wraps(init)
    def begin(self: _Options, *values: Any, **options: Any) -> None:
        known = kind.__annotations__
        for name in options.keys() - known.keys():
            near = closest(name, known)
            there = ", ".join(known)
            raise SettingsError(
                say(
                    f"{kind.__name__} has no option '{name}': "
                    + (f"did you mean '{near}'?" if near else f"there is: {there}"),
                    f"{kind.__name__} 没有选项“{name}”："
                    + (f"是不是想写“{near}”？" if near else f"可用：{there}"),
                )
            )
        init(self, *values, **options)

    kind.__init__ = begin  # type: ignore[method-assign, assignment]
    return kind


@_names_what_was_meant
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a run may go. At a limit the model is asked for its best answer from what it has.

    Args:
        turns: model replies.
        calls: tool calls.
        tokens: tokens of prompts and replies together, as the server counts them.
        cost: what the model may cost, in the currency of its price (`toolhand.models.facts`). A model whose price is not known
            is refused with it.
        seconds: wall-clock seconds from the moment when the run has its session to itself. A request to the model that is under
            way is cut when they are over, and the answer says that time ran out. Where they were used up between two turns,
            the model still has a quarter of them (1 to 10 seconds) for its best answer.
        repairs: replies in a row that could not be used at all.

    Raises:
        SettingsError: when a limit is none, or there is none of that name.
    """

    turns: int = 20
    calls: int | None = 100
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    repairs: int = 3

    def __post_init__(self) -> None:
        for name, least, kind in (
            ("turns", 1, int), ("calls", 0, int), ("tokens", 1, int),
            ("cost", 0, float), ("seconds", 0, float), ("repairs", 1, int),
        ):  # fmt: skip
            value = getattr(self, name)
            is_number = isinstance(value, int | float if kind is float else int) and not isinstance(
                value, bool
            )
            may_be_none = name not in ("turns", "repairs")
            if not (is_number and value >= least) and not (value is None and may_be_none):
                what = "a whole number" if kind is int else "a number"
                raise SettingsError(
                    say(
                        f"Limits({name}=…) is {what} of at least {least}, not {value!r}",
                        f"Limits({name}=…) 应至少为 {least}，不能是 {value!r}",
                    )
                )


@dataclass(kw_only=True)
class Progress:
    """What a run has used and found so far."""

    usage: Usage = field(default_factory=Usage)
    calls: list[ToolCall] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    turns: int = 0
    repairs: int = 0
    had_called: bool = False  # before the run was interrupted
    has_insisted: bool = False
    is_looping: bool = False

    @property
    def has_called(self) -> bool:
        """Whether a tool was called since the user's message."""
        return self.had_called or bool(self.calls)

    def limit_reached(self, limits: Limits, context: RunContext) -> Stopped | None:
        """The limit that is used up, or "loop" where the run gets nowhere, or None."""
        if self.turns >= limits.turns:
            return "turn_limit"
        if limits.calls is not None and len(self.calls) >= limits.calls:
            return "call_limit"
        if limits.tokens is not None and self.usage.input_tokens + self.usage.output_tokens >= limits.tokens:
            return "token_limit"
        if limits.cost is not None and (self.usage.cost or 0.0) >= limits.cost:
            return "cost_limit"
        if context.deadline is not None and context.seconds_left == 0.0:
            return "time_limit"
        if self.repairs >= limits.repairs:
            return "repair_limit"
        return "loop" if self.is_looping or is_stuck(context) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Generic[Output]):
    """One user message and all that came of it.

    Args:
        output: the answer: its text, or with `output=…` a value of that type, and None where there is none.
        stopped: why it ended: "answered", the limit that was hit, "loop" (the same calls again and again), "approval" (calls
            wait for a person), or "output_invalid" (no answer had the right type; `text` has the last one).
        messages: the session's whole history, this run's messages last; what is not in memory is read when it is looked at.
        new_messages: only this run's messages.
        calls: every call that was asked for, in order; a broken one has a `problem`.
        results: their results, in the same order.
        pending: the calls that wait for a person, as values that travel as JSON; `Agent.resume` goes on with them.
        usage: tokens and requests, and what they cost where the price is known.
        session_id: the session.
        trace_id: the mark on the run's events.
        said: the model's last words, where the output is a value.
    """

    output: Output
    stopped: Stopped
    messages: Sequence[Message]
    new_messages: tuple[Message, ...]
    usage: Usage
    session_id: str
    trace_id: str
    pending: tuple[PendingCall, ...] = ()
    calls: tuple[ToolCall, ...] = field(default=())
    results: tuple[ToolResult, ...] = field(default=())
    said: str = ""

    @property
    def text(self) -> str:
        """The answer as the model gave it; a value's is JSON, or the words in which it was found."""
        return self.said or (self.output if isinstance(self.output, str) else "")
