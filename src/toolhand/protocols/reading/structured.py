"""The calls that a provider sent structured: names cleaned, arguments mended, ids made unique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.arguments.bind import bind
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.language import Language
from toolhand.core.messages import FinishReason, Fix, RawCall, ToolCall
from toolhand.parsing.costs import fix
from toolhand.parsing.loose import Loose, LooseError, read_value
from toolhand.protocols.reading.failures import WORDS, Failure, failed, syntax_problem
from toolhand.protocols.reading.settle import Settled, Settler

_NOTHING = frozenset(("", "null", "None", "{}", "undefined"))


def settle_structured(settler: Settler, calls: Sequence[RawCall], finish_reason: FinishReason) -> Settled:
    """Binds structured calls. Every call gets an id that no other has; a broken one keeps its place and its id."""
    settled, language = Settled(), settler.settings.language
    seen: set[str] = set()
    for index, raw in enumerate(calls):
        call_id = raw.id.strip() if raw.id else ""
        if not call_id or call_id in seen:
            call_id = settler.new_id()
        seen.add(call_id)
        may_be_cut = finish_reason == "length" and index == len(calls) - 1
        arguments, fixes, problem = _arguments(raw.arguments, language, may_be_cut=may_be_cut)
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


def _arguments(
    raw: Any, language: Language, *, may_be_cut: bool
) -> tuple[Any, tuple[Fix, ...], ToolError | None]:
    """The arguments as a value, the liberties taken, and what is wrong."""
    if raw is None:
        return {}, (), None
    if isinstance(raw, Mapping):
        return dict(raw), (), None
    if not isinstance(raw, str):
        return raw, (), None
    text = raw.strip()
    if text in _NOTHING:
        return {}, (), _cut(language) if may_be_cut and text != "{}" and text else None
    if text.startswith("```"):
        return _fenced(text, language, may_be_cut=may_be_cut)
    if text[0] not in "{[\"'｛［":
        return text, (fix("bare_text"),), None
    try:
        loose = read_value(text)
    except LooseError as problem:
        if text[0] not in "{｛":
            return text, (fix("bare_text"),), None
        return {}, (), _invalid(syntax_problem(problem, text), language)
    if loose.end == len(text) and loose.open_path is None and type(loose.value) is dict:
        return loose.value, loose.fixes, None  # one whole object and nothing behind it, as nearly always
    return _checked(loose, text, language, may_be_cut=may_be_cut)


def _fenced(
    text: str, language: Language, *, may_be_cut: bool
) -> tuple[Any, tuple[Fix, ...], ToolError | None]:
    """Arguments in a fence."""
    value, fixes, problem = _arguments(
        text.strip("`").removeprefix("json").strip(), language, may_be_cut=may_be_cut
    )
    return value, (*fixes, fix("fence")), problem


def _checked(
    loose: Loose, text: str, language: Language, *, may_be_cut: bool
) -> tuple[Any, tuple[Fix, ...], ToolError | None]:
    if loose.open_path is not None and (may_be_cut or loose.is_cut or loose.open_path):
        if may_be_cut:
            return {}, loose.fixes, _cut(language)
        key = next((part for part in reversed(loose.open_path) if isinstance(part, str)), "")
        facts = {"key": key, "character": len(text)}
        return {}, loose.fixes, _invalid(Failure(kind="ends_in" if key else "ends", facts=facts), language)
    rest = text[loose.end :].strip().strip("}]`;").strip()
    fixes = loose.fixes
    if rest[:1] in ("{", "["):
        try:
            again = read_value(rest)
        except LooseError:
            again = None
        if again is not None and again.value != loose.value:
            facts = {"character": text.find(rest, loose.end) + 1}
            return {}, fixes, _invalid(Failure(kind="second", facts=facts), language)
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


def _invalid(failure: Failure, language: Language) -> ToolError:
    return ToolError(
        code=ErrorCode.INVALID_JSON,
        message=failure.said(language),
        retryable=True,
        hint=WORDS[language]["invalid_hint"],
    )


def _cut(language: Language) -> ToolError:
    return failed("cut", language, code=ErrorCode.TRUNCATED)
