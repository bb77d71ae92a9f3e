"""What follows a result: whether the task goes on, told from the tools, the results and the user's words.

A small model doesn't know it. Asked in a word whether one more tool is needed, the 1.5B model says the same of questions that are
answered and of those that are not; left free it takes the first result for the answer, and makes up what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolhand.arguments.grounding import id_parameters
from toolhand.arguments.grounds import HAN, Grounds
from toolhand.arguments.relations import nouns
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.jsonable import result_text
from toolhand.core.messages import Message, ToolCall, ToolResult, Value
from toolhand.core.tools import Tool, ToolChoice
from toolhand.tools.collection import ToolCollection


def has_result(messages: Sequence[Message]) -> bool:
    """Whether a call has succeeded since the user last spoke."""
    _, given = since_the_user_spoke(messages)
    return any(result.ok for result in given)


def opens_a_step(messages: Sequence[Message], tools: ToolCollection) -> bool:
    """Whether the last results told an id that a tool asks for which was not called since the user last spoke."""
    if not messages or messages[-1].role != "tool":
        return False
    told = {key for result in messages[-1].results if result.ok for key in _keys(result)}
    _, given = since_the_user_spoke(messages)
    called = {result.name for result in given if result.ok}
    return bool(told) and any(_asks_for(tool, told) for tool in tools if tool.name not in called)


_DEEPEST: Final = 3
_MOST_ROWS: Final = 5


def _keys(result: ToolResult) -> Iterator[str]:
    data = result.outcome.data if isinstance(result.outcome, Value) else None
    todo: list[tuple[Any, int]] = [(data, 0)]
    while todo:
        value, depth = todo.pop()
        if depth > _DEEPEST:
            continue
        if isinstance(value, Mapping):
            yield from (str(key).casefold() for key, item in value.items() if item is not None)
            todo += [(item, depth + 1) for item in value.values()]
        elif isinstance(value, list | tuple):
            todo += [(item, depth + 1) for item in value[:_MOST_ROWS]]


def _asks_for(tool: Tool, told: set[str]) -> bool:
    """Whether a tool requires an id that goes by one of these names, or is described by one."""
    for name in id_parameters(tool):
        about = str(tool.properties[name].get("description") or "").casefold()
        is_told = name.casefold() in told or any(HAN.search(key) and key in about for key in told)
        if is_told and name in tool.required:
            return True
    return False


def without_sent_back(messages: Sequence[Message]) -> Sequence[Message]:
    """The history without calls since the user spoke that were only sent back for values that nobody gave: a plan begins anew."""
    at, given = since_the_user_spoke(messages)
    is_all = bool(given) and all(result.error and "invented" in result.error.details for result in given)
    return messages[: at + 1] if at >= 0 and is_all else messages


def repeated_results(messages: Sequence[Message], tools: ToolCollection) -> list[ToolResult]:
    """The results since the user last spoke that a call gave again: asked with the same words, and answered the same.

    Only of tools that read, and are not there to be asked again: what was done twice has to be seen.
    """
    made: dict[str, ToolCall] = {}
    first: list[tuple[ToolCall, ToolResult]] = []
    again: list[ToolResult] = []
    at, _ = since_the_user_spoke(messages)
    for message in messages[at + 1 :]:
        made |= {call.id: call for call in message.calls}
        for result in message.results:
            call = made.get(result.call_id)
            is_asked_once = _only_reads(result.name, tools) and not tools[result.name].rules.poll
            if call is None or not result.ok or not is_asked_once:
                continue
            if any(_is_same(call, one) and result.data == given.data for one, given in first):
                again.append(result)
            first.append((call, result))
    return again


def _is_same(call: ToolCall, other: ToolCall) -> bool:
    """Whether two calls ask the same, one perhaps with more said: what adds nothing to the result asked for nothing more."""
    if call.name != other.name:
        return False
    both = call.arguments.keys() & other.arguments.keys()
    is_wider = len(both) == min(len(call.arguments), len(other.arguments))
    return is_wider and all(call.arguments[key] == other.arguments[key] for key in both)


def overcome_results(messages: Sequence[Message], tools: ToolCollection) -> list[ToolResult]:
    """The model's own mistakes since the user spoke that a later call has got past, of tools that change nothing.

    What a small model still sees of them it answers with: "there is no such table", with the answer right below. What the user
    has to hear of is not among them: a mistake over one of several things that the user named, with a result only for another
    one; that a query ran and found nothing; that a tool which might do something is not there.
    """
    at, given = since_the_user_spoke(messages)
    if not any(result.error is not None and result.error.code in _OWN_MISTAKES for result in given):
        return []
    made = {call.id: call for message in messages[at + 1 :] for call in message.calls}
    grounds = Grounds(messages[at : at + 1] if at >= 0 else ())
    later: list[ToolCall] = []
    overcome: list[ToolResult] = []
    for message in reversed(messages[at + 1 :]):
        for result in message.results:
            call = made.get(result.call_id)
            if (
                call is not None
                and result.error is not None
                and _is_overcome(call, result.error, later, tools, grounds)
            ):
                overcome.append(result)
        later += [made[result.call_id] for result in message.results if result.ok and result.call_id in made]
    return overcome[::-1]


_OWN_MISTAKES: Final = frozenset(
    {ErrorCode.UNKNOWN_TOOL, ErrorCode.MISSING_ARGUMENT, ErrorCode.INVALID_ARGUMENT, ErrorCode.UNPARSEABLE}
)


def _is_overcome(
    call: ToolCall, error: ToolError, later: Sequence[ToolCall], tools: ToolCollection, grounds: Grounds
) -> bool:
    """Whether calls that succeeded later did what this one was to do, as far as calls tell it."""
    if error.code not in _OWN_MISTAKES or not later:
        return False
    if error.code is ErrorCode.UNKNOWN_TOOL:
        return any(_share_something(call, one) and _only_reads(one.name, tools) for one in later)
    same = [one for one in later if one.name == call.name]
    if not _only_reads(call.name, tools) or (error.details.get("found") == 0 and not same):
        return False
    return not any(_is_of_another_thing(value, key, same, grounds) for key, value in call.arguments.items())


def _share_something(call: ToolCall, other: ToolCall) -> bool:
    return bool(call.arguments.keys() & other.arguments.keys()) or any(
        value in other.arguments.values() for value in call.arguments.values()
    )


def _is_of_another_thing(value: Any, key: str, later: Sequence[ToolCall], grounds: Grounds) -> bool:
    """Whether the user named this value and another one for the same parameter, and only the other one was asked for again."""
    if isinstance(value, bool) or not isinstance(value, str | int) or not grounds.holds(value):
        return False
    others = [one.arguments[key] for one in later if key in one.arguments]
    own, spelled = _spelled(value), [_spelled(other) for other in others]
    return any(map(grounds.holds, others)) and not any(own in other or other in own for other in spelled)


def _spelled(value: Any) -> str:
    """A value however it is spelled: without case, blanks and signs."""
    return re.sub(r"[\W_]+", "", str(value)).casefold()


def _only_reads(name: str, tools: ToolCollection) -> bool:
    tool = tools.get(name)
    return tool is not None and tool.rules.effect == "reads"


def has_fallen_silent(messages: Sequence[Message]) -> bool:
    """Whether the model's last reply, after results, said nothing at all."""
    last = next((message for message in reversed(messages) if message.role in ("assistant", "tool")), None)
    return last is not None and last.role == "assistant" and not last.calls and not last.text.strip()


