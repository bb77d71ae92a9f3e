"""Puts a history in order: every call with exactly one result right behind it, every id once, one system message at the start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.history_events import Repair
from toolhand.core.language import Language, language_of
from toolhand.core.messages import Message, Part, ToolCall, ToolResult, system
from toolhand.sessions.healing.pairing import Asking, Open, Pairing
from toolhand.sessions.healing.reading import read_history

WORDS: Final[Mapping[Language, str]] = {
    "en": "The result of this call is not in the history: it may or may not have run.",
    "zh": "历史记录中没有这次调用的结果：它可能已经执行，也可能没有。",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Healed:
    """A history that can be sent.

    Args:
        messages: the messages; those that were right are the same objects.
        repairs: what was mended, in the order of the places.
    """

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...] = ()


def heal(given: Iterable[Any], *, keeps_pending: bool = False, language: Language | None = None) -> Healed:
    """Reads a history in any shape and mends what can be mended in one way only. Linear in its length.

    Orphan results are dropped, missing results filled in as unknown, repeated and missing ids replaced, results moved behind
    their calls, unreadable arguments replaced, system messages joined at the start.

    Args:
        given: `Message`s, or dicts in OpenAI's or Anthropic's shape.
        keeps_pending: whether calls of the last reply may stay without a result, as they wait for somebody.
        language: of the words in a result that is filled in; by default that of the history.

    Raises:
        HistoryError: when a result could belong to several calls, or something is no message.
    """
    messages, places, repairs = read_history(given)
    if language is None:
        language = language_of(next((m.text for m in reversed(messages) if m.role == "user" and m.text), ""))
    mending = _Mending(messages, places, repairs, language)
    healed = mending.ordered(keeps_pending=keeps_pending)
    return Healed(messages=tuple(healed), repairs=tuple(sorted(repairs, key=lambda repair: repair.place)))


class _Mending:
    def __init__(
        self, messages: Sequence[Message], places: Sequence[int], repairs: list[Repair], language: Language
    ) -> None:
        self._messages, self._places, self._repairs = messages, places, repairs
        self._language = language
        self._taken = {part.id for message in messages for part in message.calls}
        self._number = 0
        self._done: set[int] = set()

    def ordered(self, *, keeps_pending: bool) -> list[Message]:
        """Everything in order."""
        askings = self._askings()
        self._pair(askings)
        ids = self._unique_ids(askings)
        last = max((i for i, m in enumerate(self._messages) if m.role not in ("tool", "system")), default=-1)
        out = self._system()
        for number, message in enumerate(self._messages):
            asking = askings.get(number)
            if asking is not None:
                out += self._exchange(number, asking, ids, may_wait=keeps_pending and number == last)
            elif message.results or message.role == "tool":
                rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
                if rest and number not in self._done:
                    out.append(Message(role="user" if message.role == "tool" else message.role, parts=rest))
            elif message.role != "system":
                out.append(message)
        return out

    def _note(self, kind: str, place: int, call_id: str = "") -> None:
        self._repairs.append(Repair(kind=kind, place=place, call_id=call_id))

    def _system(self) -> list[Message]:
        """One system message, at the start."""
        found = [(n, m) for n, m in enumerate(self._messages) if m.role == "system"]
        if not found or (len(found) == 1 and found[0][0] == 0):
            return [message for _, message in found]
        for number, _ in found[0 if found[0][0] else 1 :]:
            self._note("system_joined", self._places[number])
        return [system("\n\n".join(dict.fromkeys(message.text for _, message in found if message.text)))]

    def _askings(self) -> dict[int, Asking]:
        """The replies with calls, by their number; calls anywhere else count as a reply's."""
        return {
            number: Asking([Open(call, self._places[number]) for call in message.calls])
            for number, message in enumerate(self._messages)
            if message.calls
        }

    def _pair(self, askings: Mapping[int, Asking]) -> None:
        pairing = Pairing(list(askings.values()), self._repairs)
        behind = -1
        for number, message in enumerate(self._messages):
            if number in askings:
                behind += 1
            for result in message.results:
                pairing.add(result, self._places[number], behind)
        pairing.finish()

    def _unique_ids(self, askings: Mapping[int, Asking]) -> dict[Open, str]:
        """An id for each call that no other has."""
        ids: dict[Open, str] = {}
        seen: set[str] = set()
        for asking in askings.values():
            for opened in asking.calls:
                call_id = opened.call.id
                if not call_id or call_id in seen:
                    self._note("id_replaced" if call_id else "id_made", opened.place, call_id)
                    call_id = self._new_id()
                seen.add(call_id)
                ids[opened] = call_id
        return ids

    def _new_id(self) -> str:
        while True:
            self._number += 1
            made = f"call_{self._number}"
            if made not in self._taken:
                self._taken.add(made)
                return made

    def _exchange(
        self, number: int, asking: Asking, ids: Mapping[Open, str], *, may_wait: bool
    ) -> list[Message]:
        """A reply and the results of its calls: the very messages where there is nothing to mend."""
        message, block = self._messages[number], self._block(number)
        behind = [id(result) for other in block for result in other.results]
        here = set(behind)
        is_plain = message.role == "assistant" and not message.results and len(behind) == len(here)
        if is_plain and _is_right(asking, ids, here):
            self._done.update(range(number + 1, number + 1 + len(block)))
            names = {opened.call.id: opened.call.name for opened in asking.calls}
            return [message, *(_named(other, names) for other in block)]
        parts: list[Part] = []
        results: list[ToolResult] = []
        calls = iter(asking.calls)
        for part in message.parts:
            if isinstance(part, ToolCall):
                opened = next(calls)
                name = part.name or (opened.result.name if opened.result is not None else "")
                if not name:
                    self._note("nameless_call_dropped", opened.place, part.id)
                    continue
                parts.append(replace(part, id=ids[opened], name=name))
                results += self._results(opened, ids[opened], name, here, may_wait=may_wait)
            elif not isinstance(part, ToolResult):
                parts.append(part)
        spoken = [Message(role="assistant", parts=tuple(parts))] if parts else []
        return [*spoken, *([Message(role="tool", parts=tuple(results))] if results else [])]

    def _block(self, number: int) -> list[Message]:
        """The messages with results right behind a reply."""
        end = number + 1
        while end < len(self._messages) and self._messages[end].role == "tool":
            end += 1
        return list(self._messages[number + 1 : end])

    def _results(
        self, opened: Open, call_id: str, name: str, here: set[int], *, may_wait: bool
    ) -> list[ToolResult]:
        """A call's one result; none where it may still wait for it."""
        result = opened.result
        if result is None and may_wait:
            return []
        if result is None:
            self._note("missing_result_filled", opened.place, call_id)
            error = ToolError(code=ErrorCode.OUTCOME_UNKNOWN, message=WORDS[self._language])
            return [ToolResult(call_id=call_id, name=name, outcome=error)]
        if id(result) not in here:
            self._note("result_moved", opened.result_place, call_id)
        elif result.call_id != call_id and opened.call.id == call_id:
            self._note("result_paired", opened.result_place, call_id)
        return [replace(result, call_id=call_id, name=result.name or name)]


def _is_right(asking: Asking, ids: Mapping[Open, str], here: set[int]) -> bool:
    """Whether each call has an id of its own, a name, and its result among those that are there, which are no others."""
    return len(here) == len(asking.calls) and all(
        opened.call.name
        and opened.result is not None
        and id(opened.result) in here
        and opened.call.id == ids[opened] == opened.result.call_id
        for opened in asking.calls
    )


def _named(message: Message, names: Mapping[str, str]) -> Message:
    """Results with their tools' names, which OpenAI's shape leaves out."""
    if all(result.name for result in message.results):
        return message
    parts = tuple(
        replace(part, name=names[part.call_id]) if isinstance(part, ToolResult) and not part.name else part
        for part in message.parts
    )
    return replace(message, parts=parts)
