"""What a client asks for, in neutral words, and the reading of a body's fields: each wrong one is a refusal that names it."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from toolhand.arguments.plans import tool_shape
from toolhand.core.errors import ToolDefinitionError
from toolhand.core.messages import Message, Sampling
from toolhand.core.tools import ToolChoice
from toolhand.gateway.refusals import invalid
from toolhand.gateway.shape import Shape
from toolhand.sessions.healing import HistoryError, heal
from toolhand.tools.export import exported
from toolhand.toolset import Toolset

MOST_TOOLS: Final = 1024

_KEPT_TOOLSETS: Final = 256

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """What a request says of being sent more than once.

    Args:
        run_id: the name that its run shall have; "" for any.
        key: its `Idempotency-Key`; "" where there is none.
        digest: of its body and session, where its client counts its tries; else "".
        is_repeated: whether it was sent before.
    """

    run_id: str = ""
    key: str = ""
    digest: str = ""
    is_repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One request.

    Args:
        model: the name that the client gives.
        messages: the conversation, in order.
        tools: the client's own tools, which it runs itself.
        choice: which of them may be called.
        is_parallel: whether several may be called at once.
        sampling: temperature and the like.
        stop: sequences at which the answer ends.
        extra: further fields for a server that speaks OpenAI's chat completions.
        shape: what the answer has to be; None for text.
        streams: whether the answer is wanted as it comes.
        counts_usage: whether a stream shall end with what was counted.
        toolsets: toolsets of the gateway, by name, which run here.
        session: the session that they are part of; "" for none.
        end_user: whom the client names as its user.
        sending: whether it is the same request once more.
    """

    model: str
    messages: tuple[Message, ...]
    tools: Toolset
    choice: ToolChoice = field(default_factory=ToolChoice)
    is_parallel: bool = True
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    shape: Shape | None = None
    streams: bool = False
    counts_usage: bool = False
    toolsets: tuple[str, ...] | None = None
    session: str = ""
    end_user: str = ""
    sending: Sending = field(default_factory=Sending)

    @property
    def conversation(self) -> str:
        """A mark that stays the same while a conversation grows."""
        begin: list[str] = []
        for message in self.messages:
            begin.append(message.text[:2000])
            if message.role == "user":
                break
        return hashlib.sha256("\0".join([self.model, *begin]).encode("utf-8", "replace")).hexdigest()[:24]


def checked(
    body: Mapping[str, Any], name: str, kind: type[Kind] | tuple[type[Kind], ...], what: tuple[str, str]
) -> Kind | None:
    """A field of the kind that it must have; None where it is absent or null.

    Args:
        body: the request.
        name: the field's.
        kind: its type or types; a boolean is no number.
        what: the type in words, English and Chinese.

    Raises:
        Refusal: when it is of another.
    """
    value = body.get(name)
    if value is None:
        return None
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise invalid(name, f"this must be {what[0]}", f"应为{what[1]}")
    return value


TEXT: Final = ("a string", "字符串")
LIST: Final = ("a list", "列表")
OBJECT: Final = ("an object", "对象")
NUMBER: Final = ("a number", "数字")
WHOLE: Final = ("a whole number", "整数")
YES: Final = ("true or false", "true 或 false")


def text_in(body: Mapping[str, Any], name: str) -> str:
    """A text; "" where it is absent."""
    return checked(body, name, str, TEXT) or ""


def yes_in(body: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    """A boolean."""
    value = checked(body, name, bool, YES)
    return default if value is None else value


def number_in(body: Mapping[str, Any], name: str, least: float, most: float) -> float | None:
    """A number within bounds."""
    value: float | None = checked(body, name, (int, float), NUMBER)
    if value is not None and not least <= value <= most:
        raise invalid(name, f"this must be from {least:g} to {most:g}", f"应在 {least:g} 到 {most:g} 之间")
    return value


def whole_in(body: Mapping[str, Any], name: str, least: int = 1) -> int | None:
    """A whole number of at least so much."""
    value = checked(body, name, int, WHOLE)
    if value is not None and not least <= value < 2**53:
        raise invalid(name, f"this must be at least {least}", f"至少为 {least}")
    return value


def texts_in(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """One text or a list of them."""
    value = body.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise invalid(name, "this must be a string or a list of strings", "应为字符串或字符串列表")


def objects_in(body: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """A list of objects."""
    value = checked(body, name, list, LIST) or []
    for number, one in enumerate(value):
        if not isinstance(one, Mapping):
            raise invalid(f"{name}[{number}]", "this must be an object", "应为对象")
    return value


def messages_of(given: Sequence[Any], param: str) -> tuple[Message, ...]:
    """A client's history in neutral words, put in order where it has to be.

    Raises:
        Refusal: when it is empty, or cannot be read in one way.
    """
    if not given:
        raise invalid(param, "this is empty: there is nothing to answer", "内容为空，没有可以回答的")
    try:
        return heal(given).messages
    except HistoryError as error:
        raise invalid(param, str(error), str(error)) from None


_TOOLSETS: Final[OrderedDict[bytes, Toolset]] = OrderedDict()


def toolset_of(schemas: Sequence[Mapping[str, Any]], param: str) -> Toolset:
    """The client's tools. A client sends the same ones with each request: they are read once.

    Args:
        schemas: bare function schemas.
        param: the field that they stand in.

    Raises:
        Refusal: when one of them cannot be used.
    """
    if not schemas:
        return NO_TOOLS
    if len(schemas) > MOST_TOOLS:
        raise invalid(param, f"these are more than {MOST_TOOLS} tools", f"工具超过 {MOST_TOOLS} 个")
    key = hashlib.sha256(json.dumps(schemas, ensure_ascii=False).encode("utf-8", "replace")).digest()
    known = _TOOLSETS.get(key)
    if known is None:
        known = _TOOLSETS[key] = _made(schemas, param)
        while len(_TOOLSETS) > _KEPT_TOOLSETS:
            _TOOLSETS.popitem(last=False)
    _TOOLSETS.move_to_end(key)
    return known


def _made(schemas: Sequence[Mapping[str, Any]], param: str) -> Toolset:
    try:
        made = Toolset.from_openai(schemas)
    except ToolDefinitionError as error:
        raise invalid(param, str(error), str(error)) from None
    for number, tool in enumerate(made):
        try:
            tool_shape(tool)
            exported(tool, "openai")
        except Exception:  # noqa: BLE001 - a stranger's schema may be anything, and the client is told which it is
            name = f"{param}[{number}]"
            raise invalid(name, "its parameters are no JSON Schema", "参数不是有效的 JSON Schema") from None
    return made


NO_TOOLS: Final = Toolset()


def choice_of(mode: str, names: Sequence[str] = ()) -> ToolChoice:
    """A tool_choice; whether its tools are there is seen by `check_choice`."""
    return ToolChoice(
        "none" if mode == "none" else "required" if mode == "required" else "auto", tuple(names)
    )


def check_choice(choice: ToolChoice, tools: Toolset) -> None:
    """Refuses a tool_choice whose tools are not there.

    Raises:
        Refusal: then, or where a call is required and there is no tool.
    """
    for name in choice.names:
        if name not in tools:
            there = ", ".join(tools.names)
            raise invalid(
                "tool_choice",
                f"there is no tool '{name}'; there is: {there}",
                f"没有工具“{name}”；可用：{there}",
            )
    if choice.mode == "required" and not tools:
        raise invalid(
            "tool_choice", "a call is required and there are no tools", "要求调用工具，但没有提供工具"
        )
