"""What the options of an agent and of its runs are, and must be. A wrong one is named before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypedDict

from toolhand.arguments.suggest import closest, is_near
from toolhand.choosing.choose import Choose
from toolhand.core.errors import SettingsError
from toolhand.core.events import Event
from toolhand.core.language import say
from toolhand.core.messages import Sampling
from toolhand.core.tools import ToolChoice
from toolhand.run import Limits
from toolhand.sessions.session import Session
from toolhand.sessions.trimming import History


class ResumeOptions(TypedDict, total=False):
    """What any run may be given.

    Args:
        user: who asks. A session belongs to the user who began it, and is refused to all others.
        permissions: what the user holds, such as "orders:write".
        roles: what the user is, for access rules.
        limits: instead of the agent's.
        facts: values for `Injected` parameters.
        on_event: called with every event.
    """

    user: str
    permissions: Collection[str]
    roles: Collection[str]
    limits: Limits | None
    facts: Mapping[str, Any]
    on_event: Callable[[Event], None] | None


class RunOptions(ResumeOptions, total=False):
    """What a run with a new message may be given, beside `ResumeOptions`.

    Args:
        session: a name or a `Session`; a fresh one by default.
        tool_choice: instead of the agent's.
        message_history: messages from elsewhere that a new session begins with: dicts in OpenAI's or Anthropic's shape, or
            `Message`s. Damaged ones are mended where there is one way to (`toolhand.histories.heal`).
    """

    session: str | Session | None
    tool_choice: str | Sequence[str] | ToolChoice | None
    message_history: Sequence[Any]


def _is_names(value: Any) -> bool:
    """Whether it is several names; one name alone would be read as its letters."""
    return (
        isinstance(value, Collection)
        and not isinstance(value, str)
        and all(isinstance(n, str) for n in value)
    )


def _is_choice(value: Any) -> bool:
    names = isinstance(value, Sequence) and all(isinstance(name, str) for name in value)
    return value is None or isinstance(value, str | ToolChoice) or names


def _is_callables(value: Any) -> bool:
    return isinstance(value, Sequence) and all(callable(item) for item in value)


def _anything(_: Any) -> bool:
    return True


_KINDS: Final[Mapping[str, tuple[Callable[[Any], bool], tuple[str, str]]]] = {
    "text": (
        lambda value: isinstance(value, str) and bool(value.strip()),
        ("a string that says something", "有内容的字符串"),
    ),
    "user": (lambda value: isinstance(value, str), ("a string", "字符串")),
    "session": (
        lambda value: value is None or isinstance(value, str | Session),
        ("a name or a Session", "名字或 Session"),
    ),
    "permissions": (
        _is_names,
        ('a list of names, such as ["orders:write"]', '名称列表，例如 ["orders:write"]'),
    ),
    "roles": (_is_names, ('a list of names, such as ["clerk"]', '名称列表，例如 ["clerk"]')),
    "limits": (
        lambda value: value is None or isinstance(value, Limits),
        ("a Limits, such as Limits(turns=5)", "Limits，例如 Limits(turns=5)"),
    ),
    "history": (
        lambda value: value is None or isinstance(value, History),
        ("a History, such as History(tokens=8_000)", "History，例如 History(tokens=8_000)"),
    ),
    "message_history": (
        lambda value: isinstance(value, Sequence) and not isinstance(value, str),
        ("a list of messages", "消息列表"),
    ),
    "facts": (
        lambda value: isinstance(value, Mapping),
        ("a dict of values by the names in Injected", "以 Injected 中的名字为键的 dict"),
    ),
    "on_event": (
        lambda value: value is None or callable(value),
        ("a function that takes an event", "接收事件的函数"),
    ),
    "tool_choice": (
        _is_choice,
        (
            '"auto", "required", "none", a tool\'s name, or a list of names',
            '"auto"、"required"、"none"、工具名或名称列表',
        ),
    ),
    "language": (lambda value: value in (None, "en", "zh"), ('"en" or "zh"', '"en" 或 "zh"')),
    "protocol": (
        lambda value: isinstance(value, str) or hasattr(value, "render"),
        (
            'a protocol\'s name, such as "json", or an object with render and reader',
            '协议名，例如 "json"，或带有 render 和 reader 的对象',
        ),
    ),
    "choose": (
        lambda value: value is None or isinstance(value, Choose) or (type(value) is int and value > 0),
        ("a number of tools, or a Choose, such as Choose(k=10)", "工具的数量，或 Choose，例如 Choose(k=10)"),
    ),
    "sinks": (
        _is_callables,
        ("a list of functions that take an event and a context", "函数列表，每个接收事件和上下文"),
    ),
    "policies": (lambda value: value is None or _is_callables(value), ("a list of policies", "策略列表")),
    "sampling": (
        lambda value: value is None or isinstance(value, Sampling),
        ("a Sampling, such as Sampling(temperature=0)", "Sampling，例如 Sampling(temperature=0)"),
    ),
}


def check_values(where: str, **values: Any) -> None:
    """Refuses a value that cannot be what its option means.

    Args:
        where: what takes the options, for the error.
        values: options by name; one that is not known here is let through.

    Raises:
        SettingsError: naming the option, what it is, and what came.
    """
    for name, value in values.items():
        fits, what = _KINDS.get(name, (_anything, ("", "")))
        if not fits(value):
            raise SettingsError(_refused(where, name, what, repr(value)))


def _refused(where: str, name: str, what: tuple[str, str], came: str) -> str:
    shown = came if len(came) <= 60 else f"{came[:60]}…"
    return say(
        f"{where}: {name} is {what[0]}, and this is {shown}",
        f"{where}：{name} 应为：{what[1]}；而这是 {shown}",
    )


def refuse_unknown(where: str, options: Iterable[str], known: Collection[str]) -> None:
    """Refuses an option that does not exist.

    Raises:
        SettingsError: with the option that was meant, or all that there are.
    """
    for name in options:
        if name not in known:
            near = closest(name, known)
            hint = (
                say(f"did you mean '{near}'?", f"是不是想写“{near}”？")
                if near
                else say(f"there is: {', '.join(sorted(known))}", f"可用：{'、'.join(sorted(known))}")
            )
            raise SettingsError(
                say(f"{where} has no option '{name}': {hint}", f"{where} 没有选项“{name}”：{hint}")
            )


def refuse_misspelt(where: str, options: Iterable[str], known: Collection[str]) -> None:
    """Refuses only a slip of the pen, where other options belong to somebody else who will judge them.

    Raises:
        SettingsError: with the option that was meant.
    """
    for name in options:
        near = closest(name, known)
        if near and (is_near(name, near) or name in near or near in name):
            raise SettingsError(
                say(
                    f"{where} has no option '{name}': did you mean '{near}'?",
                    f"{where} 没有选项“{name}”：是不是想写“{near}”？",
                )
            )
