"""The text around the candidates: the prose to judge them by, the fences they stand in, and what is left to say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from toolhand.protocols.reading.asked import Candidate, Scanned
from toolhand.protocols.reading.markers import marker_at
from toolhand.protocols.reading.spans import Holes, Span, inside

EDGE = " \t\r\n\ufeff\u200b\u00a0"
WORDS = re.compile(r"[^\W\d_]")

_COMMENT = re.compile(r"(?:#|//|--|<!--)[^\n]*")
_SEPARATORS = re.compile(r"[\s;,，；、`|*•}\]\"']*")
_NOTHING = re.compile(r"[\s;,，；\ufeff\u200b]*")


@dataclass(slots=True)
class Setting:
    """The prose around the candidates, with what is asked of it more than once worked out.

    Args:
        text: the whole text.
        gaps: the stretches of prose, one before each candidate and one behind the last.
        has_words_in: for each of them, whether there are words in it.
        lead: for each candidate, the gap that holds the last words before it.
        tail: for each candidate, the gap that holds the next words behind it.
        behind: for each candidate, how many characters of prose stand behind it.
        has_words: whether there is any prose at all.
        has_words_between: whether there is prose between two candidates.
        ending: the last words of the text.
    """

    text: str
    gaps: list[str]
    has_words_in: list[bool] = field(default_factory=list)
    lead: list[int] = field(default_factory=list)
    tail: list[int] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)
    has_words: bool = False
    has_words_between: bool = False
    ending: str = ""

    def __post_init__(self) -> None:
        self.has_words_in = [WORDS.search(gap) is not None for gap in self.gaps]
        self.has_words = any(self.has_words_in)
        self.has_words_between = any(self.has_words_in[1:-1])
        self.ending = next((gap for gap in reversed(self.gaps) if gap.strip()), "").rstrip()[-80:]
        count = len(self.gaps) - 1
        last = 0
        for index in range(count):
            last = index if self.has_words_in[index] else last
            self.lead.append(last)
        self.tail, self.behind = [count] * count, [0] * count
        following, length = count, len(self.gaps[-1].strip()) if self.has_words_in[-1] else 0
        for index in range(count - 1, -1, -1):
            self.tail[index], self.behind[index] = following, length
            if self.has_words_in[index]:
                following, length = index, length + len(self.gaps[index].strip())


def setting_of(text: str, scanned: Scanned, extents: Sequence[Span]) -> Setting:
    """The prose, without candidates, thoughts, tokens and the contents of other fences."""
    with_candidates = {candidate.fence for candidate in scanned.candidates}
    code = [
        (fence.inside, fence.inside_end)
        for index, fence in enumerate(scanned.fences)
        if index not in with_candidates
    ]
    holes = Holes(code, " [code] ", [*scanned.thoughts, *scanned.noise])
    gaps: list[str] = []
    pos = 0
    for (start, end), candidate in zip(extents, scanned.candidates, strict=True):
        gaps.append(holes.without(text, pos, start))
        pos = max(pos, end, candidate.rest_end)
    gaps.append(holes.without(text, pos, len(text)))
    return Setting(text, gaps)


def stands_alone(text: str, scanned: Scanned) -> bool:
    """Whether nothing but separators stands around the candidates."""
    pos = 0
    for candidate in scanned.candidates:
        if candidate.rest_end >= 0 or not _NOTHING.fullmatch(text, pos, candidate.start):
            return False
        pos = candidate.end
    return _NOTHING.fullmatch(text, pos) is not None


def by_fence(scanned: Scanned) -> dict[int, list[Candidate]]:
    """The candidates of each fence that has some."""
    found: dict[int, list[Candidate]] = {}
    for candidate in scanned.candidates:
        if candidate.fence >= 0:
            found.setdefault(candidate.fence, []).append(candidate)
    return found


def sole_contents(text: str, scanned: Scanned) -> set[int]:
    """The fences that hold candidates, and nothing else but comments and thoughts."""
    found: set[int] = set()
    thoughts = Holes([*scanned.thoughts, *scanned.labelled])
    for index, candidates in by_fence(scanned).items():
        fence = scanned.fences[index]
        rest: list[str] = []
        pos = fence.inside
        for candidate in candidates:
            rest.append(thoughts.without(text, pos, candidate.start))
            pos = max(pos, candidate.end, min(candidate.rest_end, fence.inside_end))
        rest.append(thoughts.without(text, pos, fence.inside_end))
        if not _COMMENT.sub("", "".join(rest)).strip(" \t\n;,`{}"):
            found.add(index)
    return found


def extents_of(scanned: Scanned, sole: set[int]) -> list[Span]:
    """Where each candidate begins and ends, with the fence that holds nothing else."""
    grouped = by_fence(scanned)
    extents: list[Span] = []
    for candidate in scanned.candidates:
        start, end = candidate.start, candidate.end
        if candidate.fence in sole:
            fence, group = scanned.fences[candidate.fence], grouped[candidate.fence]
            start = fence.start if candidate is group[0] else start
            end = max(fence.end, end) if candidate is group[-1] else end
        extents.append((start, end))
    return extents


def own_thoughts(scanned: Scanned, meant: set[int]) -> list[Span]:
    """The reasoning that is the model's own, and not a line in a block that it shows."""
    shown = [
        (fence.inside, fence.inside_end) for index, fence in enumerate(scanned.fences) if index not in meant
    ]
    if not shown:
        return scanned.thoughts
    quoted = set(inside(scanned.thoughts, shown))
    return [span for span in scanned.thoughts if span not in quoted]


def left_to_say(
    text: str, scanned: Scanned, taken: Sequence[Span], answer: str | None, *, start: int = 0
) -> str:
    """The text from a position on, without what was taken, reasoning and tokens."""
    tokens = Holes(scanned.noise)
    pieces: list[str] = []
    pos = start
    for begin, end in sorted([*taken, *scanned.thoughts]):
        if begin > pos:
            pieces.append(tokens.without(text, pos, begin))
        pos = max(pos, end)
    pieces.append(tokens.without(text, pos, len(text)))
    kept = [piece.strip(EDGE) for piece in pieces]
    if answer:
        kept.append(answer.strip(EDGE))
    if taken:
        kept = [piece for piece in kept if not _SEPARATORS.fullmatch(piece)]
    return "\n".join(piece for piece in kept if piece)


def without_tags(thought: str) -> str:
    """A thought without its tags."""
    thought = thought.strip()
    found = marker_at(thought, 0)
    if found and found[0].kind == "think":
        thought = thought[found[1] :]
    last = max(thought.rfind("<"), thought.rfind("["), thought.rfind("◁"))
    found = marker_at(thought, last) if last >= 0 else None
    if found and found[0].kind == "think_end" and found[1] == len(thought):
        thought = thought[:last]
    return thought.strip()
