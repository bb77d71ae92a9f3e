"""Which part of a text that is still coming in may be shown: everything before the first thing that may begin a call.

Plain prose is held back by no more than a marker's length. Its decisions depend on the text alone, never on how it was
cut. Fenced blocks are shown once they are closed and hold no call; reasoning is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from toolhand.core.lazily import lazy_pattern
from toolhand.protocols.reading.family import OPENING, Family
from toolhand.protocols.reading.lines import LineJudge
from toolhand.protocols.reading.markers import BRACKET, BRACKET_BEGUN, TAG_BEGUN, marker_at
from toolhand.protocols.reading.openings import holding, interesting
from toolhand.protocols.reading.scan import FENCE_BEHIND
from toolhand.protocols.reading.surroundings import EDGE, WORDS
from toolhand.tools.collection import ToolCollection

_MARK = lazy_pattern(r"[<\[◁]")
_LAST_WORD = lazy_pattern(r"[A-Za-z_]{1,16}\s*[:=]?\s*$")

State = Literal["text", "thinking", "fence", "closed"]
Step = tuple[Literal["pass", "wait", "hold", "think", "drop", "fence"], int]

_BACKTICKS = lazy_pattern(r"`+")
_FENCE_BEGUN = lazy_pattern(r"`*[\w+.#\-]{0,20}[ \t]*\Z")
_LIST_BEGUN = lazy_pattern(r"[\[［]\s*(?:[^\W\d][\w.\-]{0,60}\s*)?$")
_LIST = lazy_pattern(r"[\[［]\s*(?:[{｛]|[^\W\d][\w.\-]{0,60}\s*[(（])")
_TEMPLATE = lazy_pattern(
    r"[\[［【]\s*(?:TOOL_?CALL|TOOL|CALL|FUNCTION|ACTION|工具调用|调用工具|工具|调用)\s*[:：=]", re.IGNORECASE
)
_TEMPLATE_BEGUN = lazy_pattern(r"[\[［【]\s*(?:[A-Za-z_]{0,10}|工具?调?用?|调用?工?具?)\s*$")
_OBJECT = lazy_pattern(r"[{｛]\s*(?:\\?[\"'“‘「『`＂]|[\w\-.]{1,40}\s*(?:=>|[:：=＝])|//|#|/\*|[}｝])")
_OBJECT_BEGUN = lazy_pattern(r"[{｛]\s*(?:[\w\-.]{0,40}\s*=?|\\|/)$")
# Words that belong to the list behind them, as in `functools[…]`.
_PREFIXED = lazy_pattern(r"(?<!\w)(?:functools|tool_calls?|function_calls?)\s*[:=]?\s*$", re.IGNORECASE)
_PREFIX_WORDS = ("functools", "tool_calls", "function_calls")

_ROLE_TOKENS = frozenset(("start", "channel", "startofturn", "imstart", "startheaderid"))
_PIECE = 4096
_FENCE_WINDOW = 80
_HEAD = 24
"""So many characters tell whether a text begins like reasoning whose opening tag stood in the prompt."""

_LIKE_REASONING = lazy_pattern(
    r"\s*(?:(?:okay|ok|alright|hmm+|well|so|right|wait|first|now)\b[,.]?\s*)*"
    r"(?:the user|user (?:wants|asks|is)|we (?:need|have|should|are)|I(?:'m| am)?\s+(?:need|should|think"
    r"|thinking|have|must|could|might|wonder)\b"
    r"|need to|let me think|let's think|thinking|hmm+|maybe|perhaps|they (?:want|ask)"
    r"|(?:好的?[，,]\s*|嗯+[，,]?\s*|首先[，,]?\s*|那么?[，,]?\s*)*(?:用户|先想|我(?:需要|应该|得|先|想)|让我想|思考|需要|可能|或许|也许|要不要|嗯|他想"
    r"|她想|对方))",
    re.IGNORECASE,
)


def begins_like_reasoning(text: str) -> bool:
    """Whether a text opens as a model thinking to itself does, not as an answer."""
    return _LIKE_REASONING.match(text[:_HEAD].lstrip(EDGE)) is not None


def begins_with_call(text: str) -> bool:
    """Whether the gate closes at the text's first character, as far as can be told at a glance."""
    begin = len(text) - len(text.lstrip(EDGE))
    return any(pattern.match(text, begin) for pattern in (_OBJECT, _LIST, _TEMPLATE))


_FENCE_ENDS = {mark: lazy_pattern(rf"\n[ \t>]*{mark}[`~]*[ \t]*\n") for mark in ("```", "~~~")}


