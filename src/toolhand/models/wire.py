"""The neutral request and output as OpenAI's chat-completions wire has them: both directions, no I/O.

Source: https://platform.openai.com/docs/api-reference/chat. Provider field names live here and in `deltas.py` only.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.jsonable import jsonable, result_text
from toolhand.core.language import Language, say
from toolhand.core.marks import NATIVE_MARKS, unforgeable
from toolhand.core.messages import (
    Message,
    ModelOutput,
    ModelRequest,
    Note,
    Odds,
    Opaque,
    RawCall,
    ToolCall,
    ToolResult,
    Usage,
)
from toolhand.core.tools import Tool, ToolChoice
from toolhand.models.endings import finish_reason, reply_of
from toolhand.models.faults import quoted, refuse_error
from toolhand.models.grammars import GrammarForm, grammar_fields
from toolhand.models.rendered import RenderedHistories
from toolhand.tools.export import exported, own_name, wire_name
from toolhand.tools.forms import Form

_TEXTS: Final = frozenset({None, "text", "output_text", "refusal"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Where servers that speak this wire differ.

    Args:
        max_tokens_key: what the bound on the reply's length is called.
        obeys_tool_choice: whether tool_choice is honoured. Where not, it is not sent: the tools that may be called are the only
            ones declared, and none are where none may be called.
        tool_choices: the words of tool_choice that are taken; all where None. Another is sent as "auto", and "none" as no tools.
        seed_key: what the seed is called.
        grammar: how the server is told the schema that a reply must satisfy.
        tells_odds: whether it may be asked how likely its words were.
        form: the form in which it takes tools, a name in `tools/forms/forms.toml`.
        key_header: the header that the API key goes into as it is; "" for a bearer token.
        call_ids: a regular expression for what a call's id may be; other ids are replaced, the same always by the same.
        keeps: fields of a reply with calls that the server wants back with the next request, such as its reasoning.
        fills: those of them that no reply of a history may lack, so that a blank stands where there is none.
        extra: further fields for every request's body.
    """

    max_tokens_key: str = "max_tokens"
    obeys_tool_choice: bool = True
    tool_choices: tuple[str, ...] | None = None
    seed_key: str = "seed"
    grammar: GrammarForm = "json_schema"
    tells_odds: bool = True
    form: str = "openai"
    key_header: str = ""
    call_ids: str = ""
    keeps: tuple[str, ...] = ()
    fills: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


class Encoder:
    """Turns requests into bodies. A history that grows is rendered once, however many turns it has.

    Args:
        model: the model's name on the wire.
        dialect: the server's peculiarities.
        source: the model's name among people: what the server kept in a history for another model is left out.
    """

    def __init__(self, model: str, dialect: Dialect | None = None, *, source: str = "") -> None:
        self.model = model
        self.dialect = dialect or Dialect()
        self._histories = RenderedHistories(
            partial(message_json, source=source, call_ids=self.dialect.call_ids, fills=self.dialect.fills)
        )
        self._tools: tuple[tuple[Tool, ...], bytes] = ((), b"")

    def body(self, request: ModelRequest, *, streams: bool) -> bytes:
        """The request as the JSON text of a body, in UTF-8."""
        tools, choice = _offered(request.tools, request.tool_choice, self.dialect)
        settings = self._settings(request, streams=streams)
        if tools and self.dialect.obeys_tool_choice:
            settings["tool_choice"] = choice
        before = b'{"model":' + json_bytes(self.model) + b',"messages":['
        after = b"]" + (b',"tools":' + self._tools_json(tools) if tools else b"")
        after += b"," + json_bytes(settings)[1:] if settings else b"}"
        return self._histories.joined(request.messages, request.language, before=before, after=after)

    def _settings(self, request: ModelRequest, *, streams: bool) -> dict[str, Any]:
        sampling = request.sampling
        settings: dict[str, Any] = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self.dialect.max_tokens_key: sampling.max_tokens,
            self.dialect.seed_key: sampling.seed,
            "stop": list(request.stop) or None,
            **grammar_fields(request.grammar, self.dialect.grammar),
        }
        if request.odds and self.dialect.tells_odds:
            settings |= {"logprobs": True, "top_logprobs": request.odds}
        if streams:
            settings |= {"stream": True, "stream_options": {"include_usage": True}}
        settings = {key: value for key, value in settings.items() if value is not None}
        return {**request.extra, **self.dialect.extra, **settings}

    def _tools_json(self, tools: tuple[Tool, ...]) -> bytes:
        known, rendered = self._tools
        # Tools are compared by identity: a Tool is immutable, and comparing schemas would cost more than writing them.
        if len(known) != len(tools) or any(a is not b for a, b in zip(known, tools, strict=True)):
            rendered = json_bytes([exported(tool, self.dialect.form).schema for tool in tools])
            self._tools = (tools, rendered)
        return rendered


