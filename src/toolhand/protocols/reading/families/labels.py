"""Labelled lines: ReAct in English and Chinese, Qwen-Agent's ✿FUNCTION✿, `Tool:` / `Arguments:` and their relatives.

Source: Yao et al., ReAct, https://arxiv.org/abs/2210.03629. From an observation on, a model has made up what it writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolhand.core.tools import Tool
from toolhand.parsing.costs import fix
from toolhand.parsing.loose import LooseError, read_value
from toolhand.parsing.pythonic import read_arguments
from toolhand.parsing.simple_yaml import YamlError, read_yaml
from toolhand.protocols.reading.asked import Asked, Candidate
from toolhand.protocols.reading.body import call_of
from toolhand.protocols.reading.envelope_keys import ANSWERING, NO_TOOL
from toolhand.protocols.reading.failures import syntax_problem
from toolhand.protocols.reading.family import Family
from toolhand.protocols.reading.scan import Scan
from toolhand.tools.collection import folded

_LINE_BREAK = re.compile(r"\s*\n")
_LINE_BREAKS = re.compile(r"(?:[ \t]*\n)+")
_FENCE_BEHIND = re.compile(r"\s*`{2,}[ \t]*")
_OBJECT_AHEAD = re.compile(r"\s*(?:`{3,}\w*\s*)?(?=[{｛])")
_BACKTICK = re.compile(r"\s*`?\s*")

# One pattern for each part that a labelled line can play. A weak one is a common word: it needs a known tool behind it.
_ROLES = {
    "thought": r"thoughts?|thinking|思考|想法|思路|推理",
    "input": r"action[ _]?inputs?|tool[ _]?inputs?|tool[ _]?arg(?:ument)?s|function[ _]?arg(?:ument)?s"
    r"|inputs?|arguments?|args|param(?:eter)?s"
    r"|(?:行动|动作|工具|操作|调用|函数)?(?:输入|参数)",
    "observation": r"observations?|(?:tool|action|function)[ _]?(?:result|output|response)s?|result"
    r"|观察(?:结果)?|观测|工具(?:返回|结果|输出)|返回结果",
    "final": r"final[ _]?(?:answer|response)|最终(?:答案|回答|回复|结果)|return",
    "action": r"action|行动|动作",
    "tool": r"(?:tool|function|api)(?:[ _]?(?:name|call))?|call(?:[ _](?:tool|function))?"
    r"|(?:调用|使用)?(?:工具|函数)(?:名称?|调用)?|操作|调用",
}
_ROLE = "|".join(f"(?P<{role}>{words})" for role, words in _ROLES.items())
_LABEL = re.compile(
    rf"[ \t>]*+(?:[-•*][ \t]++)?[*_`#]*+[ \t]*+(?:(?P<open>[【\[✿])[ \t]*+)?(?:{_ROLE})[ \t]*\d{{0,2}}[ \t]*"
    r"(?:(?P<close>[】\]✿])[*_`]*[ \t]*[:：]?|[*_`]*[ \t]*[:：])[*_`]{0,3}[ \t]*",
    re.IGNORECASE,
)
_HEADING = re.compile(
    rf"[ \t]*(?:#{{1,4}}[ \t]+\**|\*\*|__)(?:{_ROLE})(?:\*\*|__)?[ \t]*[:：]?(?:\*\*|__)?[ \t]*(?=\n)",
    re.IGNORECASE,
)
_ANY_LABEL = re.compile(rf"(?:^|\n)(?:{_LABEL.pattern})", re.IGNORECASE)
_INLINE_INPUT = re.compile(
    rf"[ \t,，;；]+[*_`]*(?:{_ROLES['input']})[*_`]*[ \t]*[:：][*_`]*[ \t]*", re.IGNORECASE
)
_BRACKETS = re.compile(r"(?P<name>[^\W\d][\w .\-]{0,60}?)[ \t]*\[(?P<input>.*)\][`*]*[ \t]*$", re.DOTALL)
_CALL = re.compile(r"`?(?P<name>[^\W\d][\w.\-]*)[ \t]*[(（]")
_FENCE = re.compile(r"\s*(`{3,})[ \t]*\w*[ \t]*\n")
_PAIR = re.compile(r"[^\W\d][\w\-]*[ \t]*[=＝]")
_TRAIL = re.compile(r"[ \t]*(?:`+|\*+|<end_action>|<\|?/?(?:im_end|eot_id|end)\|?>|<!--[^\n]*?-->)")
_NAME_BELOW = re.compile(r"[ \t]*\n[ \t]*`?(?P<name>[^\W\d][\w.\-]*)`?[ \t]*(?=\n|$)")
_TOKEN = re.compile(r"^[A-Za-z_][\w.\-]*(?:\(\))?$")
_NAME_LIKE = re.compile(r"^[^\W\d][\w.\-:/]*(?: [A-Za-z][\w\-]*){0,4}(?:\(\)|（）)?$")


@dataclass(frozen=True, slots=True)
class _Value:
    """The text of an input and where it ends."""

    raw: str
    end: int


def label_at(text: str, pos: int) -> re.Match[str] | None:
    """The label that begins a line: with a colon, in brackets, or as a heading."""
    label = _LABEL.match(text, pos)
    if label is not None and bool(label["open"]) == bool(label["close"]):
        return label
    return _HEADING.match(text, pos)


def _role(match: re.Match[str]) -> str:
    return match.lastgroup if match.lastgroup in _ROLES else next(role for role in _ROLES if match[role])


def read(scan: Scan, match: re.Match[str]) -> Candidate | None:
    """What a labelled line begins: a thought, an answer, or one or more calls."""
    label = label_at(scan.text, match.start())
    if label is None:
        return None
    role = _role(label)
    if role == "thought":
        return _thought(scan, label)
    if role == "final":
        return _final(scan, label)
    if role in ("action", "tool"):
        return _calls(scan, label, is_strong=role == "action" or label.groupdict().get("open") == "✿")
    return None


def _thought(scan: Scan, label: re.Match[str]) -> Candidate | None:
    text = scan.text
    following = _ANY_LABEL.search(text, label.end())
    if following is None and text[: label.start()].strip():
        return None
    line = text.find("\n", label.end())
    end = line if line >= 0 else len(text)
    # The thought goes on over plain lines that lead to another label.
    while (
        following is not None
        and end < following.start()
        and text[end + 1 : end + 2] not in ("{", "[", "<", "`", "｛", "［", "\n")
    ):
        line = text.find("\n", end + 1)
        end = line if line >= 0 else len(text)
    scan.found.labelled.append((label.start(), end))
    return Candidate(label.start(), end, "bare")


def _final(scan: Scan, label: re.Match[str]) -> Candidate | None:
    if label.groupdict().get("open") != "✿" and folded(label["final"]) == "return":
        return None
    if scan.open_fence is not None:
        return None
    scan.found.noise.append((label.start(), label.end()))
    return Candidate(label.start(), len(scan.text), "bare")


def _calls(scan: Scan, label: re.Match[str], *, is_strong: bool) -> Candidate | None:
    text = scan.text
    candidate = Candidate(label.start(), label.end(), "label")
    current: re.Match[str] | None = label
    while current is not None:
        end = _one(scan, current, candidate, is_strong=is_strong)
        if end < 0:
            break
        candidate.end = end
        following = _label_behind(text, end)
        if following is None:
            break
        role = _role(following)
        is_made_up = role == "observation" or (
            role in ("thought", "final", "action") and label["action"] is not None
        )
        if is_made_up:
            candidate.drops_rest = True
            break
        current = following if role in ("action", "tool") else None
    if not candidate.asked and candidate.answer is None:
        return None
    return candidate


def _label_behind(text: str, end: int) -> re.Match[str] | None:
    """The label of the next line that is not blank."""
    gap = _LINE_BREAK.match(text, end)
    return label_at(text, gap.end()) if gap else None


def _one(scan: Scan, label: re.Match[str], candidate: Candidate, *, is_strong: bool) -> int:
    """Reads one call behind its label; gives the position after it, or -1."""
    text = scan.text
    begin = label.end()
    stop = text.find("\n", begin)
    line_end = stop if stop >= 0 else len(text)
    line = text[begin:line_end].strip()
    if (
        not line
        and (below := _NAME_BELOW.match(text, begin))
        and scan.tools.lookup(below["name"]) is not None
    ):
        begin, line_end, line = below.start("name"), below.end(), below["name"]
    if not line or (
        line[0] in "{｛[［`"
        and not _CALL.match(line)
        and (not line.startswith("`") or line.startswith("```"))
    ):
        return _object(scan, begin, candidate)
    call = _CALL.match(text, begin)
    if call and scan.tools.lookup(call["name"]) is not None:
        return _python(scan, call, candidate)
    return _by_name(scan, (begin, line_end), line, candidate, is_strong=is_strong)


def _by_name(scan: Scan, extent: tuple[int, int], line: str, candidate: Candidate, *, is_strong: bool) -> int:
    """Reads a call whose label is followed by its name; gives the position after it, or -1."""
    text = scan.text
    begin, line_end = extent
    inline = _INLINE_INPUT.search(text, begin, line_end)
    name = (
        (text[begin : inline.start()] if inline else line)
        .strip()
        .strip("`*\"'“”")
        .rstrip(",.;，。；")
        .strip()
    )
    bracket = _BRACKETS.match(name)
    if bracket and not inline:
        return _bracketed(scan, bracket, line_end, candidate)
    tool = scan.tools.lookup(name)
    if tool is None and (not is_strong or not _NAME_LIKE.match(name)):
        return -1
    given = inline or _input_label(text, line_end)
    if (
        tool is None
        and not inline
        and (line[-1:] in "。.!！?？；;" or (given is None and not _TOKEN.match(name)))
    ):
        return -1
    if folded(name) in NO_TOOL | ANSWERING and tool is None:
        candidate.answer = _value_text(text, given.end(), len(text)) if given else ""
        return len(text) if given else line_end
    if given is None and not is_strong and (tool is None or tool.required):
        return -1
    asked, end = _input(scan, name, tool, given.end() if given else -1, line_end)
    candidate.asked.append(asked)
    return end


def _input_label(text: str, line_end: int) -> re.Match[str] | None:
    gap = _LINE_BREAKS.match(text, line_end)
    label = label_at(text, gap.end()) if gap else None
    return label if label is not None and _role(label) == "input" else None


def _object(scan: Scan, begin: int, candidate: Candidate) -> int:
    """`Action:` with a whole JSON call behind it, perhaps in a fence."""
    text = scan.text
    fence = _FENCE.match(text, begin)
    pos = fence.end() if fence else begin
    try:
        loose = scan.read_value(pos)
    except LooseError:
        return -1
    found = scan.envelopes.calls(loose)
    if found is None:
        return -1
    candidate.asked.extend(found[0])
    candidate.answer = found[1] if found[1] is not None else candidate.answer
    return _past_trail(text, loose.end, is_fenced=fence is not None)


def _past_trail(text: str, end: int, *, is_fenced: bool) -> int:
    if is_fenced:
        close = _FENCE_BEHIND.match(text, end)
        end = close.end() if close else end
    while trail := _TRAIL.match(text, end):
        end = trail.end()
    return end


def _python(scan: Scan, match: re.Match[str], candidate: Candidate) -> int:
    try:
        call = scan.read_arguments(match.end())
    except LooseError as problem:
        candidate.asked.append(
            Asked(
                match["name"], {}, problem=syntax_problem(problem, scan.text[match.start() :], match.start())
            )
        )
        return max(problem.position, match.end())
    candidate.asked.append(call_of(scan, match["name"], call))
    return _past_trail(scan.text, call.end, is_fenced=False)


def _bracketed(scan: Scan, match: re.Match[str], line_end: int, candidate: Candidate) -> int:
    """`name[input]`; `Finish[answer]` is an answer."""
    name = match["name"].strip()
    tool = scan.tools.lookup(name)
    if tool is None and folded(name) in ANSWERING:
        candidate.answer = match["input"].strip()
        return line_end
    asked = _from_text(scan, name, tool, match["input"].strip())
    candidate.asked.append(asked)
    return line_end


def _value_text(text: str, begin: int, limit: int) -> str:
    following = _ANY_LABEL.search(text, begin, limit)
    return text[begin : following.start() if following else limit].strip()


def _input(scan: Scan, name: str, tool: Tool | None, begin: int, line_end: int) -> tuple[Asked, int]:
    """The arguments of a call: behind an input label, or an object on the next line, or none."""
    text = scan.text
    if begin < 0:
        ahead = _OBJECT_AHEAD.match(text, line_end)
        if not ahead:
            return Asked(name, {}), line_end
        begin = line_end
    fence = _FENCE.match(text, begin)
    pos = fence.end() if fence else _BACKTICK.match(text, begin).end()  # type: ignore[union-attr]
    if text[pos : pos + 1] in ("{", "｛", "[", "［") and not (
        text.startswith("[", pos) and _is_prose_bracket(scan, pos)
    ):
        return _json_input(scan, name, tool, pos, is_fenced=fence is not None)
    following = _ANY_LABEL.search(text, begin)
    limit = following.start() if following else len(text)
    if scan.open_fence is not None and (close := text.find("\n" + scan.open_fence.mark, begin, limit)) >= 0:
        limit, following = close, following or _ANY_LABEL.search("\nAction:")
    if following is None and not fence:
        # Without another label a bare input ends with its paragraph.
        gap = text.find("\n\n", pos)
        limit = gap if gap >= 0 else limit
    if fence:
        close = text.find("```", pos)
        limit = close if close >= 0 else limit
        raw = text[pos:limit].rstrip("\n")
        return _from_text(scan, name, tool, raw), _past_trail(text, limit, is_fenced=True)
    return _from_text(scan, name, tool, text[begin:limit]), limit


def _is_prose_bracket(scan: Scan, pos: int) -> bool:
    try:
        scan.read_value(pos)
    except LooseError:
        return True
    return False


def _json_input(scan: Scan, name: str, tool: Tool | None, pos: int, *, is_fenced: bool) -> tuple[Asked, int]:
    text = scan.text
    try:
        loose = scan.read_value(pos)
    except LooseError as problem:
        following = _ANY_LABEL.search(text, pos)
        end = following.start() if following else len(text)
        return Asked(name, {}, problem=syntax_problem(problem, text[pos:], pos)), end
    asked = scan.envelopes.with_value(name, tool, loose.value) or Asked(name, {}, positional=(loose.value,))
    asked.fixes = (*loose.fixes, *asked.fixes)
    if loose.open_path is not None:
        asked.state = "cut" if loose.is_cut or loose.open_path else "unclosed"
    return asked, _past_trail(text, loose.end, is_fenced=is_fenced)


def _from_text(scan: Scan, name: str, tool: Tool | None, raw: str) -> Asked:
    """Arguments from plain text: pairs, lines of `key: value`, or the only value."""
    text = raw.strip().strip("`").strip()
    if tool is not None and _PAIR.match(text):
        try:
            call = read_arguments(text + "\n)", 0)
        except LooseError:
            pass
        else:
            if call.keywords and all(scan.tools and _is_own(tool, key) for key in call.keywords):
                call.is_cut, call.is_closed = False, True
                asked = call_of(scan, name, call)
                asked.fixes = (*asked.fixes, fix("call_syntax"))
                return asked
    if tool is not None and re.match(r"[\w\-]+[ \t]*[:：][ \t\n]", text):
        try:
            value = read_yaml(raw.strip("\n") if raw.startswith("\n") else text)
        except YamlError:
            value = None
        if isinstance(value, dict) and value and all(_is_own(tool, key) for key in value):
            return Asked(name, value, (fix("call_syntax"),))
    if len(text) > 1 and text[0] in "\"'“" and text[-1] in "\"'”":
        try:
            loose = read_value(text)
        except LooseError:
            pass
        else:
            if isinstance(loose.value, str) and loose.is_complete and loose.end == len(text):
                text = loose.value
    return scan.envelopes.with_text(name, tool, text) or Asked(name, {}, positional=(text,))


def _is_own(tool: Tool, key: str) -> bool:
    plain = folded(key)
    return any(folded(own) == plain for own in tool.properties)


_FIRST = "|".join(_ROLES[role] for role in ("thought", "final", "action", "tool"))
FAMILY = Family(
    name="labels",
    first="\n",
    opening=re.compile(
        rf"[ \t>]*+(?:[-•*][ \t]++)?[*_`#]*+[ \t]*+[【\[✿]?[ \t]*+(?:{_FIRST})[ \t]*\d{{0,2}}[ \t]*[】\]✿:：*_`\n]",
        re.IGNORECASE,
    ),
    read=read,
    rank=15,
    holds=False,
)
