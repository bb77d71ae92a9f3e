"""Which lines of a reply may be statements of a plan, also while they are still coming in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolhand.parsing.plans.lines import MARK
from toolhand.parsing.plans.remarks import has_unquoted_answer
from toolhand.tools.collection import ToolCollection

Kind: TypeAlias = Literal["call", "word", "blank", "prose"]

_MARK: Final = rf"[ \t>　\xa0]*{MARK}*`?"
_NAMED: Final = re.compile(
    _MARK + r"(?:(?:in[ \t]+)?parallel[ \t:：]+|(?:同时|并行)[ \t:：]+)?(?:(?:let|set|var|const)[ \t]+)?"
    r"(?:<(?:step|action|call|tool|line|li|item)(?:\s[^<>\n]*)?>[ \t]*)?"
    r"(?P<kept>\$?[^\W\d]\w*(?:[ \t]*:[ \t]*[^\W\d][\w.\[\], |]{0,40}?)?"
    r"(?:[ \t]*,[ \t]*\$?[^\W\d]\w*){0,8}[ \t]*(?::=|=(?!=)|<-|←)[ \t]*)?"
    r"(?:(?:await|call|invoke|execute|run|调用|执行)[ \t]+|(?:调用|执行)(?=[A-Za-z_$]))?"
    r"(?P<bold>\*\*|__|`)?\$?(?P<name>[^\W\d][\w.\-]*)(?(bold)(?:(?P=bold))?|)[ \t]*[(（]",
    re.IGNORECASE,
)
_CONTROL: Final = re.compile(
    _MARK
    + r"(?P<word>if|when|unless|elif|elsif|else|otherwise|for|foreach|parallel|in parallel|return|end|endif|endfor|pass|done"
    r"|while|如果|若|除非|否则|遍历|对于?每|对于?(?=[ \t]*\$|[ \t]+\w)|返回|结束|并行|同时)(?![\w(（.]{0,1}[A-Za-z_(（.])",
    re.IGNORECASE,
)
_CLOSED: Final = re.compile(r"(?:[:：{]|\b(?:then|do)|那么|则)[ \t]*(?:(?:#|//).*)?$")
_COMPARED: Final = re.compile(
    r"[ \t]*(?:not[ \t]+)?[^\W\d][\w.\[\]\"']*[ \t]*(?:[=!]==?|[<>]=?|≥|≤|≠)[ \t]*(?:[+-]?\d[\d.]*|[\"'“][^\"'”]*[\"'”])[ \t]*"
)
"""A whole condition, also without its colon."""
_ALONE: Final = re.compile(
    r"(?:end|end[ _]?(?:if|for|foreach|parallel)|pass|done|else|otherwise|结束(?:如果|循环|遍历|并行)?|否则)[ \t:：;。]*$",
    re.IGNORECASE,
)
_KEPT: Final = re.compile(
    _MARK
    + r"(?:(?:(?:let|set|var|const)[ \t]+)?\$?[^\W\d]\w*[ \t]*(?::=|=(?!=))[ \t]*[$\"'\[{\d“]"
    + r"|\$[^\W\d]\w*[^\s]*[ \t]*(?:->|→|=>)[ \t]*\$?\w+[ \t]*$)"
)
_ARROW: Final = re.compile(
    r"[)）][ \t]*(?:[-—]{1,3}>|→|⟶|=>|⇒|➜)[ \t]*\$?[^\W\d]\w*[ \t]*[;；。]?[ \t]*(?:#.*)?$"
)
_WHOLE_CALL: Final = re.compile(r"[)）][ \t]*[;；。]?[ \t]*(?:(?:#|//).*)?$")
# Words behind the last bracket that no step has there: a sentence that begins with a call.
_GOES_ON: Final = re.compile(
    r"[)）]`?[ \t]*(?!(?:as|into|if|when|and|then|saved?|stored?|存为|保存|赋值|记为|如果|并|同时)(?![A-Za-z]))"
    r"(?:[A-Za-z]+[ \t,]+[A-Za-z]+[^()（）\"“>→$]*|[，,]?(?!并?[把将]?(?:结果)?[保存记命赋])[\u4e00-\u9fff]{2}[^()（）\"“>→$]*)$"
)
_BRACE: Final = re.compile(r"[ \t]*\}[ \t;}]*(?:(?:else|elif|elsif|否则).*)?$", re.IGNORECASE)
# Blocks of other languages: a plan with one is refused, and what stands in it must not pass for a step without one.
_OTHER_BLOCK: Final = re.compile(
    _MARK
    + r"(?:(?:try|finally|loop)[ \t]*[:{]|\}?[ \t]*(?:except|catch|repeat|loop|switch|match)\b.*[:{]"
    + r"|with[ \t].*[ \t]as[ \t]+\w+:|(?:async[ \t]+)?(?:def|function)[ \t]+\w+[ \t]*\(.*|class[ \t]+\w+[ \t]*[:({].*)[ \t]*$",
    re.IGNORECASE,
)
_SAID_ARROW: Final = re.compile(r"->|→")
_VALUE: Final = re.compile(r"[ \t:：(（]*(?:\$|f?[\"'“「{\[]|\w+[ \t]*[;；。]?$)")
_CALL_IN: Final = re.compile(r"([^\W\d][\w.\-]*)[ \t]*[(（]")
_NAMES: Final = r"(?:\$?\w{1,40}[ \t]*,[ \t]*){0,8}"
_BEGUN: Final = re.compile(
    rf"[ \t>　\xa0]*[*_]{{0,2}}{_MARK}[*_]{{0,2}}{_NAMES}\$?[\w.\-]{{0,60}}[*_`]{{0,2}}[ \t]*$", re.IGNORECASE
)
_MAY_BE: Final = re.compile(
    _MARK
    + r"\$?(?:let[ \t]+|set[ \t]+|var[ \t]+|const[ \t]+|(?:await|call|invoke|execute|run|调用|执行)[ \t]+)?"
    + _NAMES
    + r"(?:[\w.\-\[\]\"']{0,80}[ \t]*(?:[(（=:<←\[$]|->|→)|(?:\*\*|__|`)?[\w.\-]{1,60}(?:\*\*|__|`)?[ \t]*[(（])",
    re.IGNORECASE,
)
_LONG_HEAD: Final = 400
_MARK_ONLY: Final = re.compile(r"[\s>\d.()（）、：:\-*•+→|`#\ufe0f\u20e3]*")
_CONTROL_BEGUN: Final = re.compile(
    _MARK
    + r"(?:if|when|unless|elif|elsif|else|otherwise|for|foreach|parallel|in|return|end|pass|done|while|let|set|var|const"
    r"|await|step|call|invoke|execute|run|try|finally|loop|except|catch|repeat|switch|match|with|async|def|function|class)\b|"
    + _MARK
    + r"[如若除否遍对返结并同步第调执]",
    re.IGNORECASE,
)


def kind_of(line: str, tools: ToolCollection) -> Kind:
    """What a line is: a statement with a call, one of the language's other statements, nothing, or prose."""
    bare = line.strip()
    if not bare or bare.startswith(("#", "//")):
        return "blank"
    if _OTHER_BLOCK.match(line):
        return "word"
    named = _NAMED.match(line)
    if named and _GOES_ON.search(line):
        return "prose"
    if named and (tools.lookup(named["name"]) is not None or _ARROW.search(line)):
        return "call"
    control = _CONTROL.match(line)
    if named and control is None and _WHOLE_CALL.search(line):
        is_inside = any(tools.lookup(name) is not None for name in _CALL_IN.findall(line))
        return "call" if is_inside else "word"
    if control is None:
        return (
            "word"
            if _KEPT.match(line)
            else "call"
            if named and named["kept"] and "_" in named["name"]
            else "prose"
        )
    rest = line[control.end() :]
    if any(tools.lookup(name) is not None for name in _CALL_IN.findall(rest)):
        return "call"
    if control["word"].lower() in {"return", "返回"}:
        return "word" if _VALUE.match(rest) or has_unquoted_answer(line[control.start("word") :]) else "prose"
    return (
        "word"
        if _CLOSED.search(line)
        or _ALONE.match(line[control.start("word") :])
        or "$" in rest
        or _COMPARED.fullmatch(rest)
        else "prose"
    )


