"""How far a program may go, and how it went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from toolhand.core.errors import SettingsError
from toolhand.core.language import Language, say
from toolhand.core.messages import ToolCall, ToolResult

Backend = Literal["auto", "monty", "process", "container"]

Kind = Literal[
    "syntax",
    "check",
    "unsupported",
    "exception",
    "time",
    "memory",
    "output",
    "calls",
    "crashed",
    "replay",
    "waiting",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a program may go. What is beyond any of them ends it, and it cannot catch that.

    Args:
        seconds: of time on the wall, the tools' own included.
        memory_mb: megabytes beyond what the interpreter starts with; Monty takes at most 64.
        output_kb: kilobytes of printed text that are kept, and of JSON that the value may have.
        calls: how many tool calls it may make.

    Raises:
        SettingsError: for a limit that is none.
    """

    seconds: float = 30.0
    memory_mb: int = 256
    output_kb: int = 64
    calls: int = 1_000

    def __post_init__(self) -> None:
        bounds = {
            "seconds": (0.01, 3_600),
            "memory_mb": (16, 65_536),
            "output_kb": (1, 8_192),
            "calls": (0, 1_000_000),
        }
        for name, (least, most) in bounds.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise SettingsError(
                    say(
                        f"Limits: {name} must be from {least:g} to {most:g}, not {value!r}",
                        f"Limits：{name} 必须在 {least:g} 到 {most:g} 之间，不能是 {value!r}",
                    )
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeError:
    """Why a program did not come to its end, in words for the model that wrote it.

    Args:
        kind: "syntax" or "check" (nothing ran), "exception" (it raised one), or which limit or wall it met.
        message: one sentence.
        line: the program's line, from 1; 0 where none is to blame.
        source_line: that line.
    """

    kind: Kind
    message: str
    line: int = 0
    source_line: str = ""
    language: Language = "en"

    def __str__(self) -> str:
        if not self.line:
            return self.message
        where = f"第 {self.line} 行" if self.language == "zh" else f"line {self.line}"
        return (
            f"{where}, `{self.source_line}`: {self.message}"
            if self.source_line
            else f"{where}: {self.message}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a program went.

    Args:
        output: what it printed, cut to `output_kb`.
        value: the value of its last line where that is an expression, as JSON has it; else None.
        error: why it did not come to its end; None where it did.
        calls: the tool calls it made, in their order.
        results: their results, in the same order.
        files: pictures and texts that it left in its folder, by name.
        backend: what ran it: "monty", "process", "container"; "" where nothing ran.
        isolation: which walls stood around it, such as ("landlock", "seccomp").
        seconds: how long it took.
    """

    output: str = ""
    value: Any = None
    error: CodeError | None = None
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    backend: str = ""
    isolation: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it came to its end."""
        return self.error is None


WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "time": "The program was stopped after {seconds:g} seconds.",
        "memory": "The program needed more than its {memory} MB of memory, or more files or threads than it may have.",
        "output": "The value of the last line is larger than {output} kB: end with less, or print what matters.",
        "calls": "The program was stopped: it made more than {calls} tool calls.",
        "crashed": "The program's process ended before the program did: a crash, an exit, or something that is not allowed.",
        "replay": "The program was begun anew and asked for other tool calls than before, so it was stopped: tools that change "
        "something must not run twice.",
        "waiting": "The program waits for a person to agree to {name}.",
        "cut": "\n… the rest of the output was left out",
        "unsupported": "{said} Only a part of Python runs here: no generators, class inheritance, properties or del, and of "
        "modules only math, re, json, datetime, random, itertools, functools, collections and a few more; no pandas.",
    },
    "zh": {
        "time": "程序运行超过 {seconds:g} 秒，已停止。",
        "memory": "程序需要的内存超过了 {memory} MB，或文件、线程超过了允许的数量。",
        "output": "最后一行的值超过 {output} kB：请返回更少的内容，或只打印需要的部分。",
        "calls": "程序已停止：工具调用超过了 {calls} 次。",
        "crashed": "程序的进程在程序结束之前就终止了：崩溃、退出，或做了不允许的事。",
        "replay": "程序重新开始后要求的工具调用与之前不同，已停止：会改变内容的工具不能执行两次。",
        "waiting": "程序在等待有人同意 {name}。",
        "cut": "\n……其余输出已省略",
        "unsupported": "{said} 这里只能运行一部分 Python：没有生成器、类继承、property 和 del，模块只有 math、re、json、"
        "datetime、random、itertools、functools、collections 等少数几个，没有 pandas。",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRules:
    """How the programs of a protocol run.

    Args:
        limits: how far each may go.
        backend: what runs them, as for `run_code`.
    """

    limits: Limits = field(default_factory=Limits)
    backend: str = "auto"
