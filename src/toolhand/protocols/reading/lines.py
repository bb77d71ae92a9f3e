"""What the beginning of a line may become: a label, a statement of a plan, a fence, or prose."""

from __future__ import annotations

import re
from typing import Literal

from toolhand.protocols.reading.family import OPENING
from toolhand.protocols.reading.openings import holding, line_families
from toolhand.protocols.reading.scan import Scan
from toolhand.tools.collection import ToolCollection

Verdict = Literal["wait", "hold", "fence", "plain"]

_FENCE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})")
_FENCE_BEGUN = re.compile(r"[ \t>]*(?:`{1,2}|~{1,2})?$")
_HEAD = re.compile(
    r"[ \t>]*(?:(?:\d{1,2}[.)、：:]|[-*•]|步骤[ \t]*\d+[:：.]?|step[ \t]*\d+[:：.]?)[ \t]*)?[*_`#]*[ \t]*[【\[✿$]?["
    r" \t]*(?P<word>[\w.\-]*)(?P<rest>[^\n]*)",
    re.IGNORECASE,
)
_OPENED_BY = re.compile(r"[ \t>]*(?:>>>|>{1,2}$)")
_LABELS = [
    "thought",
    "thoughts",
    "thinking",
    "action",
    "actions",
    "final",
    "tool",
    "function",
    "api",
    "call",
    "return",
    "observation",
    "tool_name",
    "tool_call",
    "tool_calls",
    "function_name",
    "function_call",
    "name",
    "assistantcommentary",
    "commentary",
    "analysis",
    "assistant",
    "to",
    "functions",
    "思考",
    "想法",
    "思路",
    "推理",
    "行动",
    "动作",
    "最终",
    "调用",
    "使用",
    "工具",
    "函数",
    "操作",
    "观察",
]
_PHRASES = (
    "action input",
    "tool input",
    "tool name",
    "tool call",
    "function name",
    "function call",
    "api name",
    "api call",
    "final answer",
    "final response",
    "call tool",
    "call function",
    "thought 1",
    "action 1",
)
_CONDITIONS = frozenset(["if", "when", "else", "如果", "若", "否则"])
_MAX_CONDITION = 140
_MAX_CHINESE_NAME = 8
"""Characters of a variable that is no ASCII. Prose without spaces is not held back for longer than that."""


class LineJudge:
    """Judges the beginnings of lines for one collection of tools.

    Args:
        tools: what may be called.
    """

    def __init__(self, tools: ToolCollection) -> None:
        self.tools = tools

    def at(self, text: str, pos: int) -> Verdict:
        """What the line that begins at `pos` is, as far as it is there."""
        if _FENCE.match(text, pos):
            return "fence"
        if held := holding().get("\n"):
            if len(text) - pos < OPENING:
                return "wait"
            if any(family.opening.match(text, pos, pos + OPENING) for family in held):
                return "hold"
        stop = text.find("\n", pos)
        line = text[pos : stop if stop >= 0 else len(text)]
        is_whole = stop >= 0
        begun = line.lstrip(" \t>")
        if line.lstrip().startswith((">>>", "> {", "><")):
            return "hold"
        if begun.startswith("<"):
            return "plain"  # what a tag begins is not a matter of the line
        if not is_whole and (not line.strip() or _FENCE_BEGUN.fullmatch(line) or _OPENED_BY.fullmatch(line)):
            return "wait"
        if self._is_opened(text, pos):
            return "hold"
        return self._by_head(line, is_whole=is_whole)

    def _is_opened(self, text: str, pos: int) -> bool:
        """Whether a family reads a line that begins so."""
        for family in line_families():
            match = family.opening.match(text, pos)
            if match is None or family.holds:
                continue
            if family.name != "plan":
                return True
            name, variable = match.groupdict().get("name"), match.groupdict().get("var")
            if (
                name
                and self._may_grow(variable or name)
                and (self.tools.lookup(name) is not None or "_" in name or "." in name)
            ):
                return True
        return False

    def _by_head(self, line: str, *, is_whole: bool) -> Verdict:
        if is_whole and not line.rstrip().endswith((":", "：")):
            return "plain"
        match = _HEAD.match(line)
        if match is None:
            return "plain"
        word, rest = match["word"].lower(), match["rest"]
        if word in _CONDITIONS:
            if len(line) >= _MAX_CONDITION:
                return "plain"
            return "hold" if is_whole else "wait"
        if is_whole:
            return "plain"
        if not rest:
            return "wait" if self._may_grow(word) else "plain"
        said = word + rest.lower()
        if word == "print" and re.fullmatch(r"\(`?[\w.\-]{0,60}", rest):
            return "wait"
        if (
            re.fullmatch(r"[ \t]*(?:=|:=|<-|←)?[ \t]*(?:await[ \t]*)?(?:print\(`?)?[\w.\-]*", rest)
            and len(rest) < 60
            and (rest.strip()[:1] in ("=", ":", "<", "←") or not rest.strip())
            and self._may_grow(word)
        ):
            return "wait"
        if any(phrase.startswith(said) for phrase in _PHRASES):
            return "wait"
        if word in _LABELS and re.fullmatch(r"[ \t*_`\d】\]✿:]{0,8}", rest):
            return "wait"
        return "plain"

    def _may_grow(self, word: str) -> bool:
        """Whether a word that is still being written may become a label or a name."""
        if not word:
            return True
        if len(word) <= (40 if word.isascii() else _MAX_CHINESE_NAME):
            return True
        if any(
            label.startswith(word) or (word.startswith(label) and len(word) < len(label) + 6)
            for label in _LABELS
        ):
            return True
        return any(name.startswith(word) for name in self.tools.names)

    def holds_call(self, block: str) -> bool:
        """Whether a fenced block has something in it that may be a call or reasoning."""
        scanned = Scan(block, self.tools).run()
        return bool(scanned.candidates or scanned.thoughts or scanned.noise)