@dataclass(slots=True)
class Run:
    """Lines that follow one another.

    Args:
        start: where the first begins.
        end: where the last ends.
        has_call: whether one of them has a call.
    """

    start: int
    end: int
    has_call: bool = False


def runs(text: str, tools: ToolCollection, closed: Sequence[tuple[int, int]]) -> Iterator[Run]:
    """The stretches of a text that are statements of a plan.

    Args:
        text: what the model wrote.
        tools: what it may call.
        closed: spans in which nothing is looked for.
    """
    run: Run | None = None
    depth = pos = 0
    shut = iter([*sorted(closed), (len(text) + 1, len(text) + 1)])
    hole = next(shut)
    for line in text.splitlines(keepends=True):
        start, pos = pos, pos + len(line)
        while hole[1] <= start:
            hole = next(shut)
        is_shut = hole[0] < pos
        kind: Kind = (
            "prose" if is_shut or line.lstrip().startswith("```") else kind_of(line.rstrip("\r\n"), tools)
        )
        if run is not None and not is_shut and (depth > 0 or _BRACE.match(line)):
            kind = "word" if kind == "prose" else kind  # a call over several lines
        if kind == "blank":
            continue
        if kind == "prose":
            if run is not None and run.has_call:
                yield run
            run, depth = None, 0
            continue
        run = run or Run(start, pos)
        run.end, run.has_call = start + len(line.rstrip()), run.has_call or kind == "call"
        depth = max(
            0, depth + sum(line.count(mark) for mark in "(（[{") - sum(line.count(mark) for mark in ")）]}")
        )
        if depth and _SAID_ARROW.search(line):
            depth = 0
    if run is not None and run.has_call:
        yield run


