"""What of a call may be kept: masked as results are, and no longer than a line of a log can bear.

Kinds that a tool may show the model (`Rules.reveals`) are masked here all the same: a log has other readers.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolhand.core.events import ReadingMended
from toolhand.core.jsonable import jsonable
from toolhand.core.lazily import lazy_pattern
from toolhand.core.tools import Tool
from toolhand.policies.redaction import redacted
from toolhand.policies.redaction.echoes import close_names, echoes_of, sensitive_names, stray_names

_MARGIN: Final = 8192
"""A text is cut so far behind what is kept that no secret is cut in two where it shows."""

TITLE: Final = 80
"""Characters that a session's title has at most."""

_HALF: Final = lazy_pattern(r"[\x21-\x7e]{1,80}$")
_MOST_DEPTH: Final = 20
_NAME: Final = lazy_pattern(r"([^\W\d][\w\-]{1,39}+)[\"'`”’\\]{0,2}\s{0,3}[:=：＝>]")
"""What stands where a name does, in any of the ways to write arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpts:
    """Makes excerpts of what belongs to one call.

    Args:
        sensitive: declared names, whose values nobody may see.
        echoes: the values that were sent under these names; they are masked wherever they stand.
    """

    sensitive: frozenset[str] = frozenset()
    echoes: tuple[str, ...] = ()

    @classmethod
    def of(cls, tool: Tool | None, arguments: Any = None) -> Excerpts:
        """For a call of a tool, with the arguments that were sent; None for a tool that there is not."""
        if tool is None or not tool.rules.sensitive:
            return PLAIN
        names = sensitive_names(tool) | stray_names(arguments, tool)
        return cls(sensitive=names, echoes=echoes_of(arguments, names))

    @classmethod
    def of_all(cls, tools: Iterable[Tool]) -> Excerpts:
        """For a text that may be about any of these tools."""
        names = frozenset(name for tool in tools for name in sensitive_names(tool))
        return cls(sensitive=names) if names else PLAIN

    @classmethod
    def of_reading(cls, event: ReadingMended) -> Excerpts:
        """For a reply that was read with liberties: a sensitive name may be misspelt in it, or not be the tool's at all."""
        plain = cls.of_all(event.tools)
        if plain is PLAIN:
            return plain
        tools = {tool.name: tool for tool in event.tools}
        sent: list[Any] = [*event.raw_calls, *event.calls]
        strays = (stray_names(call.arguments, tools[call.name]) for call in sent if call.name in tools)
        written = [event.raw, *(call.arguments for call in sent if isinstance(call.arguments, str))]
        spelled = (name for text in written for name in _NAME.findall(text))
        names = plain.sensitive.union(*strays) | close_names(spelled, plain.sensitive)
        return cls(sensitive=names, echoes=echoes_of([call.arguments for call in sent], names))

    def joined(self, other: Excerpts) -> Excerpts:
        """What neither of the two may show."""
        if self == other:
            return self
        return Excerpts(
            sensitive=self.sensitive | other.sensitive, echoes=tuple({*self.echoes, *other.echoes})
        )

    def text(self, text: str, most: int) -> str:
        """A text, masked and cut.

        Args:
            text: the text.
            most: characters to keep; a mark behind them says how many are missing.
        """
        head = jsonable(text[: 4 * most + _MARGIN])
        kept = str(redacted(head, sensitive=self.sensitive, echoes=self.echoes))
        if len(head) < len(text):
            kept = kept[: max(0, len(kept) - _MARGIN)]
        elif len(kept) <= most:
            return kept
        return f"{kept[:most]}… ({len(text) - min(most, len(kept))} more characters)"

    def beginning(self, text: str) -> str:
        """A text of which only the beginning was kept, such as a title. It may end in half a secret: such an end goes."""
        return self.text(_HALF.sub("", text) if len(text) >= TITLE else text, TITLE)

    def value(self, value: Any, most: int) -> Any:
        """A value in JSON's types, masked, with as many of its items as fit.

        Args:
            value: anything.
            most: about how many characters it may have as JSON.
        """
        left = [4 * most + _MARGIN]
        masked = redacted(_within(value, left, 0), sensitive=self.sensitive, echoes=self.echoes)
        return masked if left[0] >= 3 * most + _MARGIN else _cut(masked, most)  # a small one is whole already

    def json(self, value: Any, most: int) -> str:
        """The same as JSON text."""
        return json.dumps(self.value(value, most), ensure_ascii=False, default=str)

    def named(self, name: str, value: Any, most: int) -> str:
        """A value as text (JSON, unless it is one), masked also for what its own name says."""
        shown = next(iter(self.value({name: value}, most).values()))
        return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, default=str)

    def exception(self, error: BaseException, most: int) -> str:
        """An exception's text without its type."""
        try:
            return self.text(str(error), most)
        except Exception:  # noqa: BLE001 - an exception's own text may do anything
            return "(its text cannot be had)"

    def traceback(self, error: BaseException, most: int) -> str:
        """An exception's traceback with all that caused it, masked; of a long one the end is kept, which says most."""
        try:
            text = "".join(traceback.TracebackException.from_exception(error, compact=True).format())
        except Exception:  # noqa: BLE001 - as above
            text = type(error).__name__
        masked = str(
            redacted(text[-(4 * most + _MARGIN) :], sensitive=self.sensitive, echoes=self.echoes)
        ).rstrip()
        return masked if len(masked) <= most else f"…{masked[-most:]}"


PLAIN: Final = Excerpts()
"""For what belongs to no tool with sensitive names."""


def _cut(value: Any, most: int) -> Any:
    """A value in JSON's types with about so many characters, cut between items; small ones come back themselves."""
    left = [most]
    return _within(value, left, 0)


def _within(value: Any, left: list[int], depth: int) -> Any:
    if isinstance(value, str):
        kept = jsonable(value[: max(left[0], 0)])
        left[0] -= len(kept) + 2
        return kept if len(kept) == len(value) else f"{kept}… ({len(value) - len(kept)} more characters)"
    if value is None or isinstance(value, int | float):
        left[0] -= 8
        return jsonable(value)
    if depth > _MOST_DEPTH:
        return "(nested too deeply)"
    if isinstance(value, Mapping):
        fields: dict[str, Any] = {}
        for key, inner in value.items():
            if left[0] <= 0:
                fields["…"] = f"{len(value) - len(fields)} more fields"
                break
            name = str(_within(str(key), left, depth + 1))
            fields[name] = _within(inner, left, depth + 1)
        return fields
    if isinstance(value, list | tuple):
        items: list[Any] = []
        for inner in value:
            if left[0] <= 0:
                items.append(f"… ({len(value) - len(items)} more items)")
                break
            items.append(_within(inner, left, depth + 1))
        return items
    return _within(jsonable(value), left, depth + 1)
