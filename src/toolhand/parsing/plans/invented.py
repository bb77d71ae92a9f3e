"""Results that a model made up: `find_train(…) -> 11` and then `$11` or `train_no=11`. What it meant is the step's result.

Small models fill the place of a result's name with what they expect to come, and go on with it. The made-up value becomes a name,
and so does each place behind it where the same value stands, unless it was given before the step: then it is a value of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from toolhand.parsing.costs import fix
from toolhand.parsing.plans.lines import Line

_KEPT: Final = re.compile(
    r"""(?<=\))\s*(?:[-—]{1,3}>|→|➜|⟶|=>|⇒)\s*(?P<said>"[^"\n]*"|'[^'\n]*'|[^"'()\[\]{}\n]+)$"""
)
"""What stands behind the arrow at a line's end."""

_NAME: Final = re.compile(r"\$?[^\W\d]\w*(?:[.\[].*)?")
"""A name, also with a part behind it, which is a mistake of its own."""

_WORDY: Final = re.compile(r"\s(?:if|when|unless)\s|如果", re.IGNORECASE)
_PLACE: Final = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\$(?P<marked>\d[\w\-]*)|(?<![$\w{])(?P<bare>\w[\w.:%\-]*)"""
)
"""A value, wherever one may stand: a text, a marked number, a bare word or number."""

_QUESTION: Final = re.compile(
    r"(?P<call>\$?[^\W\d][\w.\-]*\((?:[^()\"'\n]|\"[^\"\n]*\"|'[^'\n]*')*\))\s*(?:contains|includes|==|!=|>=|<=|>|<|包含)\s*[^()\n]+$",
    re.IGNORECASE,
)
"""A call that is compared and nothing more: nothing hangs on the comparison, so the call alone is the step."""


_OURS: Final = re.compile(r"_(?:result_)?\d+(?:_\d+)?(?:\.\w+)*")
"""A name that a result was given here, as a later reply writes it without its mark."""

_LEAST: Final = 3
"""A shorter value that stands again without a mark is more likely a value of its own, such as `days=1`."""


def named(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines with names in the place of made-up results, in one walk over them. A result that nothing uses gets no name."""
    links = _Links()
    walked = [(line, links.walk(line)) for line in lines]
    for line, name in walked:
        if name in links.used:
            line.text += f" -> {name}"
        yield line


class _Links:
    """What a walk knows: made-up values by the names that they got, and what was given before."""

    def __init__(self) -> None:
        self.count = 0
        self.names: dict[str, str] = {}
        self.used: set[str] = set()
        self.given: set[str] = set()

    def walk(self, line: Line) -> str:
        """Mends a line; gives the name for its result, or "" where it is none of these."""
        if asked := _QUESTION.fullmatch(line.text):
            line.text = asked["call"]
            line.fixes.append(fix("idle_comparison"))
        kept = _KEPT.search(line.text)
        said = kept["said"].strip() if kept else ""
        value = said.strip("\"'")
        is_made_up = bool(kept and said) and not _NAME.fullmatch(value) and not _WORDY.search(said)
        line.text = _PLACE.sub(self._linked, line.text[: kept.start()] if kept and is_made_up else line.text)
        if not is_made_up:
            return ""
        line.fixes.append(fix("invented_result", before=value))
        if value in self.given:
            return ""
        self.count += 1
        self.names[value] = f"_result_{self.count}"
        return self.names[value]

    def _linked(self, found: re.Match[str]) -> str:
        """A place as it stands, or the name of the result that it was made up for; what stands is given from then on."""
        if found["bare"] and _OURS.fullmatch(found["bare"]):
            return f"${found['bare']}"
        value = found["marked"] or found["bare"] or found["string"][1:-1]
        name = self.names.get(value)
        if name is not None and (found["marked"] or len(value) >= _LEAST):
            self.used.add(name)
            return f"${name}"
        self.given.add(value)
        return found[0]