class LineHold:
    """Lets lines through that are prose for sure, and nothing from the first on that may belong to a plan.

    Args:
        tools: what may be called.
    """

    def __init__(self, tools: ToolCollection) -> None:
        self._tools = tools
        self._open: list[str] = []
        self._length = 0
        self._is_held = self._is_prose = False

    def feed(self, chunk: str) -> str:
        """Takes more of the text; gives what is prose for sure."""
        if self._is_held:
            return ""
        self._open.append(chunk)
        self._length += len(chunk)
        if self._length > _LONG_HEAD + len(chunk) and "\n" not in chunk:
            return ""  # a long line whose beginning could not tell is only judged when it has ended
        text = "".join(self._open)
        end, self._is_held = self._sure(text)
        self._open = [] if self._is_held else [text[end:]]
        self._length = 0 if self._is_held else len(text) - end
        return text[:end]

    def _sure(self, text: str) -> tuple[int, bool]:
        """How much is prose for sure, and whether what follows is held for good."""
        begin = 0
        if self._is_prose:
            begin = text.find("\n") + 1
            if not begin:
                return len(text), False
        while (stop := text.find("\n", begin)) >= 0:
            line = text[begin:stop]
            if not _MARK_ONLY.fullmatch(line) and kind_of(line, self._tools) != "prose":
                return begin, True
            begin = stop + 1
        line = text[begin:]
        may_be = any(
            begun.match(line) for begun in (_BEGUN, _MAY_BE, _CONTROL_BEGUN)
        ) or _MARK_ONLY.fullmatch(line)
        self._is_prose = not may_be
        return (begin if may_be else len(text)), False