class Gate:
    """Lets plain prose through and holds back what may be the beginning of a call.

    Args:
        tools: what may be called.
    """

    def __init__(self, tools: ToolCollection) -> None:
        self.tools = tools
        self.shown_to = 0
        self._lines = LineJudge(tools)
        self._state: State = "text"
        self._pending = ""
        self._before = ""  # the last character that was dropped from it
        self._offset = 0
        self._checked = 0
        self._at_line_start = True
        self._has_head = False
        self._has_shown = False
        self._must_break = False
        self._depth = 0
        self._fence_mark = ""
        self._aside: list[str] = []
        self._window = ""
        self._searched_to = 0
        self._is_blank = True

    def feed(self, chunk: str) -> str:
        """Takes more of the text; gives what may be shown now."""
        if self._state == "closed":
            return ""
        if len(chunk) > _PIECE:
            pieces = (chunk[at : at + _PIECE] for at in range(0, len(chunk), _PIECE))
            return "".join([self.feed(piece) for piece in pieces])
        if self._state == "text" and self._is_blank and not chunk.strip(EDGE):
            self._aside.append(chunk)  # a long run of blanks is looked at once, when it ends
            return ""
        if self._state == "text" and self._aside:
            chunk = "".join([*self._aside, chunk])
            self._aside.clear()
        if self._state == "fence" and not self._fence_goes_on(chunk):
            return ""
        self._pending += chunk
        if not self._has_head:
            head = self._pending.lstrip(EDGE)
            self._is_blank = not head
            if len(head) < _HEAD and not head.startswith("<"):
                return ""
            self._has_head = True
            if begins_like_reasoning(head):
                self._state = "closed"
                return ""
        shown: list[str] = []
        while self._step(shown):
            pass
        self._is_blank = self._state == "text" and not self._pending.strip(EDGE)
        return "".join(shown)

    def _step(self, shown: list[str]) -> bool:
        """Does one piece of work; False when more text is needed."""
        if self._state == "thinking":
            return self._think()
        if self._state == "fence":
            return self._fence()
        if self._state == "closed":
            return False
        go_on = self._prose()
        self._show(shown)
        return go_on

    # ------------------------------------------------------------------ prose
    def _prose(self) -> bool:
        text, point = self._pending, interesting()
        while True:
            if self._at_line_start:
                verdict = self._lines.at(text, self._checked)
                if verdict == "wait":
                    return False
                if verdict == "fence":
                    self._open_fence(text)
                    return True
                if verdict == "hold":
                    self._state = "closed"
                    return False
                self._at_line_start = False
            match = point.search(text, self._checked)
            if match is None:
                self._checked = len(text)
                return False
            self._checked = match.start()
            if match[0] == "\n":
                self._checked += 1
                self._at_line_start = True
                continue
            what, end = self._begins(text, match.start())
            if what == "pass" and (held := holding().get(match[0])):
                what, end = _held(held, text, match.start(), end)
            if what == "wait":
                return False
            if what == "hold":
                self._state = "closed"
                return False
            if what == "fence":
                self._open_fence(text)
                return True
            if what in ("think", "drop"):
                self._after_removed(end, is_thinking=what == "think")
                return True
            self._checked = end

    def _open_fence(self, text: str) -> None:
        self._state = "fence"
        self._fence_mark = text[self._checked :].lstrip(" \t>")[:3]
        self._window = text[self._checked :][-_FENCE_WINDOW:]

    def _after_removed(self, end: int, *, is_thinking: bool) -> None:
        """Leaves out what was not for the user; `_show` has still to give what stands before it."""
        self._removed_to = end
        self._state = "thinking" if is_thinking else "text"
        self._depth = 1

    _removed_to = -1

    def _show(self, shown: list[str]) -> None:
        """Gives what was checked, without blanks at its edges."""
        ready = self._pending[: self._checked]
        if self._state != "closed" and self._removed_to < 0:
            ready = _without_prefix_word(ready, self._before)
        elif (prefixed := _PREFIXED.search(ready)) and (prefixed.start() or not _is_wordy(self._before)):
            ready = ready[: prefixed.start()]
        piece = ready.rstrip(EDGE)
        if not self._has_shown or self._must_break:
            piece = piece.lstrip(EDGE)
        if (
            piece
            and (self._has_shown or WORDS.search(piece))
            and not (self._must_break and not WORDS.search(piece))
        ):
            begin = ready.rstrip(EDGE)
            if self._must_break and self._has_shown:
                shown.append("\n")
            self._must_break = False
            self._has_shown = True
            shown.append(piece)
            self.shown_to = self._offset + len(begin)
            self._drop(len(begin))
        if self._removed_to >= 0:
            self._drop_to_removed()

    def _drop(self, count: int) -> None:
        self._before = self._pending[count - 1 : count] or self._before
        self._pending = self._pending[count:]
        self._offset += count
        self._checked = max(0, self._checked - count)
        if self._removed_to >= 0:
            self._removed_to -= count

    def _drop_to_removed(self) -> None:
        count, self._removed_to = self._removed_to, -1
        self._drop(count)
        self._checked = 0
        self._must_break = self._has_shown

    def _begins(self, text: str, pos: int) -> Step:
        """What the character at a position begins, as far as can be seen."""
        char = text[pos]
        if char == "◁":
            if "▷" not in text[pos : pos + 24]:
                return ("wait", pos) if len(text) - pos < 24 else ("pass", pos + 1)
            return self._marked(text, pos)
        if char == "<":
            return self._tag(text, pos)
        if char == "`":
            if _FENCE_BEGUN.match(text, pos):
                return "wait", pos
            marks = _BACKTICKS.match(text, pos)
            return (
                ("fence", pos) if FENCE_BEHIND.match(text, pos) else ("pass", marks.end() if marks else pos)
            )
        if char in "{｛":
            if _OBJECT.match(text, pos):
                return "hold", pos
            return ("wait", pos) if _OBJECT_BEGUN.match(text, pos) else ("pass", pos + 1)
        if _TEMPLATE.match(text, pos):
            return "hold", pos
        if char in "[［":
            if _LIST.match(text, pos):
                return "hold", pos
            if char == "[" and BRACKET.match(text, pos):
                return self._marked(text, pos)
            if _LIST_BEGUN.match(text, pos) or BRACKET_BEGUN.match(text, pos):
                return "wait", pos
        return ("wait", pos) if _TEMPLATE_BEGUN.match(text, pos) else ("pass", pos + 1)

    def _tag(self, text: str, pos: int) -> Step:
        following = text[pos + 1 : pos + 2]
        if following and not (following in "|｜/_" or following.isalpha()):
            return "pass", pos + 1
        if text.startswith("\n", pos + 1) or TAG_BEGUN.match(text, pos):
            return "wait", pos
        return self._marked(text, pos)

    def _marked(self, text: str, pos: int) -> Step:
        found = marker_at(text, pos)
        if found is None:
            return "pass", pos + 1
        marker, end = found
        if marker.kind == "think" and not self.tools.get(marker.tag):
            last = text[pos - 1] if pos else self._before
            is_quoted = last != "" and last in "`\"'“‘「『《"
            return ("hold", pos) if is_quoted else ("think", end)
        if marker.kind == "noise":
            is_first = not self._has_shown and not text[:pos].strip(EDGE) and marker.tag not in _ROLE_TOKENS
            return ("drop", end) if is_first else ("hold", pos) if text[pos] == "<" else ("pass", end)
        if marker.kind in ("element", "element_end"):
            return ("hold", pos) if self.tools.lookup(marker.name) is not None else ("pass", end)
        if marker.kind in ("parameter", "parameter_end"):
            return "pass", end
        return "hold", pos

    # ------------------------------------------------------------------ reasoning and fences
    def _think(self) -> bool:
        text = self._pending
        while True:
            found = _MARK.search(text, self._checked)
            if found is None:
                self._drop(len(text))
                self._checked = 0
                return False
            pos = found.start()
            self._checked = pos
            tag = marker_at(text, pos)
            if tag is None:
                if (
                    (text[pos] == "◁" and len(text) - pos < 24)
                    or TAG_BEGUN.match(text, pos)
                    or BRACKET_BEGUN.match(text, pos)
                ):
                    return False
                self._checked = pos + 1
                continue
            self._checked = tag[1]
            self._depth += {"think": 1, "think_end": -1}.get(tag[0].kind, 0)
            if self._depth == 0:
                self._drop(tag[1])
                self._checked = 0
                self._state = "text"
                self._at_line_start = True
                self._must_break = self._has_shown
                return True

    def _fence_goes_on(self, chunk: str) -> bool:
        """Puts a piece of a fenced block aside; True when the block may be complete with the next."""
        self._aside.append(chunk)
        window = self._window + chunk
        self._window = window[-_FENCE_WINDOW:]
        if "\n" not in chunk or self._fence_mark not in window:
            return False
        self._pending += "".join(self._aside[:-1])
        self._aside.clear()
        return True

    def _fence(self) -> bool:
        """Waits for the end of a fenced block and passes it when no call stands in it."""
        text = self._pending
        close = _FENCE_ENDS[self._fence_mark].search(text, max(self._checked, self._searched_to))
        if close is None:
            self._searched_to = len(text) - _FENCE_WINDOW
            return False
        self._searched_to = 0
        if self._lines.holds_call(text[self._checked : close.end()]):
            self._state = "closed"
            return False
        self._state = "text"
        self._checked = close.end()
        self._at_line_start = True
        return True


def _held(families: Sequence[Family], text: str, pos: int, end: int) -> Step:
    """Whether an opening that alone holds text back stands at a position; `end` is where to go on where none does."""
    if len(text) - pos < OPENING:
        return "wait", pos
    is_opening = any(family.opening.match(text, pos, pos + OPENING) for family in families)
    return ("hold", pos) if is_opening else ("pass", end)


def _without_prefix_word(text: str, before: str) -> str:
    """The text without a last word that may belong to the list behind it; `before` is the character in front of it."""
    match = _LAST_WORD.search(text, max(0, len(text) - 24))
    if match and any(word.startswith(match[0].rstrip(" \t\n:=").lower()) for word in _PREFIX_WORDS):
        begin = match.start()
        last = text[begin - 1] if begin else before
        if not _is_wordy(last):
            return text[:begin]
    return text


def _is_wordy(char: str) -> bool:
    return char.isalnum() or char == "_"
