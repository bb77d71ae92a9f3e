"""What a tool is. How one is made from a function lives in `toolhand.tools`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from toolhand.core.errors import ToolDefinitionError
from toolhand.core.language import say

Effect = Literal["reads", "writes", "destroys"]

Isolation = Literal["thread", "process"]

Kind = Literal["secret", "email", "phone", "card", "resident_id"]
"""What is masked by default, and may be revealed by a tool whose purpose it is."""

Parameters: TypeAlias = Mapping[str, Any]
"""A JSON Schema of type object."""

EMPTY_PARAMETERS: Parameters = MappingProxyType({"type": "object", "properties": {}, "required": []})


Condition: TypeAlias = Callable[..., "str | bool | Awaitable[str | bool | None] | None"]
"""A function over a call's facts: None or True when it holds, else False or a sentence that says what to do first."""

IDEMPOTENCY_KEY: Final = "idempotency_key"
"""The key under which a tool asks for its call's idempotency key: `Injected("idempotency_key")`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """When a tool that keeps failing is left alone, and for how long.

    Args:
        failures: how many failures in a row open the circuit.
        cooldown: seconds until a single call may try whether the tool is well again.
    """

    failures: int = 5
    cooldown: float = 30.0

    def __post_init__(self) -> None:
        if self.failures < 1 or self.cooldown <= 0:
            raise ToolDefinitionError(
                say(
                    "a breaker needs failures of at least 1 and a cooldown above 0 seconds",
                    "Breaker 的 failures 至少为 1，cooldown 必须大于 0 秒",
                )
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a tool declares about how it may be run. Each is read by the policy of the same name.

    Args:
        effect: "reads" changes nothing, "writes" changes something, "destroys" cannot be undone.
        idempotent: whether running it twice with the same arguments is the same as once.
        category: a word to route by.
        tags: further words to filter by.
        timeout: seconds after which a call is given up, or None for none.
        retries: how often a call that failed in passing is tried again.
        permission: what a user must hold to call it, such as "orders:write"; "" for nothing.
        approval: whether a person must agree to each call.
        rate_limit: how often a user may call it, such as "10/minute"; "" for no limit.
        concurrency: how many calls of it may run at once, or None for no limit.
        fallback: the tool that is asked when this one fails.
        sensitive: names of arguments and of fields in results that nobody may see.
        reveals: kinds of personal numbers and secrets that it may show because that is its purpose: "phone", "email",
            "card", "resident_id", "secret".
        max_result: the most characters of its results that a model sees, or None for the default.
        isolation: where a plain function runs: "thread", or "process", which a timeout can end.
        poll: whether asking again with the same arguments is its purpose.
        upstream: a name that several tools share when they fail together; the tool's own by default.
        before: conditions on (arguments, context) that must hold before a call.
        after: conditions on (arguments, result, context) that must hold afterwards.
        cost: what a call costs, in the unit that the user counts in.
        breaker: when the tool is left alone after failures; "default" for the policy's own measure, None for never.
        longest_wait: the most seconds that are waited before one retry, or None for the policy's own measure.
        idempotency_key: names an errand by its arguments, such as `lambda arguments: arguments["order"]`: a second call
            with the same name is answered with the first one's result.
        user_visible: whether what it is sent goes to a user, as with a tool that sends a message: a model's reasoning is then
            taken out of its text arguments.
        shows_errors: whether the texts of its exceptions are fit for a model; they are masked and cut like any result. None tells
            a reading tool's own: a `ValueError` or `LookupError` raised in its own file that repeats no other exception's text.
        untrusted: whether what it gives was written by strangers, as a web page is: a model reads it in a frame that says so
            (`toolhand.core.untrusted`).
        undo: the name of the tool that takes a call's effect back. It is given the fields of the call's result and its
            arguments, as far as it has parameters of these names.
        source: the parameter that takes a question in the user's own words, where the tool is a source of answers that only
            reads, such as a search in the user's documents. A source is asked before a model may give up
            (`toolhand.protocols.sources`).
    """

    effect: Effect = "reads"
    idempotent: bool = False
    category: str = ""
    tags: frozenset[str] = frozenset()
    timeout: float | None = None
    retries: int = 0
    permission: str = ""
    approval: bool = False
    rate_limit: str = ""
    concurrency: int | None = None
    fallback: Tool | None = None
    sensitive: frozenset[str] = frozenset()
    reveals: frozenset[str] = frozenset()
    max_result: int | None = None
    isolation: Isolation | None = None
    poll: bool = False
    upstream: str = ""
    before: tuple[Condition, ...] = ()
    after: tuple[Condition, ...] = ()
    cost: float = 0.0
    breaker: Breaker | Literal["default"] | None = "default"
    longest_wait: float | None = None
    idempotency_key: Callable[[Mapping[str, Any]], object] | None = None
    user_visible: bool = False
    shows_errors: bool | None = None
    untrusted: bool = False
    undo: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """A function that a model may ask for, with what the model is told about it.

    Args:
        name: the name that the model uses.
        description: what the model reads.
        parameters: the arguments' JSON Schema, an object.
        function: what runs; None for a tool that is only declared (for `parse` or a gateway).
        validate: turns arguments (JSON values) into the function's own keyword arguments, or raises ValueError with
            a message for the model.
        rules: effect, timeout and the like.
        aliases: other spellings of parameter names, alias → name.
        injected: parameters that are filled at run time and hidden from the model, parameter → key.
        policies: the layers around its calls, outermost first, wherever it is called from; None for those of the toolset
            that it is called through.
    """

    name: str
    description: str = ""
    parameters: Parameters = field(default_factory=lambda: EMPTY_PARAMETERS)
    function: Callable[..., Any] | None = None
    validate: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    rules: Rules = field(default_factory=Rules)
    aliases: Mapping[str, str] = field(default_factory=dict)
    injected: Mapping[str, str] = field(default_factory=dict)
    policies: tuple[Any, ...] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function itself, as if it had not been decorated."""
        if self.function is None:
            raise TypeError(
                say(
                    f"tool '{self.name}' is only declared: it has no function to run",
                    f"工具“{self.name}”只有声明：没有可以执行的函数",
                )
            )
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool:
        """Binds a decorated method to its instance, as Python does with functions."""
        descriptor = getattr(self.function, "__get__", None)
        if descriptor is None or (
            instance is None and not isinstance(self.function, classmethod | staticmethod)
        ):
            return self
        return replace(self, function=descriptor(instance, owner))

    @property
    def repeatable(self) -> bool:
        """Whether a call may run again without harm: by its rules, or because it hands on an idempotency key."""
        return (
            self.rules.effect == "reads" or self.rules.idempotent or IDEMPOTENCY_KEY in self.injected.values()
        )

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", self.name))

    @property
    def properties(self) -> Mapping[str, Any]:
        """Its parameters' schemas by name."""
        found: Mapping[str, Any] = self.parameters.get("properties") or {}
        return found

    @property
    def required(self) -> tuple[str, ...]:
        """The names of the parameters that must be sent."""
        return tuple(self.parameters.get("required") or ())


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Which tools a model may call in a turn.

    Args:
        mode: "auto" (its own decision), "required" (at least one call), "none" (an answer, no call).
        names: where not empty, only these tools; with "required" and one name, that tool.
    """

    mode: Literal["auto", "required", "none"] = "auto"
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, choice: str | list[str] | tuple[str, ...] | ToolChoice) -> ToolChoice:
        """From what users write: "auto", "required", "none", one tool's name, or a list of allowed names."""
        if isinstance(choice, ToolChoice):
            return choice
        if not isinstance(choice, str):
            return cls("auto", tuple(choice))
        if choice in ("auto", "required", "none"):
            return cls(choice)  # type: ignore[arg-type]
        return cls("required", (choice,))

    def allows(self, name: str) -> bool:
        """Whether a call to this tool is allowed."""
        return self.mode != "none" and (not self.names or name in self.names)

    def among(self, shown: Container[object]) -> ToolChoice:
        """The choice as it holds where only these tools are shown: an answer, where none of those that are named is."""
        names = tuple(name for name in self.names if name in shown)
        return ToolChoice(self.mode, names) if names else ToolChoice("none")

    def now(self, more: tuple[str, ...], *, is_done: bool) -> ToolChoice:
        """The choice as it holds in the middle of a run.

        Args:
            more: tools that may be called beside those that are named.
            is_done: whether a call was made: what was required is done then, or the run would never end.
        """
        mode = "auto" if is_done and self.mode == "required" else self.mode
        names = (*self.names, *(name for name in more if name not in self.names)) if self.names else ()
        return self if (mode, names) == (self.mode, self.names) else ToolChoice(mode, names)
