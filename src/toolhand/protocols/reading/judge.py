"""Use or mention: which of the candidates the model means, by their form and by the words around them.

A call that stands alone is meant. Where there is prose, form comes first (quotation marks, inline code, a fence that holds
other things too, a sentence that goes on behind it), then the words of the lexicon.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from toolhand.protocols.reading.asked import Candidate, Fence, Scanned
from toolhand.protocols.reading.lexicon import NAME_PLACEHOLDER, PLACEHOLDER, SIGNALS
from toolhand.tools.collection import ToolCollection

Verdict = Literal["call", "doubt", "mention"]

_ALWAYS = 10
_INTRODUCED = {"marked": -2, "label": -1, "block": -1, "bare": 0}
_CODE_LANGUAGES = frozenset(
    "python py js javascript ts typescript jsx tsx bash sh shell zsh console java go rust c cpp csharp sql http html xml yaml yml "
    "toml ini ruby php kotlin swift text txt plaintext markdown md diff log".split()
)
_CALL_LANGUAGES = frozenset(
    "tool_call tool_calls tool tools tool_code tool_use function_call function action plan call toolcall".split()
)
_WORDS = re.compile(r"[^\W\d_]")
_COMMENT = re.compile(r"(?:#|//|--|<!--)[^\n]*")
_SENTENCE_END = re.compile(r"[.!?。！？…~：:;；\n>）)】」”\"]\s*$")
_ITEM_MARK = re.compile(r"\n[ \t]*(?:\d{1,2}|[A-Za-z]|[-*•])[.)、:：]?[ \t]*$")
_DIRECTED = {"“": "”", "‘": "’", "「": "」", "『": "』", "《": "》"}


@dataclass(slots=True)
class Setting:
    """The prose around the candidates.

    Args:
        text: the whole text.
        gaps: the stretches of prose, one before each candidate and one behind the last.
    """

    text: str
    gaps: list[str] = field(default_factory=list)

    @property
    def has_words(self) -> bool:
        """Whether there is any prose at all."""
        return any(_WORDS.search(gap) for gap in self.gaps)


def sole_contents(text: str, scanned: Scanned) -> dict[int, bool]:
    """For each fence that holds a candidate, whether it holds nothing else."""
    found: dict[int, bool] = {}
    for index in {candidate.fence for candidate in scanned.candidates if candidate.fence >= 0}:
        fence = scanned.fences[index]
        rest = []
        pos = fence.inside
        for candidate in scanned.candidates:
            if candidate.fence == index:
                rest.append(text[pos : candidate.start])
                pos = max(pos, candidate.end)
        rest.append(text[pos : fence.inside_end])
        for begin, end in scanned.thoughts:
            if fence.inside <= begin < fence.inside_end:
                rest = [part.replace(text[begin:end], "") for part in rest]
        found[index] = not _COMMENT.sub("", "".join(rest)).strip(" \t\n;,`{}")
    return found


def judge(
    text: str, scanned: Scanned, setting: Setting, tools: ToolCollection, sole: dict[int, bool]
) -> list[Verdict]:
    """A verdict for each candidate."""
    if not setting.has_words:
        return ["call"] * len(scanned.candidates)
    around = "\n".join(setting.gaps)
    weights = {
        signal.name: signal.weight
        for signal in SIGNALS
        if signal.where == "around" and signal.words.search(around)
    }
    lexical = sum(weights.values())
    verdicts: list[Verdict] = []
    for index, candidate in enumerate(scanned.candidates):
        points = _form(text, scanned, setting, index, tools, sole)
        if points < _ALWAYS:
            points += lexical + _nearby(setting, index)
        verdicts.append("mention" if points >= 2 else "doubt" if points == 1 else "call")
    return verdicts


def _nearby(setting: Setting, index: int) -> int:
    """What the words right before and right behind a candidate say."""
    lead = _lead(setting.gaps, index)
    tail = _tail(setting.gaps, index)
    points = 0
    for signal in SIGNALS:
        if signal.where == "lead" and signal.words.search(lead):
            points += signal.weight
        elif signal.where == "tail" and signal.words.search(tail):
            points += signal.weight
    return points


def _lead(gaps: list[str], index: int) -> str:
    """The last words before a candidate; neighbours in one row share them."""
    while index > 0 and not _WORDS.search(gaps[index]):
        index -= 1
    return _ITEM_MARK.sub("", gaps[index].rstrip()[-160:])


def _tail(gaps: list[str], index: int) -> str:
    index += 1
    while index < len(gaps) - 1 and not _WORDS.search(gaps[index]):
        index += 1
    return gaps[index].lstrip()[:160]


def _form(
    text: str, scanned: Scanned, setting: Setting, index: int, tools: ToolCollection, sole: dict[int, bool]
) -> int:
    """What the form says."""
    candidate = scanned.candidates[index]
    fence = scanned.fences[candidate.fence] if candidate.fence >= 0 else None
    if fence is not None and not sole[candidate.fence]:
        return _ALWAYS
    if fence is None and (
        is_quoted(text, candidate, setting.gaps[: index + 1]) or _in_block(text, candidate)
    ):
        return _ALWAYS
    points = _INTRODUCED[candidate.introduction] + (1 if candidate.is_weak else 0)
    names = [asked.name for asked in candidate.asked]
    if not names and candidate.answer is None:
        points += 3
    elif names and not any(tools.lookup(name) for name in names):
        points += 1
    if any(NAME_PLACEHOLDER.match(name) for name in names) or any(
        has_placeholder(asked.arguments) for asked in candidate.asked
    ):
        points += 3
    if candidate.is_signature:
        points += 2
    behind = "".join(setting.gaps[index + 1 :])
    before = "".join(setting.gaps[: index + 1]).rstrip().rstrip("：:").rstrip()
    if _lead(setting.gaps, index).rstrip().endswith(("?", "？")):
        points += 3
    if candidate.introduction == "bare":
        points += _alternatives(setting, scanned, index)
    if fence is not None:
        points += _language(fence)
    else:
        points += _line(text, candidate)
    if not _WORDS.search(behind):
        return points - 1
    ending = behind.rstrip().rstrip("”\"')）")
    if ending.endswith(("?", "？", "吗", "吗。")):
        points += 3
    if candidate.introduction == "bare":
        points += 1 if len(behind.strip()) > 80 else 0
        points += 2 if _WORDS.search(before) else 0  # taken back by an announcement
    return points


def _alternatives(setting: Setting, scanned: Scanned, index: int) -> int:
    """Several bare objects with words between them are shown one after the other, not called."""
    between = setting.gaps[1:-1]
    if len(scanned.candidates) > 1 and any(_WORDS.search(gap) for gap in between):
        return 2
    return 0


def _language(fence: Fence) -> int:
    if fence.language in _CALL_LANGUAGES:
        return -3
    return 1 if fence.language in _CODE_LANGUAGES else 0


def _line(text: str, candidate: Candidate) -> int:
    """What stands on the same line before and behind."""
    begin = text.rfind("\n", 0, candidate.start) + 1
    end = text.find("\n", candidate.end)
    before = text[begin : candidate.start]
    behind = text[candidate.end : end if end >= 0 else len(text)].strip()
    points = 0
    if behind and _WORDS.search(behind) and behind[0] not in "{[<（(":
        points += 3 if candidate.introduction == "bare" else 1
    if not before.strip():
        return points + (1 if len(before) >= 4 and candidate.introduction == "bare" else 0)
    if before.rstrip()[-1] in "=(+,'`\"" and candidate.introduction != "marked":
        points += 3  # part of an expression
    elif candidate.introduction == "bare" and not _SENTENCE_END.search(before):
        points += 1
    return points


def _in_block(text: str, candidate: Candidate) -> bool:
    """Whether it stands in a quotation block or in the cell of a table."""
    begin = text.rfind("\n", 0, candidate.start) + 1
    line = text[begin : candidate.start].lstrip()
    if line.startswith(">"):
        return True
    return (
        text[begin : candidate.start].lstrip().startswith("|")
        and "|" in text[candidate.end : candidate.end + 200].split("\n")[0]
    )


def is_quoted(text: str, candidate: Candidate, gaps: list[str]) -> bool:
    """Whether a candidate stands inside inline code or a quotation."""
    begin = text.rfind("\n", 0, candidate.start) + 1
    before = text[begin : candidate.start]
    behind = text[candidate.end :].split("\n", 1)[0]
    if before.replace("```", "").count("`") % 2 and "`" in behind:
        return bool(before.strip(" \t`")) or bool(behind.strip(" \t`"))
    first, last = before[-1:], behind[:1]
    if first and first in "\"'" and last == first:
        return True
    said = gaps[-1].split("\n\n")[-1]
    if said.count('"') % 2 and '"' in text[candidate.end :].split("\n\n")[0]:
        return True
    return any(
        said.count(mark) > said.count(close) and close in text[candidate.end :]
        for mark, close in _DIRECTED.items()
    )


def has_placeholder(value: Any) -> bool:
    """Whether a value among the arguments only holds the place of one."""
    if isinstance(value, str):
        return len(value) <= 48 and PLACEHOLDER.fullmatch(value.strip()) is not None
    if isinstance(value, dict):
        return any(has_placeholder(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(has_placeholder(item) for item in value)
    return False
