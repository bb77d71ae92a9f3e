"""Programs in a reply: which parts of it are Python that is meant to run, fenced or bare, and the drift of models around it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from toolhand.arguments.settings import BindSettings
from toolhand.core.errors import ErrorCode, SettingsError, ToolError
from toolhand.core.language import say
from toolhand.core.messages import FinishReason, Fix, RawCall, Reply, ToolCall
from toolhand.core.tools import Tool
from toolhand.parsing.costs import fix
from toolhand.protocols.reading.stream import TextReader
from toolhand.tools.collection import ToolCollection
from toolhand.tools.stubs import python_name

RUN_CODE: Final = "run_code"
"""The name of the call that carries a program through a neutral history: `{"code": text}`."""

_ALIASES: Final = frozenset(
    {RUN_CODE, "run_python", "python", "code_interpreter", "execute_code", "execute_python"}
)
_LANGUAGES: Final = frozenset(
    {"python", "py", "python3", "tool_code", "code", "ipython", "python_code", "pycon", "repl"}
)
_FENCE: Final = re.compile(
    r"(?P<open>```+|~~~+)[ \t]*(?P<language>[\w+#.-]*)[ \t]*\r?\n(?P<code>.*?)"
    r"(?:\n[ \t>]*(?P=open)(?![`~\w])|(?P=open)[ \t]*(?=\n|$)|\Z)"
    r"|```(?:python|py)[ \t]+(?P<inline>[^\n`]+)```"
    r"|<(?P<tag>code|execute|python|py|execute_ipython|tool_code)>\s*(?P<tagged>.*?)(?:</(?P=tag)>|\Z)"
    r"|<\|python_tag\|>(?P<marked>.*?)(?:<\|e[ao]\w+\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHT: Final = re.compile(
    r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_BARE: Final = re.compile(
    r"(?:import|from|def|async|await|for|if|while|with|try|class|print|return)\b|@|>>>|#"
    r"|[^\W\d][\w.]*[ \t]*(?:\(|（|=(?!=)|:[ \t]*\w+[ \t]*=)|[^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)+[ \t]*="
)
_HANGS: Final = re.compile(
    r"\b(?:if|when|unless|otherwise|or|alternatively|example|instead|confirm\w*|depend\w*|would|could)\b"
    r"|如果|若是?|除非|否则|确认|视|取决|或者|或是|例如|比如|示例|[?？]",
    re.IGNORECASE,
)
_WIDE: Final = str.maketrans("（）：，；【】“”‘’＝＋－＊／．", "():,;[]\"\"''=+-*/.")
_PROMPT: Final = re.compile(r"^[ \t]*(?:>>>|\.\.\.)[ \t]?", re.MULTILINE)
_MOST_STARTS, _MOST_BARE = 6, 40_000
_WORDS: Final = {
    "en": {
        "cut": "The program was cut off before its end, so none of it ran.",
        "cut_hint": "Write a shorter program, or only its first steps.",
        "doubt": "It is not clear whether this program is to run, and it changes something.",
        "doubt_hint": "Did you mean to run it? Answer with one ```python block and no other words, or with no.",
    },
    "zh": {
        "cut": "程序没有写完就被截断了，所以没有执行。",
        "cut_hint": "请写短一些的程序，或只写开头几步。",
        "doubt": "不清楚是否要执行这个程序，而它会改变某些东西。",
        "doubt_hint": "要执行吗？请只回复一个 ```python 代码块，或回复不执行。",
    },
}


@dataclass(slots=True)
class _Block:
    """A stretch of a reply that may be a program.

    Args:
        start: where it begins in the text, its fence included.
        end: where it ends.
        code: the program.
        is_named: whether it says that it is Python.
        is_closed: whether its end was written.
        fixes: what was mended.
    """

    start: int
    end: int
    code: str
    is_named: bool = True
    is_closed: bool = True
    fixes: tuple[Fix, ...] = ()


class CodeReader(TextReader):
    """Reads one reply in which a program may stand, or a call in any other spelling; prose before it streams on.

    Args:
        tools: what a program may call.
        new_id: gives an id that no call has yet.
        settings: how calls are bound.
    """

    def __init__(self, tools: ToolCollection, new_id: Callable[[], str], settings: BindSettings) -> None:
        if RUN_CODE in tools:
            raise SettingsError(
                say(
                    f"a tool cannot be named '{RUN_CODE}' where programs are used: rename it with @tool(name=…)",
                    f"使用程序时，工具不能叫“{RUN_CODE}”：请用 @tool(name=…) 改名",
                )
            )
        carrier = Tool(
            name=RUN_CODE,
            parameters={"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
        )
        super().__init__(ToolCollection([*tools, carrier]), new_id, settings)
        self._tools, self._new_id, self._language = tools, new_id, settings.language
        self._names = frozenset({*tools.names, *map(python_name, tools)} - {""})
        self._whole: list[str] = []
        self._open, self._is_held = "", False

    def feed(self, chunk: str) -> str:
        """Takes more of the text; gives what may be shown now."""
        self._whole.append(chunk)
        if self._is_held:
            return ""
        sure, self._open = self._sure(self._open + chunk)
        return super().feed(sure) if sure else ""

    def _sure(self, text: str) -> tuple[str, str]:
        """The part that is prose for sure, and what is not."""
        mark = min((at for at in map(text.find, ("`", "~~~", "<")) if at >= 0), default=-1)
        begin = 0
        while begin <= len(text):
            stop = text.find("\n", begin)
            line = text[begin:] if stop < 0 else text[begin:stop]
            bare = line.lstrip(" \t>")
            if _BARE.match(bare) or begin <= mark < begin + len(line) + 1:
                self._is_held = True
                return text[:begin], text[begin:]
            if (
                stop < 0
            ):  # the line goes on: it may yet become code unless its first words are several already
                is_prose = (len(bare) > 60 and " " in bare.strip()[:40]) or any(
                    sign > "\u3000" for sign in bare[:1]
                )
                return (text, "") if is_prose and "(" not in bare else (text[:begin], text[begin:])
            begin = stop + 1
        return text, ""

    def finish(self, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """Ends the reading."""
        return self.read("".join(self._whole), calls, finish_reason)

    def read(self, text: str, calls: Sequence[RawCall] = (), finish_reason: FinishReason = "stop") -> Reply:
        """The whole text at once."""
        calls = [replace(call, name=RUN_CODE) if call.name in _ALIASES else call for call in calls]
        blocks = [] if calls else self._meant(text)
        if not blocks:
            return super().read(text, calls, finish_reason)
        said = super().read(text[: blocks[0].start].rstrip(), (), "stop").text
        problem = self._objection(text, blocks, finish_reason)
        if problem is not None:
            return Reply(text=said, problems=(problem,))
        code = "\n".join(block.code for block in blocks)
        fixes = tuple(taken for block in blocks for taken in block.fixes)
        return Reply(
            text=said,
            calls=(ToolCall(id=self._new_id(), name=RUN_CODE, arguments={"code": code}, fixes=fixes),),
        )

    # ------------------------------------------------------------------ which parts are meant
    def _meant(self, text: str) -> list[_Block]:
        masked = _THOUGHT.sub(lambda found: " " * len(found[0]), text)
        fenced = [block for found in _FENCE.finditer(masked) if (block := self._fenced(found)) is not None]
        meant = [block for block in fenced if self._acts(block)]
        if meant:
            return [block for block in fenced if block in meant or block.is_named]
        return [] if fenced else self._bare(masked)

    def _fenced(self, found: re.Match[str]) -> _Block | None:
        language = (found["language"] or "").lower()
        code = (
            found["code"]
            if found["code"] is not None
            else found["inline"] or found["tagged"] or found["marked"]
        )
        if code is None or (language and language not in _LANGUAGES):
            return None
        is_closed = found.end() < len(found.string) or found[0].rstrip().endswith(("```", "~~~", ">"))
        is_named = bool(language or found["inline"] or found["tagged"] or found["marked"])
        return self._mended(_Block(found.start(), found.end(), code, is_named, is_closed))

    def _mended(self, block: _Block) -> _Block:
        """The block without what is no Python, where it is Python then."""
        for kind, mend in (
            ("", lambda code: textwrap.dedent(code).strip("\n")),
            ("code_prompt", lambda code: _PROMPT.sub("", code)),
            ("code_punctuation", lambda code: code.translate(_WIDE)),
        ):
            code = mend(block.code)
            if kind == "" or (_tree(block.code) is None and _tree(code) is not None):
                taken = (fix(kind, before=block.code[:80], after=code[:80]),) if kind else ()
                block = replace(block, code=code, fixes=(*block.fixes, *taken))
        return block

    def _bare(self, text: str) -> list[_Block]:
        """A program without a fence: from a line that may begin one to the end, or to the prose behind it."""
        if len(text) > _MOST_BARE:
            return []
        starts = [
            found.end()
            for found in re.finditer(r"(?:\A|\n)[ \t>]*(?=\S)", text)
            if _BARE.match(text, found.end())
        ]
        for start in starts[:_MOST_STARTS]:
            for end in (
                len(text),
                *reversed([found.start() for found in re.finditer(r"\n[ \t]*\n", text[start:])][-2:]),
            ):
                stop = end if end == len(text) else start + end
                block = self._mended(_Block(start, stop, text[start:stop]))
                if self._acts(block, is_bare=True):
                    return [block]
        return []

    def _acts(self, block: _Block, *, is_bare: bool = False) -> bool:
        """Whether a block does something: calls a tool, prints, or ends in a value. One that says it is Python may be broken."""
        tree = _tree(block.code)
        if tree is None:
            return (
                block.is_named
                and not is_bare
                and any(f"{name}(" in block.code for name in (*self._names, "print"))
            )
        called = {_called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        if called & self._names or "api" in called:
            return True
        is_shown = "print" in called or (
            bool(tree.body)
            and isinstance(tree.body[-1], ast.Expr)
            and not isinstance(tree.body[-1].value, ast.Constant)
        )
        return is_shown and block.is_named and (not is_bare or len(tree.body) > 1)

    def _objection(self, text: str, blocks: list[_Block], finish_reason: FinishReason) -> ToolError | None:
        if (
            finish_reason == "length"
            and blocks[-1].end >= len(text.rstrip())
            and not text.rstrip().endswith(("```", "~~~"))
        ):
            return self._problem("cut", ErrorCode.TRUNCATED)
        between = " ".join(text[one.end : other.start] for one, other in pairwise(blocks))
        if _HANGS.search(between) and any(self._writes(block) for block in blocks):
            return self._problem("doubt", ErrorCode.DOUBTFUL)
        return None

    def _writes(self, block: _Block) -> bool:
        return any(
            tool.rules.effect != "reads"
            and any(name and name in block.code for name in (tool.name, python_name(tool)))
            for tool in self._tools
        )

    def _problem(self, key: str, code: ErrorCode) -> ToolError:
        words = _WORDS[self._language]
        return ToolError(code=code, message=words[key], retryable=True, hint=words[f"{key}_hint"])


def _tree(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _called(node: ast.Call) -> str:
    """The name that is called; "api" for whatever is reached through it."""
    function = node.func
    if isinstance(function, ast.Attribute):
        return "api" if isinstance(function.value, ast.Name) and function.value.id == "api" else ""
    return function.id if isinstance(function, ast.Name) else ""
