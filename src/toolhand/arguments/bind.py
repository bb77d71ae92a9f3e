"""Binding: from a call as a model sent it to one whose tool is known and whose arguments fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toolhand.arguments.checks import size
from toolhand.arguments.coerce.object import members
from toolhand.arguments.coerce.table import coerce
from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.costs import fix
from toolhand.arguments.faults import Refused, Trouble
from toolhand.arguments.keys import fold
from toolhand.arguments.names import near_tool
from toolhand.arguments.paths import member
from toolhand.arguments.plans import tool_shape
from toolhand.arguments.problems import invalid_arguments, unknown_tool
from toolhand.arguments.reasoning import without_reasoning
from toolhand.arguments.settings import DEFAULT, BindSettings
from toolhand.arguments.shape import Shape
from toolhand.arguments.unwrap import from_bare, placed, unwrapped
from toolhand.core.errors import ToolError
from toolhand.core.messages import BoundCall, Fix, ToolCall
from toolhand.core.tools import Tool
from toolhand.tools.collection import ToolCollection

_READS_A_VALUE: Final = 8
_NOTHING: Final[tuple[Any, ...]] = ()


def bind(
    call: ToolCall,
    tools: ToolCollection,
    *,
    settings: BindSettings = DEFAULT,
    positional: Sequence[Any] = _NOTHING,
) -> BoundCall | ToolError:
    """Finds the call's tool and makes its arguments fit. Never raises for what a model sent.

    Args:
        call: the call as it was read. Its arguments may be anything: an object, JSON text, a bare value or list for the
            only required parameter, None.
        tools: the tools that there are.
        settings: what the caller decides.
        positional: values that came by position before the named ones, as in `f("北京", days=3)`.

    Returns:
        The call with the tool's name, arguments typed as the tool declares and every liberty in its `fixes`; or the
        error that says all that is wrong. Defaults are not filled in; `fill_defaults` does that.
    """
    if call.problem is not None:
        return call.problem
    tool = tools.get(call.name)
    fixes: list[Fix] = []
    if tool is None:
        shown = tools.filter(lambda one: one.name not in settings.hidden) if settings.hidden else tools
        tool = _resolved(call.name, shown, fixes)
        if tool is None:
            return unknown_tool(call.name, shown, settings.language)
    arguments: Any = call.arguments
    is_plain = type(arguments) is dict and not positional and not fixes and not tool.rules.user_visible
    if is_plain and _is_right(arguments, tool):
        return BoundCall(call=call, tool=tool)
    outcome, taken = bind_arguments(arguments, tool, settings=settings, positional=positional)
    if isinstance(outcome, ToolError):
        return outcome
    fixes += taken
    if tool.rules.user_visible:
        outcome, taken = without_reasoning(outcome)
        fixes += taken
    bound = replace(call, name=tool.name, arguments=outcome, fixes=(*call.fixes, *fixes))
    return BoundCall(call=bound, tool=tool)


def bind_arguments(
    arguments: Any,
    tool: Tool,
    *,
    settings: BindSettings = DEFAULT,
    positional: Sequence[Any] = _NOTHING,
) -> tuple[dict[str, Any] | ToolError, tuple[Fix, ...]]:
    """The same for arguments alone, where the tool is known.

    Returns:
        the arguments or an error, and the liberties that were taken.
    """
    shape = tool_shape(tool)
    walk = Walk(settings=settings, coerce=coerce, changes_things=tool.rules.effect != "reads")
    try:
        outcome = _members(arguments, tool, shape, walk, positional)
    except RecursionError:  # the caller's own stack was nearly full
        outcome = refuse(Trouble.VALUE, shape, "$", note="too_deep")
    if type(outcome) is Refused:
        return invalid_arguments(outcome.faults, tool, settings.language), ()
    return outcome, tuple(walk.fixes)


def _is_right(arguments: dict[str, Any], tool: Tool) -> bool:
    """Whether arguments can be passed on as they are, which is the usual case and must be quick."""
    try:
        if tool.injected and not tool.injected.keys().isdisjoint(arguments):
            return False
        return size(arguments) > 0 and tool_shape(tool).fits(arguments)
    except RecursionError:
        return False


def _members(arguments: Any, tool: Tool, shape: Shape, walk: Walk, positional: Sequence[Any]) -> Any:
    sent = unwrapped(arguments, tool.name, shape, tool.aliases, walk)
    if not isinstance(sent, Mapping):
        sent = from_bare(sent, shape, walk)
        if type(sent) is Refused:
            return sent
    if positional:
        sent = placed(positional, sent, shape, walk)
        if type(sent) is Refused:
            return sent
    if tool.injected:
        # What is filled at run time is not the model's to say, whatever the policy for extra arguments.
        hidden = {fold(name) for name in tool.injected}
        for key in [key for key in sent if fold(str(key)) in hidden]:
            walk.note("extra_dropped", member("$", str(key)), sent[key], None)
        sent = {key: value for key, value in sent.items() if fold(str(key)) not in hidden}
    count = size(dict(sent))
    if count < 0:
        return refuse(Trouble.VALUE, shape, "$", note="too_deep")
    walk.reads_left[0] += _READS_A_VALUE * count
    return members(sent, shape, "$", walk, tool.aliases)


def _resolved(name: str, tools: ToolCollection, fixes: list[Fix]) -> Tool | None:
    tool = tools.lookup(name)
    if tool is not None:
        fixes.append(fix("tool_name_spelling", "$", name, tool.name))
        return tool
    tool = near_tool(name, tools)
    if tool is not None:
        fixes.append(fix("near_tool_name", "$", name, tool.name))
    return tool
