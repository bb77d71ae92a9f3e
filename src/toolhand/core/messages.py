"""The words that travel down the street: calls, results, messages, what is asked of a model and what it gave.

Frozen values from the standard library only. No protocol's text and no provider's field names live here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from toolhand.core.errors import ToolError
from toolhand.core.language import Language
from toolhand.core.tools import Tool, ToolChoice

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

Role = Literal["system", "user", "assistant", "tool"]

FinishReason = Literal["stop", "tool_calls", "length", "content_filter", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One liberty that was taken in reading a call.

    Args:
        kind: what was done, such as "single_quotes" or "string_to_integer".
        path: where, as a JSON path from `$`.
        before: what the model wrote.
        after: what it was taken for.
        cost: how great the liberty is; the cheapest reading wins, a dear one on a writing tool is asked about.
    """

    kind: str
    path: str = "$"
    before: Any = None
    after: Any = None
    cost: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's request to run a tool.

    Args:
        id: unique within a session; pairs the call with its result.
        name: the tool's name.
        arguments: what was sent, typed as the tool's parameters say once it is bound.
        fixes: every liberty taken in reading it.
        problem: why it cannot run. A broken asking keeps its id and gets an answer.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fixes: tuple[Fix, ...] = ()
    problem: ToolError | None = None

    @property
    def cost(self) -> int:
        """The sum of what its fixes cost."""
        return sum(fix.cost for fix in self.fixes)


@dataclass(frozen=True, slots=True)
class Value:
    """What a tool gave back."""

    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """How a call ended: a value or an error, never both.

    Args:
        call_id: the id of the call that it answers.
        name: the tool's name.
        outcome: what came back, or what went wrong.
        notes: facts about the call for a program (attempts, seconds, fixes …); not shown to a model.
        remark: what the program says to the model about a value, such as that it comes from another tool; shown with it.
        untrusted: whether strangers wrote what is in it; a model reads it in a frame that says so.
    """

    call_id: str
    name: str
    outcome: Value | ToolError
    notes: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""
    untrusted: bool = False

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return isinstance(self.outcome, Value)

    @property
    def data(self) -> Any:
        """What the tool gave back, or None after an error."""
        return self.outcome.data if isinstance(self.outcome, Value) else None

    @property
    def error(self) -> ToolError | None:
        """What went wrong, or None."""
        return self.outcome if isinstance(self.outcome, ToolError) else None


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text in a message."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Words of the program to the model (a mistake it made, a limit that was reached), not the user's."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """What a provider wants back with the next request as it sent it, such as signed reasoning. Nobody else reads it.

    Args:
        source: the name of the model that it belongs to; another model's wire leaves it out.
        data: JSON.
    """

    source: str
    data: Mapping[str, Any]


Part: TypeAlias = Text | Note | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Message:
    """One entry of a history. Calls and results are parts; nothing in it belongs to a protocol.

    Args:
        role: "system", "user", "assistant" (text and calls), or "tool" (results).
        parts: what it holds, in order.
    """

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def is_said(self) -> bool:
        """Whether it is something that a user said, and not a note of the program's."""
        return self.role == "user" and any(isinstance(part, Text) for part in self.parts)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Its tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Its tool results, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


def user(text: str) -> Message:
    """A user's message."""
    return Message(role="user", parts=(Text(text),))


def assistant(
    text: str = "", calls: Sequence[ToolCall] = (), *, opaque: Opaque | None = None, unread: str = ""
) -> Message:
    """A model's message.

    Args:
        text: what it said.
        calls: what it asked for.
        opaque: what its provider wants back.
        unread: its words where nothing in them was understood, so that the message is not empty.
    """
    said: tuple[Part, ...] = (*((Text(text),) if text else ()), *calls)
    return Message(
        role="assistant", parts=(*(() if opaque is None else (opaque,)), *(said or (Text(unread),)))
    )


def system(text: str) -> Message:
    """The system's message."""
    return Message(role="system", parts=(Text(text),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a protocol understood of one model output.

    Args:
        text: what is left to say to the user, or None.
        calls: the calls that can run, bound to their tools.
        problems: what could not be read or bound.
        broken: the calls behind `problems` that have a name: each has a `problem` and is owed an answer.
        program: several steps in one note of which some need another's result; its `ready` calls may run by themselves.
        thinking: the model's reasoning, where it was marked as such. Nothing in it runs.
    """

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    problems: tuple[ToolError, ...] = ()
    broken: tuple[ToolCall, ...] = ()
    program: Any = None
    thinking: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the model's server counted.

    Args:
        requests: how many times it was asked.
        input_tokens: tokens of the prompts.
        output_tokens: tokens of the replies.
        cached_tokens: how many of the prompts' tokens came from the server's cache.
        cache_write_tokens: how many of them it put there, where it charges for that.
        cost: what it cost; None where no price is known.
        currency: of the cost, an ISO 4217 code.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float | None = None
    currency: str = ""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cost=self.cost if other.cost is None else (self.cost or 0.0) + other.cost,
            currency=self.currency or other.currency,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the model picks its words. None leaves the server's own default."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What a protocol asks of a model: still neutral, translated to a wire by the model's adapter.

    Args:
        messages: the rendered history. A prompted protocol turns calls and results into text parts.
        tools: tools to declare natively; empty for a prompted protocol.
        tool_choice: which of them the model may call.
        stop: sequences at which the server stops.
        grammar: a JSON Schema that the output must satisfy, where the server can force it.
        sampling: temperature and the like.
        language: the language of the words that the adapter adds, such as those for an empty result.
        odds: for how many of the likeliest words at each place the server shall tell how likely they were; 0 for none.
        extra: further fields for the body of a server that speaks OpenAI's chat completions, where a caller has some.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = field(default_factory=ToolChoice)
    stop: tuple[str, ...] = ()
    grammar: Mapping[str, Any] | None = None
    sampling: Sampling = field(default_factory=Sampling)
    language: Language = "en"
    odds: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawCall:
    """A structured call as a provider sent it, before anything was understood.

    Args:
        id: the provider's id; may be empty or repeated.
        name: the name as sent.
        arguments: JSON text, or an object where the provider sends one, or None.
    """

    id: str
    name: str
    arguments: str | Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Odds:
    """How likely the words were that a model could have written at one place, before any grammar.

    Args:
        text: what it did write there: one token, which may begin with a blank.
        likely: the likeliest tokens there and their probabilities, 0 to 1. Tokens of the same text are added up.
    """

    text: str
    likely: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutput:
    """One whole output of a model.

    Args:
        text: what it wrote.
        calls: the structured calls that the server returned, raw.
        finish_reason: why it ended.
        usage: tokens.
        thinking: reasoning that the server returned apart from the text.
        opaque: what the provider wants back beside the text and the calls.
        model: the name of the model that answered; with fallbacks it need not be the one that was asked.
        odds: where they were asked for and the server tells them, those of the text's tokens in order.
    """

    text: str = ""
    calls: tuple[RawCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = field(default_factory=Usage)
    thinking: str = ""
    opaque: Opaque | None = None
    model: str = ""
    odds: tuple[Odds, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundCall:
    """A call whose tool is known and whose arguments fit it.

    Args:
        call: the call, with its arguments typed as the tool's parameters say and every liberty in its `fixes`.
        tool: the tool.
    """

    call: ToolCall
    tool: Tool

    def answer(self, outcome: Value | ToolError, **notes: Any) -> ToolResult:
        """Its result."""
        return ToolResult(
            call_id=self.call.id,
            name=self.tool.name,
            outcome=outcome,
            notes=notes,
            untrusted=self.tool.rules.untrusted,
        )
