"""The calls that a provider sent structured: names cleaned, arguments mended, ids made unique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.arguments.bind import bind
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import FinishReason, Fix, RawCall, ToolCall
from toolhand.parsing.costs import fix
from toolhand.parsing.loose import Loose, LooseError, read_value
from toolhand.protocols.reading.failures import syntax_problem
from toolhand.protocols.reading.settle import Settled, Settler

_NOTHING = frozenset(("", "null", "None", "{}", "undefined"))


def settle_structured(settler: Settler, calls: Sequence[RawCall], finish_reason: FinishReason) -> Settled:
    """Binds structured calls. Every call gets an id that no other has; a broken one keeps its place and its id."""
    settled = Settled()
    seen: set[str] = set()
    for index, raw in enumerate(calls):
        call_id = raw.id.strip() if raw.id else ""
        if not call_id or call_id in seen:
            call_id = settler.new_id()
        seen.add(call_id)
        may_be_cut = finish_reason == "length" and index == len(calls) - 1
        arguments, fixes, problem = _arguments(raw.arguments, may_be_cut=may_be_cut)
        call = ToolCall(id=call_id, name=raw.name, arguments=arguments, fixes=fixes)
        if problem is not None:
            tool = settler.tools.lookup(raw.name)
            settled.fail(call if tool is None else ToolCall(id=call_id, name=tool.name, fixes=fixes), problem)
            continue
        bound = bind(call, settler.tools, settings=settler.settings)
        if isinstance(bound, ToolError):
            settled.fail(call, bound)
        else:
            settled.calls.append(bound.call)
    return settled


def _arguments(raw: Any, *, may_be_cut: bool) -> tuple[Any, tuple[Fix, ...], ToolError | None]:
    """The arguments as a value, the liberties taken, and what is wrong."""
    if raw is None:
        return {}, (), None
    if isinstance(raw, Mapping):
        return dict(raw), (), None
    if not isinstance(raw, str):
        return raw, (), None
    text = raw.strip()
    if text in _NOTHING:
        return {}, (), _cut() if may_be_cut and text != "{}" and text else None
    if text.startswith("```"):
        return _fenced(text, may_be_cut=may_be_cut)
    if text[0] not in "{[\"'｛［":
        return text, (fix("bare_text"),), None
    try:
        loose = read_value(text)
    except LooseError as problem:
        if text[0] not in "{｛":
            return text, (fix("bare_text"),), None
        return {}, (), _invalid(syntax_problem(problem, text))
    return _checked(loose, text, may_be_cut=may_be_cut)


def _fenced(text: str, *, may_be_cut: bool) -> tuple[Any, tuple[Fix, ...], ToolError | None]:
    """Arguments in a fence."""
    value, fixes, problem = _arguments(text.strip("`").removeprefix("json").strip(), may_be_cut=may_be_cut)
    return value, (*fixes, fix("fence")), problem


def _checked(loose: Loose, text: str, *, may_be_cut: bool) -> tuple[Any, tuple[Fix, ...], ToolError | None]:
    if loose.open_path is not None and (may_be_cut or loose.is_cut or loose.open_path):
        if may_be_cut:
            return {}, loose.fixes, _cut()
        key = next((part for part in reversed(loose.open_path) if isinstance(part, str)), "")
        where = f' inside the key "{key}"' if key else ""
        return (
            {},
            loose.fixes,
            _invalid(f"The arguments are not valid JSON: they end{where}, at character {len(text)}."),
        )
    rest = text[loose.end :].strip().strip("}]`;").strip()
    fixes = loose.fixes
    if rest[:1] in ("{", "["):
        try:
            again = read_value(rest)
        except LooseError:
            again = None
        if again is not None and again.value != loose.value:
            return (
                {},
                fixes,
                _invalid(
                    f"The arguments are not valid JSON: a second object begins at character {text.find(rest, loose.end) + 1}."
                ),
            )
        fixes = (*fixes, fix("nested_twice"))
    value = loose.value
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            inner = read_value(value.strip())
        except LooseError:
            return value, fixes, None
        if inner.is_complete:
            return inner.value, (*fixes, *inner.fixes, fix("arguments_as_text")), None
    return value, fixes, None


def _invalid(message: str) -> ToolError:
    return ToolError(
        code=ErrorCode.INVALID_JSON,
        message=message,
        retryable=True,
        hint="Send the arguments again as one JSON object.",
    )


def _cut() -> ToolError:
    return ToolError(
        code=ErrorCode.TRUNCATED,
        message="The output was cut off inside the arguments of this call, so it was not run.",
        retryable=True,
        hint="Call it again with a smaller payload, in several steps if need be.",
    )
