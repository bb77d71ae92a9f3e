"""A streamed reply: bytes → events → text as it comes, and the whole output at the end. No I/O.

Providers number, name and identify the pieces of a call in many ways. The rules here go by what a piece says about itself,
never by who sent it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.language import say
from toolhand.core.messages import ModelOutput, Odds, RawCall, Usage
from toolhand.core.tools import Tool
from toolhand.models.endings import finish_reason, reply_of
from toolhand.models.faults import quoted, refuse_error
from toolhand.models.wire import (
    Dialect,
    entries_of,
    function_of,
    kept,
    odds_of,
    renamed,
    said_of,
    thinking_of,
    usage_of,
)
from toolhand.tools.export import wire_name

DONE: Final = "[DONE]"

MOST_ODDS: Final = 64
"""Of how many tokens at the beginning the odds are kept: what a reply decides, it decides there."""

_LAST: Final = frozenset('}]"le0123456789')
"""What JSON values end with, but for the empty text."""

_LINE_END = re.compile("\r\n|\n|\r")


class EventDecoder:
    """Turns the bytes of a server-sent event stream into parsed chunks.

    It takes any of the three line ends, comments, missing blanks and missing empty lines, a character or a line cut anywhere,
    and JSON spread over several data lines.

    Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest: list[str] = []
        self._pending = ""
        self.is_done = False
        """Whether `[DONE]` has come."""

    def feed(self, data: bytes, *, is_last: bool = False) -> list[Any]:
        """Takes more bytes; gives the chunks that are complete now.

        Raises:
            ModelError: when an event is not JSON.
        """
        text = self._decoder.decode(data, is_last)
        if not is_last and "\n" not in text and "\r" not in text and self._rest[-1:] != ["\r"]:
            self._rest.append(text)  # a long line is put together once, at its end
            return []
        text = "".join(self._rest) + text
        if is_last:
            text += "\n"  # what is only half there at the end was cut: whether that matters, the caller knows
        # A carriage return at the end may be the first half of a line end.
        held = text.endswith("\r") and not is_last
        lines = _LINE_END.split(text[:-1] if held else text)
        self._rest = [rest for rest in (lines.pop(), "\r" if held else "") if rest]
        chunks = []
        for line in lines:
            chunks += self._line(line)
        return chunks

    def _line(self, line: str) -> list[Any]:
        if not line.strip():
            if self._pending:
                raise ModelError(
                    say(
                        f"the model's server streamed something that is not JSON: {quoted(self._pending)}",
                        f"模型服务流式返回的内容不是 JSON：{quoted(self._pending)}",
                    ),
                    fault=ModelFault.GARBLED,
                    retryable=True,
                )
            return []
        if line.startswith("data:"):
            self._pending += line[5:].strip()
        elif line.startswith((":", "event:", "id:", "retry:")):
            return []
        elif line.startswith("{") or self._pending:
            self._pending += line.strip()  # bare JSON lines, or an event's JSON that was broken over lines
        if self._pending == DONE:
            self.is_done = True
            self._pending = ""
            return []
        if not self._pending:
            return []
        try:
            chunk = json.loads(self._pending)
        except (ValueError, RecursionError):
            return []
        self._pending = ""
        return [chunk]


@dataclass(slots=True)
class _Call:
    """A call as far as it has come."""

    id: str
    index: int | None
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    object: Mapping[str, Any] | None = None
    is_named_again: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def has_arguments(self) -> bool:
        return self.object is not None or any(piece.strip() for piece in self.pieces)

    @property
    def is_complete(self) -> bool:
        """Whether its arguments are a whole JSON value already."""
        if self.object is not None:
            return True
        if self.pieces and (end := self.pieces[-1].rstrip()[-1:]) and end not in _LAST:
            return False  # most pieces, without reading all that came before them once more
        try:
            json.loads(self.text)
        except (ValueError, RecursionError):
            return False
        return True