_SAY_NOTHING: Final = frozenset(
    re.findall(
        r"\w+",
        """what which who whom whose where when why how is are was were be do doe did done have has can could will would should
        must i me my we our you your it this that these those there here not no yes please tell give name know want need like
        make much many any some all one two first last next new now today current currently right still also then than from at
        as if about into value result user information info detail data get take
        多少 什么 哪一 哪个 哪里 哪些 一个 一下 现在 当前 今天 怎么 怎样 请问 请帮 帮我 告诉 诉我 是多 某个 某位
        信息 返回 可以 需要 名称""",
    )
)
"""Words that ask, and words that stand in the description of any tool."""

_LONGEST_RESULT: Final = 4_000


def steps_asked_for(
    messages: Sequence[Message], tools: ToolCollection, choice: ToolChoice
) -> tuple[str, ...]:
    """The tools that have to follow the last results.

    Where a call was sent back for want of a step that has now been taken, it is its tool. Else it is those that only read, ask
    for something, were not called, and speak of what is in the user's words, but in no called tool and no result.

    Args:
        messages: what the model is shown.
        tools: what may be called.
        choice: which of them.
    """
    if not messages or messages[-1].role != "tool" or not any(result.ok for result in messages[-1].results):
        return ()
    at, given = since_the_user_spoke(messages)
    results = [result for result in given if result.ok]
    if not _tells_news(results, Grounds(messages[: at + 1])):
        return ()
    ran = {result.name for result in results}
    waiting = {result.name for result in given if result.error and result.error.details.get("tools")} - ran
    if not waiting:
        called = [tools[result.name] for result in given if result.name in tools]
        spoken = nouns(" ".join(f"{tool.name} {tool.description}" for tool in called))
        spoken |= nouns(" ".join(result_text(result)[:_LONGEST_RESULT] for result in results))
        left = nouns(messages[at].text) - _SAY_NOTHING - spoken if at >= 0 else frozenset()
        waiting = {
            tool.name
            for tool in tools
            if tool not in called
            and tool.required
            and tool.rules.effect == "reads"
            and left & nouns(f"{tool.name} {tool.description}")
        }
    return tuple(tool.name for tool in tools if tool.name in waiting and choice.allows(tool.name))


def since_the_user_spoke(messages: Sequence[Message]) -> tuple[int, list[ToolResult]]:
    """Where the user spoke last, -1 for nowhere, and the results since, the newest first."""
    given: list[ToolResult] = []
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.is_said:
            return at, given
        given += message.results
    return -1, given


def _tells_news(results: Sequence[ToolResult], grounds: Grounds) -> bool:
    """Whether results tell a name or a number that nobody had said."""
    return any(
        isinstance(value, str | int | float) and not isinstance(value, bool) and not grounds.holds(value)
        for result in results
        for value in _leaves(result.data)
    )


def _leaves(data: Any) -> Iterator[Any]:
    todo = [(data, 0)]
    while todo:
        value, depth = todo.pop()
        if isinstance(value, Mapping | list | tuple) and depth <= _DEEPEST:
            items = list(value.values()) if isinstance(value, Mapping) else value
            todo += [(item, depth + 1) for item in items[:_MOST_ROWS]]
        else:
            yield value
