"""Use or mention: which of the candidates the model means, by their form and by the words around them.

A call that stands alone is meant. Where there is prose, form comes first (quotation marks, inline code, a fence that holds
other things too, a sentence that goes on behind it), then the words of the lexicon.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from toolhand.protocols.reading.asked import Candidate, Fence, Scanned
from toolhand.protocols.reading.lexicon import ANNOUNCED, AROUND, NAME_PLACEHOLDER, NEARBY, PLACEHOLDER
from toolhand.protocols.reading.surroundings import WORDS, Setting
from toolhand.tools.collection import ToolCollection, folded

Verdict = Literal["call", "doubt", "mention"]

_ALWAYS = 10
_WINDOW = 2000
_NEAR = 1000
_INTRODUCED = {"marked": -2, "label": -1, "block": -1, "bare": 0}
_CODE_LANGUAGES = frozenset(
    [
        "python",
        "py",
        "js",
        "javascript",
        "ts",
        "typescript",
        "jsx",
        "tsx",
        "bash",
        "sh",
        "shell",
        "zsh",
        "console",
        "java",
        "go",
        "rust",
        "c",
        "cpp",
        "csharp",
        "sql",
        "http",
        "html",
        "xml",
        "yaml",
        "yml",
        "toml",
        "ini",
        "ruby",
        "php",
        "kotlin",
        "swift",
        "text",
        "txt",
        "plaintext",
        "markdown",
        "md",
        "diff",
        "log",
    ]
)
_CALL_LANGUAGES = frozenset(
    [
        "tool_call",
        "tool_calls",
        "tool",
        "tools",
        "tool_code",
        "tool_use",
        "function_call",
        "function",
        "action",
        "plan",
        "call",
        "toolcall",
    ]
)
_SENTENCE_END = re.compile(r"[.!?。！？…~：:;；\n>）)】」”\"]\s*$")
_LAST_SENTENCE = re.compile(r"[^.!?。！？\n]*[.!?。！？:：\s]*$")
_ITEM_MARK = re.compile(r"\n[ \t]*(?:\d{1,2}|[A-Za-z]|[-*•])[.)、:：]?[ \t]*$")
_SENTENCE = re.compile(r"[^\W\d_]+[^\S\n]+[^\W\d_]+|[\u4e00-\u9fff]{4}")
_ANYTHING_ELSE = re.compile(r"\b(?:anything|something) else\b|还有(?:什么|其他|别的)", re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:\(?\d{1,2}|[A-Ha-h])[.)、:：]\s*$")
_DIRECTED = {"“": "”", "‘": "’", "「": "」", "『": "』", "《": "》"}


def judge(
    text: str, scanned: Scanned, setting: Setting, tools: ToolCollection, sole: set[int]
) -> list[Verdict]:
    """A verdict for each candidate."""
    if not setting.has_words:
        return ["call"] * len(scanned.candidates)
    around = _nearest("\n".join(_nearest(gap, _NEAR // 2) for gap in setting.gaps), 4 * _NEAR)
    lexical = sum(signal.weight for signal in AROUND if signal.words.search(around))
    nearby: dict[tuple[int, int], int] = {}
    verdicts: list[Verdict] = []
    for index in range(len(scanned.candidates)):
        points = _form(text, scanned, setting, index, tools=tools, sole=sole)
        if points < _ALWAYS:
            place = (setting.lead[index], setting.tail[index])
            if place not in nearby:
                nearby[place] = _nearby(setting, index)
            points += lexical + nearby[place]
        verdicts.append("mention" if points >= 2 else "doubt" if points == 1 else "call")
    return verdicts


def _nearest(prose: str, count: int) -> str:
    """The beginning and the end of a long stretch of prose: what stands nearest to its neighbours."""
    return prose if len(prose) <= 2 * count else f"{prose[:count]}\n{prose[-count:]}"


def _nearby(setting: Setting, index: int) -> int:
    """What the words right before and right behind a candidate say."""
    lead, tail = _lead(setting, index), setting.gaps[setting.tail[index]].lstrip()[:160]
    points = 0
    for signal in NEARBY:
        if signal.words.search(lead if signal.where == "lead" else tail):
            points += signal.weight
    if not setting.behind[index] and ANNOUNCED.search(_LAST_SENTENCE.search(lead)[0]):  # type: ignore[index]
        points -= 2  # announced in the last words of the whole text
    return points


def _lead(setting: Setting, index: int) -> str:
    """The last words before a candidate, without the mark of the item that it is."""
    return _ITEM_MARK.sub("", setting.gaps[setting.lead[index]].rstrip()[-160:])


def _form(
    text: str, scanned: Scanned, setting: Setting, index: int, *, tools: ToolCollection, sole: set[int]
) -> int:
    """What the form says."""
    candidate = scanned.candidates[index]
    fence = scanned.fences[candidate.fence] if candidate.fence >= 0 else None
    if fence is not None and candidate.fence not in sole:
        return _ALWAYS
    if fence is None and (is_quoted(text, candidate, setting.gaps[index]) or _in_block(text, candidate)):
        return _ALWAYS
    is_bare = candidate.introduction == "bare"
    points = _INTRODUCED[candidate.introduction] + _contents(candidate, tools)
    points += _language(fence) if fence is not None else _line(text, candidate)
    if _lead(setting, index).rstrip().endswith(("?", "？")):
        points += 3
    if is_bare and len(scanned.candidates) > 1 and setting.has_words_between:
        points += 2  # several, with words between them, are shown one after the other
    if _is_repeated(scanned, index):
        points += 2
    if not setting.behind[index]:
        return points - 1
    if setting.ending.rstrip("”\"')）").endswith(("?", "？", "吗", "吗。")) and not _ANYTHING_ELSE.search(
        setting.ending
    ):
        points += 4
    if not is_bare and _is_shown_between(setting, index):
        points += 4
    if is_bare:
        points += 1 if setting.behind[index] > 80 else 0
        # Without an announcement, an object in the middle of a text is more likely shown than called.
        points += 2 if setting.has_words_in[setting.lead[index]] else 0
    return points


def _is_shown_between(setting: Setting, index: int) -> bool:
    """Whether a marked call stands between two sentences, of which neither announces it or waits for it."""
    lead, tail = _lead(setting, index), setting.gaps[setting.tail[index]].lstrip()[:160]
    if not (_SENTENCE.search(lead) and _SENTENCE.search(tail)):
        return False
    return not any(signal.words.search(lead if signal.where == "lead" else tail) for signal in NEARBY)


def _is_repeated(scanned: Scanned, index: int) -> bool:
    """Whether a neighbour asks for the very same: one call in two spellings is shown, not made."""
    asked = scanned.candidates[index].asked
    for other in scanned.candidates[max(0, index - 1) : index + 2]:
        if (
            other is not scanned.candidates[index]
            and other.introduction == "bare"
            and len(asked) == len(other.asked) == 1
        ):
            one, two = asked[0], other.asked[0]
            if folded(one.name) == folded(two.name) and one.arguments == two.arguments:
                return True
    return False


def _contents(candidate: Candidate, tools: ToolCollection) -> int:
    """What the names and values in it say."""
    points = 1 if candidate.is_weak else 0
    names = [asked.name for asked in candidate.asked]
    if not names and candidate.answer is None:
        points += 4
    elif names and not any(tools.lookup(name) for name in names):
        points += 1
    if any(NAME_PLACEHOLDER.match(name) for name in names) or any(
        has_placeholder(asked.arguments) for asked in candidate.asked
    ):
        points += 3
    return points + (2 if candidate.is_signature else 0)


def _language(fence: Fence) -> int:
    if fence.language in _CALL_LANGUAGES:
        return -3
    return 1 if fence.language in _CODE_LANGUAGES else 0


def _line_around(text: str, candidate: Candidate) -> tuple[str, str]:
    """What stands on the same line before and behind, as far as it matters."""
    start, end = candidate.start, candidate.end
    begin = text.rfind("\n", max(0, start - _WINDOW), start) + 1 or max(0, start - _WINDOW)
    stop = text.find("\n", end, end + _WINDOW)
    return text[begin:start], text[end : stop if stop >= 0 else end + _WINDOW]


def _line(text: str, candidate: Candidate) -> int:
    """What the same line says."""
    before, behind = _line_around(text, candidate)
    behind = behind.strip()
    is_bare = candidate.introduction == "bare"
    points = 0
    if behind and WORDS.search(behind) and behind[0] not in "{[<（(":
        goes_on = behind[0] in ",，、;；.。）)" or behind[0].islower()
        points += 3 if is_bare or (goes_on and before.strip()) else 1
    if _ITEM.match(before):
        points += 2  # one of a list of things to look at
    if not before.strip():
        return points + (1 if len(before) >= 4 and is_bare else 0)
    if before.rstrip()[-1] in "=(+,'`\"" and candidate.introduction != "marked":
        points += 3  # part of an expression
    elif is_bare and not _SENTENCE_END.search(before):
        points += 1
    return points


def _in_block(text: str, candidate: Candidate) -> bool:
    """Whether it stands in a quotation block or in the cell of a table."""
    before, behind = _line_around(text, candidate)
    before = before.lstrip()
    return before.startswith(">") or (before.startswith("|") and "|" in behind)


def is_quoted(text: str, candidate: Candidate, gap: str) -> bool:
    """Whether a candidate stands inside inline code or a quotation; `gap` is the prose right before it."""
    before, behind = _line_around(text, candidate)
    if before.replace("```", "").count("`") % 2 and "`" in behind:
        return bool(before.strip(" \t`")) or bool(behind.strip(" \t`"))
    first, last = before[-1:], behind[:1]
    if first and first in "\"'" and last == first:
        return True
    said = gap[-_WINDOW:].rpartition("\n\n")[2]
    end = candidate.end
    stop = text.find("\n\n", end, end + _WINDOW)
    rest = text[end : stop if stop >= 0 else end + _WINDOW]
    if said.count('"') % 2 and '"' in rest:
        return True
    return any(said.count(mark) > said.count(close) and close in rest for mark, close in _DIRECTED.items())


def has_placeholder(value: Any) -> bool:
    """Whether a value among the arguments only holds the place of one."""
    if isinstance(value, str):
        return len(value) <= 48 and PLACEHOLDER.fullmatch(value.strip()) is not None
    if isinstance(value, dict):
        return any(has_placeholder(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(has_placeholder(item) for item in value)
    return False