class CallAssembler:
    """Puts the pieces of streamed calls together.

    Args:
        declared: the names on the wire of the declared tools; they settle what a repeated or pieced name means.
    """

    def __init__(self, declared: Collection[str] = ()) -> None:
        self._declared = frozenset(declared)
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def feed(self, entry: Mapping[str, Any]) -> None:
        """Takes one entry of a delta's `tool_calls`."""
        function = function_of(entry)
        identity, index = str(entry.get("id") or ""), _index(entry.get("index"))
        name, arguments = str(function.get("name") or ""), function.get("arguments")
        call = self._open(identity, index, name, arguments)
        call.id = call.id or identity
        self._add_name(call, name)
        if isinstance(arguments, str) and arguments:
            if arguments.strip() and call.pieces == ["{}"]:
                call.pieces.clear()  # an empty object in the place of what has not come yet
            call.pieces.append(arguments)
        elif isinstance(arguments, Mapping):
            call.object = arguments

    def calls(self) -> tuple[RawCall, ...]:
        """All calls, in the order in which they were opened."""
        return tuple(
            RawCall(id=c.id, name=c.name, arguments=c.object or c.text or c.object or "") for c in self._calls
        )

    @property
    def has_open_call(self) -> bool:
        """Whether a call's arguments have begun and not ended."""
        return any(call.has_arguments and not call.is_complete for call in self._calls)

    def _open(self, identity: str, index: int | None, name: str, arguments: Any) -> _Call:
        """The call that a piece belongs to: one that is open, or a new one."""
        known = self._known(identity, index, name)
        if known is not None and not self._starts_anew(known, identity, name, arguments):
            return known
        inherited = known.name if known is not None and not name and known.is_named_again else ""
        call = _Call(identity, index, inherited)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _known(self, identity: str, index: int | None, name: str) -> _Call | None:
        last = self._calls[-1] if self._calls else None
        at_index = self._by_index.get(index) if index is not None else None
        if identity:
            same = next((c for c in reversed(self._calls) if c.id == identity), None)
            if same is not None:
                # One id at two places is two calls, unless the piece at the second goes on with what the first began.
                is_elsewhere = index is not None and same.index is not None and index != same.index
                goes_on = not name or (name == same.name and same.has_arguments and not same.is_complete)
                return None if is_elsewhere and not goes_on else same
            there = at_index or (last if index is None else None)
            if there is None or not there.id:
                return there
            # Some servers make a new id for each piece: what has no name of its own, or the same at the same place, goes on.
            is_begun = there.has_arguments and not there.is_complete if name else True
            is_same = name in ("", there.name) and (
                is_begun or (at_index is not None and not there.has_arguments)
            )
            return there if is_same else None
        if at_index is not None:
            return at_index
        # Neither id nor name at a place not seen before: it goes on with the call that is open.
        return last if index is None or not name else None

    def _starts_anew(self, call: _Call, identity: str, name: str, arguments: Any) -> bool:
        """Whether a piece that seems to go on with a call is the start of another one in the same place."""
        has_more = bool(arguments.strip()) if isinstance(arguments, str) else isinstance(arguments, Mapping)
        if not name:
            return has_more and call.is_named_again and call.is_complete
        if not call.has_arguments:
            # A second name before any arguments: another call only if both are whole names of tools.
            return (
                name != call.name
                and {name, call.name} <= self._declared
                and call.name + name not in self._declared
            )
        if not call.is_complete:
            return False
        if not has_more:
            if name != call.name and not (identity and identity == call.id):
                return True
            call.is_named_again = True
            return False
        is_repeated = (arguments == call.text) if isinstance(arguments, str) else (arguments == call.object)
        if identity and identity == call.id and name == call.name and is_repeated:
            call.pieces.clear()  # the whole call once more, as a summary: it replaces itself
            return False
        return True

    def _add_name(self, call: _Call, name: str) -> None:
        """Joins a name's piece, unless it repeats what is there."""
        if not name or name == call.name:
            if name and call.name + name in self._declared and call.name not in self._declared:
                call.name += name
            return
        if name.startswith(call.name):
            call.name = name if call.name + name not in self._declared else call.name + name
        elif not (call.name.endswith(name) and call.has_arguments):
            call.name += name


def _index(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def joined(known: Any, more: Any) -> Any:
    """A value that streams in pieces: texts are put together, lists too, their entries of one kind and index merged."""
    if isinstance(known, str) and isinstance(more, str):
        return known + more
    if not (isinstance(known, list) and isinstance(more, list)):
        return more if known is None or not isinstance(known, type(more)) else known
    for entry in more:
        last = known[-1] if known else None
        place = ("type", "index", "format")
        if (
            isinstance(last, dict)
            and isinstance(entry, Mapping)
            and all(last.get(key) == entry.get(key) for key in place)
        ):
            for key, value in entry.items():
                last[key] = value if key in place or key == "id" else joined(last.get(key), value)
        else:
            known.append(dict(entry) if isinstance(entry, Mapping) else entry)
    return known


class StreamedOutput:
    """Takes the chunks of one streamed reply.

    Args:
        tools: the tools that were declared.
        dialect: the server's peculiarities.
    """

    def __init__(self, tools: Sequence[Tool] = (), dialect: Dialect | None = None) -> None:
        self._tools, self._dialect = tools, dialect or Dialect()
        self._kept: dict[str, Any] = {}
        self._calls = CallAssembler([wire_name(tool.name) for tool in tools])
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._finish: str | None = None
        self._usage: Usage | None = None
        self._odds: list[Odds] = []

    def feed(self, chunk: Any) -> str:
        """Takes a parsed chunk; gives its piece of the text, which may be empty.

        Raises:
            ModelError: when the chunk is an error.
        """
        if not isinstance(chunk, Mapping):
            return ""
        refuse_error(chunk)
        if chunk.get("usage"):
            self._usage = usage_of(chunk["usage"])
        choice = reply_of(chunk.get("choices"))
        if choice is None:
            return ""
        if choice.get("usage"):
            self._usage = usage_of(choice["usage"])
        self._finish = choice.get("finish_reason") or self._finish
        if len(self._odds) < MOST_ODDS and choice.get("logprobs"):
            self._odds += odds_of(choice)
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, Mapping):
            return ""
        for entry in entries_of(delta):
            self._calls.feed(entry)
        self._thinking.append(thinking_of(delta))
        for name in self._dialect.keeps:
            if delta.get(name):
                self._kept[name] = joined(self._kept.get(name), delta[name])
        text = said_of(delta)
        self._text.append(text)
        return text

    @property
    def is_finished(self) -> bool:
        """Whether a finish reason has come."""
        return self._finish is not None

    @property
    def is_over(self) -> bool:
        """Never known before the stream's own end: the usage comes after the finish reason."""
        return False

    def finish(self) -> ModelOutput:
        """The whole output. Arguments that broke off count as cut by length, whatever the server says."""
        calls = tuple(renamed(call, self._tools, self._dialect.form) for call in self._calls.calls())
        reason = finish_reason(self._finish, has_calls=bool(calls))
        return ModelOutput(
            text="".join(self._text),
            calls=calls,
            finish_reason="length" if self._finish is None and self._calls.has_open_call else reason,
            usage=self._usage or Usage(requests=1),
            thinking="".join(self._thinking),
            odds=tuple(self._odds),
            opaque=kept(self._kept, self._dialect) if calls else None,
        )
