"""One walk over the text, from left to right: thinking, fences, markers, and the families' candidates.

What a family has read is passed over whole, so that a marker, a fence or a thinking tag inside a value is data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from toolhand.parsing.loose import Loose, LooseError, read_value
from toolhand.parsing.pythonic import PythonCall, read_arguments
from toolhand.protocols.reading import openings
from toolhand.protocols.reading.asked import STOPS, Candidate, Fence, Scanned
from toolhand.protocols.reading.envelopes import Envelopes
from toolhand.protocols.reading.failures import Failure, syntax_problem
from toolhand.protocols.reading.family import Family
from toolhand.protocols.reading.markers import Marker, marker_at
from toolhand.tools.collection import ToolCollection

FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*([\w+.#\-]*)[^\n`]*(?:\n|$)")
_INLINE_CODE = re.compile(r"(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
# A block that begins behind words on their line, "Here it is: ```json": nothing but its language stands behind the marks.
FENCE_BEHIND = re.compile(r"(`{3,})([\w+.#\-]{0,20})[ \t]*\n")
_FENCE_END = re.compile(r"\n[ \t>]*`{3,}[ \t]*(?:\n|\Z)")
_ROLE_WORD = re.compile(r"[ \t]*(?:assistant|model)\b[ \t]*(?=\n|<|$)")
# What no family's line begins with.
_NO_LINE = frozenset("{}[](),;\"'“‘<\n")
_BACKTICKS = re.compile("`+")
_LINE_WINDOW = 320
"""A line is looked at for so many characters to either side."""
_HAS_WORDS = re.compile(r"[^\W\d_]")
# Where an attempt to read a value costs more than it can bring: so many failures are no accident of spelling.
_MAX_FAILURES = 200

THINK_TAGS = re.compile(r"<[^<>\n]{1,40}>|\[/?[A-Z ]{5,24}\]|[◁][^◁▷\n]{1,20}[▷]")


@lru_cache(maxsize=4096)
def _kind_of(tag: str) -> str:
    """What a whole tag is, or ""."""
    found = marker_at(tag, 0)
    return found[0].kind if found is not None and found[1] == len(tag) else ""


class Scan:
    """The walk over one text.

    Args:
        text: what the model wrote.
        tools: what it may call.
        shown_to: where the part of the text ends that was shown to the user as it streamed in.
    """

    def __init__(self, text: str, tools: ToolCollection, shown_to: Callable[[], int] = lambda: 0) -> None:
        self._shown_to = shown_to
        self.text = text
        self.tools = tools
        self.envelopes = Envelopes(tools)
        self.found = Scanned()
        self.failures = 0
        self.failed: LooseError | None = None
        self.failed_at = -1
        self.start = 0
        self.open_fence: Fence | None = None
        self._work = 0
        # Whether so much work brought nothing that no further value is tried.
        self.is_spent = False
        self._has_no_think_end = self._has_no_fence_end = False
        self.lines_tried_to = 0
        self._words_to = 0
        self._last_word = self._next_word = -1

    # ------------------------------------------------------------------ for the families
    def read_value(self, position: int) -> Loose:
        """The value that begins there.

        Raises:
            LooseError: when there is none, or when the text failed to be a value too often.
        """
        self._spend(position)
        try:
            loose = read_value(self.text, position, stops=STOPS)
        except LooseError as problem:
            self._failed(problem, position)
            raise
        if not loose.is_complete:
            self._cost(loose.end - position)
        return loose

    def read_arguments(self, position: int) -> PythonCall:
        """The arguments of a call in Python's syntax, from behind its opening bracket.

        Raises:
            LooseError: when there are none, or when the text failed to be a value too often.
        """
        self._spend(position)
        try:
            call = read_arguments(self.text, position, STOPS)
        except LooseError as problem:
            self._failed(problem, position)
            raise
        if not call.is_closed:
            self._cost(call.end - position)
        return call

    def _spend(self, position: int) -> None:
        if self.is_spent:
            raise LooseError("a value was expected", position)

    def _failed(self, problem: LooseError, position: int) -> None:
        self._cost(problem.reached - position)
        self.failed, self.failed_at = problem, position

    def _cost(self, characters: int) -> None:
        """Counts an attempt that brought nothing or only part of a value."""
        self.failures += 1
        self._work += characters
        self.is_spent = self.failures > _MAX_FAILURES or self._work > 3 * len(self.text) + 65536

    def value_at(self, position: int) -> Loose | None:
        """The value that begins there, or None."""
        try:
            return self.read_value(position)
        except LooseError:
            return None

    def failure_at(self, start: int) -> Failure | None:
        """What was wrong with the value that began at `start`."""
        return None if self.failed is None else syntax_problem(self.failed, self.text[start:], start)

    def is_quoted(self, position: int) -> bool:
        """Whether what begins there stands in backticks or directly behind a quotation mark."""
        return position > 0 and self.text[position - 1] in "`\"'“‘「『《"

    # ------------------------------------------------------------------ the walk
    def run(self) -> Scanned:
        """Walks over the whole text."""
        text = self.text
        point, table = openings.table()
        pos = self._line(0, table)
        while True:
            if self.is_spent:
                point = openings.markers_only()
            match = point.search(text, pos)
            if match is None:
                break
            start = match.start()
            char = text[start]
            if char == "\n":
                pos = self._line(start + 1, table)
            elif char == "`":
                pos = self._inline_code(start)
            else:
                pos = self._at(start, char, table)
        self._finish_fences()
        return self.found

    def _line(self, start: int, table: dict[str, tuple[Family, ...]]) -> int:
        """Looks at the beginning of a line; gives where to go on."""
        text = self.text
        if "`" in text[start : start + 12] or "~~~" in text[start : start + 12]:
            fence = FENCE.match(text, start)
            if fence:
                return self._fence(fence)
        if self.is_spent:
            return start
        first = text[start : start + 1]
        asked = table.get("\n", ())
        if first in _NO_LINE or (first == " " and text[start : start + 40].lstrip()[:1] in _NO_LINE):
            asked = openings.holding().get("\n", ())
        for family in asked:
            match = family.opening.match(text, start)
            if match and (candidate := family.read(self, match)):
                return self._take(candidate, family)
        return start

    def _at(self, start: int, char: str, table: dict[str, tuple[Family, ...]]) -> int:
        text, asked, after = self.text, table.get(char, ()), start + 1
        if char in ("<", "[", "◁"):
            found = marker_at(text, start)
            if found is None and char == "<":
                asked = openings.holding().get(char, ())
            if found:
                marker, end = found
                if marker.kind in ("element", "element_end") and self.tools.lookup(marker.name) is None:
                    asked, after = openings.holding().get(char, ()), end
                if marker.kind in ("think", "think_end") and not self.tools.get(marker.tag or ""):
                    return self._thinking(start, end, marker)
                if marker.kind == "result" and self.found.candidates and not self.is_quoted(start):
                    return self._drop_rest(self.found.candidates[-1])
                if marker.kind == "noise":
                    role = _ROLE_WORD.match(text, end)
                    self.found.noise.append((start, role.end() if role and "start" in marker.tag else end))
        for family in asked:
            match = family.opening.match(text, start)
            if match and (candidate := family.read(self, match)):
                return self._take(candidate, family)
        return after

    def _inline_code(self, start: int) -> int:
        """Passes over inline code in a line that has words of its own: it is talked about."""
        text = self.text
        code = _INLINE_CODE.match(text, start, start + _LINE_WINDOW)
        if code is None:
            behind = FENCE_BEHIND.match(text, start)
            if behind and self.open_fence is None and self._is_closed_behind(behind.end() - 1):
                return self._fence(behind)
            return _BACKTICKS.match(text, start).end()  # type: ignore[union-attr]
        begin = text.rfind("\n", max(0, start - _LINE_WINDOW), start) + 1 or max(0, start - _LINE_WINDOW)
        if self._word_before(begin, start):
            return code.end()
        stop = text.find("\n", code.end(), code.end() + _LINE_WINDOW)
        stop = stop if stop >= 0 else code.end() + _LINE_WINDOW
        if self._word_behind(code.end()) < stop:
            return code.end()
        return _BACKTICKS.match(text, start).end()  # type: ignore[union-attr]

    def _is_closed_behind(self, position: int) -> bool:
        """Whether a line that closes a fence stands behind a position. Where none does, none is looked for again."""
        if not self._has_no_fence_end:
            self._has_no_fence_end = _FENCE_END.search(self.text, position) is None
        return not self._has_no_fence_end

    def _word_before(self, begin: int, start: int) -> bool:
        """Whether a word stands between two positions; every character is looked at once in a walk."""
        low = max(begin, self._words_to)
        match = _HAS_WORDS.search(self.text, low, start)
        if match:
            self._last_word = match.start()
        self._words_to = start
        return self._last_word >= begin

    def _word_behind(self, position: int) -> int:
        """Where the next word begins."""
        if self._next_word < position:
            match = _HAS_WORDS.search(self.text, position)
            self._next_word = match.start() if match else len(self.text)
        return self._next_word

    def _take(self, candidate: Candidate, family: Family) -> int:
        candidate.family = family.name
        if candidate.asked or candidate.answer is not None or candidate.introduction != "bare":
            if self.open_fence is not None:
                candidate.fence = len(self.found.fences) - 1
            self.found.candidates.append(candidate)
        if candidate.drops_rest:
            return self._drop_rest(candidate)
        # A line break that ends a candidate also begins the next line.
        end = max(candidate.end, candidate.start + 1)
        return end - 1 if self.text[end - 1] == "\n" else end

    def _drop_rest(self, candidate: Candidate) -> int:
        """What follows was made up, to the end of the text or of the fence that the candidate stands in."""
        stop = len(self.text)
        if self.open_fence is not None:
            close = self.text.find("\n" + self.open_fence.mark, candidate.end)
            stop = close if close >= 0 else stop
        candidate.rest_end = stop
        return stop

    # ------------------------------------------------------------------ fences
    def _fence(self, match: re.Match[str]) -> int:
        opened = self.open_fence
        if opened is not None:
            if match[1].startswith(opened.mark) and not match[2]:
                self._close(match.start(), match.end(), is_closed=True)
                return max(match.end() - 1, match.start() + 1)
            return match.end(1)
        self.open_fence = Fence(match.start(), match.end(), match[2].lower(), match[1])
        self.found.fences.append(self.open_fence)
        return max(match.end() - 1, match.start() + 1)

    def _close(self, inside_end: int, end: int, *, is_closed: bool) -> None:
        fence = self.open_fence
        if fence is not None:
            fence.inside_end, fence.end, fence.is_closed = max(inside_end, fence.inside), end, is_closed
            self.open_fence = None

    def _finish_fences(self) -> None:
        if self.open_fence is not None:
            self._close(len(self.text), len(self.text), is_closed=False)

    # ------------------------------------------------------------------ thinking
    def _thinking(self, start: int, end: int, marker: Marker) -> int:
        text = self.text
        is_mentioned = self.is_quoted(start) or (self.open_fence is not None and not marker.is_token)
        if marker.kind == "think_end":
            if is_mentioned:
                return end
            begin = max(self.start, self._shown_to()) if text[self.start : start].strip() else self.start
            if begin > start:
                return end
            self.found.thoughts.append((begin, end))
            self._forget_before(end)
            return end
        close = -1 if self._has_no_think_end else self._thinking_end(end)
        self._has_no_think_end = close < 0
        if close < 0:
            before = text[self.start : start].rstrip(" \t")
            if is_mentioned or (before and before[-1] not in "\n>。！？.!?…~" and not marker.is_token):
                return end  # the word "<think>" in a sentence
            close = len(text)
        elif is_mentioned:
            return close
        self.found.thoughts.append((start, close))
        return close

    def _thinking_end(self, position: int) -> int:
        """Where a thinking block that was opened before `position` is closed, blocks inside it counted; or -1.

        Where openings and closings do not match, the last closing tag counts.
        """
        depth, last = 1, -1
        for match in THINK_TAGS.finditer(self.text, position):
            kind = _kind_of(match[0])
            if kind == "think":
                depth += 1
            elif kind == "think_end":
                depth -= 1
                last = match.end()
                if depth == 0:
                    return last
        return last

    def _forget_before(self, end: int) -> None:
        """A lone closing tag: everything before it was thinking."""
        self.found.candidates.clear()
        self.found.fences.clear()
        self.found.noise.clear()
        self.found.labelled.clear()
        self.open_fence = None
        self.start = end