def message_json(
    message: Message, language: Language, source: str = "", call_ids: str = "", fills: Sequence[str] = ()
) -> bytes:
    """One message as the wire's messages, as JSON texts joined with commas (a message of two results is two of them)."""
    return b",".join(json_bytes(entry) for entry in wire_messages(message, language, source, call_ids, fills))


def wire_messages(
    message: Message, language: Language, source: str = "", call_ids: str = "", fills: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One neutral message as the wire's messages.

    Results come first, as they must follow their calls at once; notes follow as the user's, since no provider has a role
    for them and several refuse a second system message. A note beside calls goes before them for the same reason.
    """
    notes = "\n\n".join(part.text for part in message.parts if isinstance(part, Note))
    note = [{"role": "user", "content": notes}] if notes else []
    if message.role == "assistant":
        spoken = {**dict.fromkeys(fills, " "), **_assistant(message, source, call_ids)}
        return [*note, spoken] if message.calls else [spoken, *note]
    if message.role == "tool":
        results = [
            {
                "role": "tool",
                "tool_call_id": wire_id(result.call_id, call_ids),
                "content": _told(result, language),
            }
            for result in message.results
        ]
        return [*results, *([{"role": "user", "content": message.text}] if message.text else []), *note]
    text = "\n\n".join(filter(None, (message.text, notes)))
    return [{"role": message.role, "content": text}]


def _told(result: ToolResult, language: Language) -> str:
    # Many servers make one text of the messages before the model reads them, by a template whose marks nobody else may write.
    return unforgeable(result_text(result, language), NATIVE_MARKS)


def _assistant(message: Message, source: str, call_ids: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"role": "assistant", "content": message.text, **opaque_of(message, source)}
    if message.calls:
        # Some servers refuse an empty text beside calls; all take null there.
        entry["content"] = message.text or None
        entry["tool_calls"] = [
            {
                "id": wire_id(call.id, call_ids),
                "type": "function",
                "function": {"name": wire_name(call.name), "arguments": arguments_json(call)},
            }
            for call in message.calls
        ]
    return entry


def wire_id(call_id: str, pattern: str) -> str:
    """A call's id as a provider takes it: its own, or one made of it. With another model in between it may be a stranger's."""
    if not pattern or re.fullmatch(pattern, call_id):
        return call_id
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:9]


def opaque_of(message: Message, source: str) -> Mapping[str, Any]:
    """What the provider of this model wants back with a message; empty where there is nothing."""
    for part in message.parts:
        if isinstance(part, Opaque) and part.source == source and source:
            return part.data
    return {}


def arguments_json(call: ToolCall) -> str:
    """A call's arguments as the text of a JSON object, whatever they hold."""
    return json.dumps(jsonable(dict(call.arguments)), ensure_ascii=False, allow_nan=False)


def json_bytes(value: Any) -> bytes:
    """A value as JSON in UTF-8, never escaped to ASCII."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=jsonable)
    return text.encode("utf-8", "replace")  # a lone surrogate in a user's text must not end the run


def _offered(
    tools: Sequence[Tool], choice: ToolChoice, dialect: Dialect
) -> tuple[tuple[Tool, ...], str | dict[str, Any]]:
    """The tools to declare and the wire's tool_choice. A subset is declared alone: only one provider has a form for it."""
    taken = dialect.tool_choices
    if choice.mode == "none" and (
        not dialect.obeys_tool_choice or (taken is not None and "none" not in taken)
    ):
        return (), "none"
    if taken is not None and choice.mode not in taken:
        return tuple(tool for tool in tools if choice.allows(tool.name)), "auto"
    if not choice.names or choice.mode == "none":
        return tuple(tools), choice.mode
    if choice.mode == "required" and len(choice.names) == 1 and dialect.obeys_tool_choice:
        return tuple(tools), {"type": "function", "function": {"name": wire_name(choice.names[0])}}
    return tuple(tool for tool in tools if tool.name in choice.names), choice.mode


def output(body: Any, tools: Sequence[Tool] = (), dialect: Dialect | None = None) -> ModelOutput:
    """A whole response's body as a `ModelOutput`.

    Args:
        body: the parsed JSON.
        tools: the tools that were declared; names on the wire are mapped back to theirs.
        dialect: the server's peculiarities.

    Raises:
        ModelError: when it holds an error, or no reply.
    """
    dialect = dialect or Dialect()
    if isinstance(body, Mapping):
        refuse_error(body)
    choice = reply_of(body.get("choices")) if isinstance(body, Mapping) else None
    message = choice.get("message") if choice is not None else None
    if choice is None or not isinstance(message, Mapping):
        raise ModelError(
            say(
                f"the model's server answered without a reply in it: {quoted(json.dumps(body, ensure_ascii=False))}",
                f"模型服务的回答里没有内容：{quoted(json.dumps(body, ensure_ascii=False))}",
            ),
            fault=ModelFault.GARBLED,
            retryable=True,
        )
    calls = tuple(renamed(call, tools, dialect.form) for call in _calls(message))
    return ModelOutput(
        text=said_of(message),
        calls=calls,
        finish_reason=finish_reason(choice.get("finish_reason"), has_calls=bool(calls)),
        usage=usage_of(body.get("usage")),
        thinking=thinking_of(message),
        odds=odds_of(choice),
        opaque=kept(message, dialect) if calls else None,
    )


def kept(message: Mapping[str, Any], dialect: Dialect) -> Opaque | None:
    """What the server wants back of a reply."""
    found = {name: message[name] for name in dialect.keeps if message.get(name)}
    return Opaque(source="", data=found) if found else None


def _calls(message: Mapping[str, Any]) -> Iterator[RawCall]:
    for entry in entries_of(message):
        function = function_of(entry)
        arguments = function.get("arguments")
        yield RawCall(
            id=str(entry.get("id") or ""),
            name=str(function.get("name") or ""),
            arguments=arguments if isinstance(arguments, str | Mapping) else None,
        )


def entries_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The call entries of a message or a delta: `tool_calls`, in a list or alone, or the older `function_call`."""
    found = message.get("tool_calls")
    entries = found if isinstance(found, list) else [found]
    legacy = message.get("function_call")
    if isinstance(legacy, Mapping) and not any(entries):
        entries = [{"function": legacy}]
    return [entry for entry in entries if isinstance(entry, Mapping)]


def function_of(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a call entry that holds name and arguments; some servers leave the `function` level out."""
    function = entry.get("function")
    return function if isinstance(function, Mapping) else entry


def renamed(call: RawCall, tools: Sequence[Tool], provider: str | Form = "openai") -> RawCall:
    """The same call as the tool means it: under its own name, with its arguments out of the provider's form."""
    name, arguments = own_name(call.name, tools), call.arguments
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is not None:
        arguments = exported(tool, provider).own_arguments(arguments)
    return RawCall(id=call.id, name=name, arguments=arguments)


def text_of(content: Any) -> str:
    """The text of a content, which may be a string, a list of parts, or nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(text_of(part) for part in content)
    if isinstance(content, Mapping) and content.get("type") in _TEXTS:
        return text_of(content.get("refusal" if content.get("type") == "refusal" else "text"))
    return ""


def said_of(message: Mapping[str, Any]) -> str:
    """What a message or a delta says to the user, a refusal included."""
    return text_of(message.get("content")) + text_of(message.get("refusal"))


def thinking_of(message: Mapping[str, Any]) -> str:
    """What a message or a delta tells of the model's thinking, in a field of its own or as parts of the content."""
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    fields = (message.get(name) for name in ("reasoning_content", "reasoning", "thinking"))
    return text_of(
        next(filter(None, fields), [part.get("thinking") for part in parts if isinstance(part, Mapping)])
    )


def usage_of(counts: Any) -> Usage:
    """The server's counts; what it did not count is 0."""
    if not isinstance(counts, Mapping):
        return Usage(requests=1)
    details = counts.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    if cached is None:
        cached = counts.get("prompt_cache_hit_tokens") or counts.get("cached_tokens")
    return Usage(
        requests=1,
        input_tokens=count(counts.get("prompt_tokens")),
        output_tokens=count(counts.get("completion_tokens")),
        cached_tokens=count(cached),
    )


def odds_of(choice: Mapping[str, Any]) -> tuple[Odds, ...]:
    """How likely the words were that a choice, whole or a piece of a stream, could have had; empty where it does not say."""
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return tuple(
        Odds(str(token.get("token") or ""), _likely(token.get("top_logprobs")))
        for token in (tokens if isinstance(tokens, list) else ())
        if isinstance(token, Mapping)
    )


def _likely(alternatives: Any) -> Mapping[str, float]:
    likely: dict[str, float] = {}
    for entry in alternatives if isinstance(alternatives, list) else ():
        logprob = entry.get("logprob") if isinstance(entry, Mapping) else None
        if isinstance(logprob, int | float) and logprob <= 0:
            text = str(entry.get("token") or "")
            likely[text] = likely.get(text, 0.0) + math.exp(logprob)
    return likely


def count(value: Any) -> int:
    """A server's count; what it did not count is 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124 - NaN
    return max(0, int(value)) if is_number and value < 1e15 else 0
