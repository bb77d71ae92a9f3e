"""What is wrong with a program before it runs: how it is written, names that nothing gives, tool calls that cannot be right."""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from toolhand.core.language import Language

MOST_CHARACTERS: Final = 50_000
"""No task needs a longer one, and it is looked at before it runs."""
MOST_PROBLEMS: Final = 10
_GIVEN: Final = frozenset(
    [
        "api",
        "ToolError",
        "__name__",
        "__file__",
        "__doc__",
        "__builtins__",
        "__spec__",
        "__loader__",
        "__package__",
    ]
)
_HIDDEN: Final = frozenset(
    {"exec", "eval", "globals", "locals", "vars", "setattr", "__builtins__", "compile", "__import__"}
)
_API: Final = frozenset({"call_tool", "parallel"})

CheckCall = Callable[[str, Mapping[str, Any], Collection[str]], str]
"""What is wrong with a call: the tool's name, the arguments whose values are known, the names of the others; "" for nothing."""

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "syntax": "This is not Python: {said}.",
        "long": "The program is longer than {most} characters.",
        "deep": "The program is nested too deep.",
        "name": "There is no '{name}' here{near}.",
        "near": "; did you mean {near}?",
        "many": "{name}() takes {most} arguments, and {count} were given.",
    },
    "zh": {
        "syntax": "这不是合法的 Python：{said}。",
        "long": "程序超过 {most} 个字符。",
        "deep": "程序嵌套过深。",
        "name": "这里没有“{name}”{near}。",
        "near": "，是不是想写 {near}？",
        "many": "{name}() 最多接受 {most} 个参数，这里给了 {count} 个。",
    },
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a program.

    Args:
        kind: "syntax" or "check".
        message: a sentence.
        line: where, from 1; 0 for nowhere.
    """

    kind: Literal["syntax", "check"]
    message: str
    line: int


def read_program(code: str, language: Language = "en") -> ast.Module | Problem:
    """The program's tree, or why there is none."""
    words = _WORDS[language]
    if len(code) > MOST_CHARACTERS:
        return Problem("syntax", words["long"].format(most=MOST_CHARACTERS), 0)
    try:
        return ast.parse(code)
    except SyntaxError as error:
        return Problem("syntax", words["syntax"].format(said=error.msg), error.lineno or 0)
    except ValueError as error:
        return Problem("syntax", words["syntax"].format(said=error), 0)
    except (RecursionError, MemoryError):
        return Problem("syntax", words["deep"], 0)


def problems_of(
    tree: ast.Module, tools: Mapping[str, Sequence[str]], check_call: CheckCall, language: Language = "en"
) -> list[Problem]:
    """What is surely wrong, so that nothing of the program runs. What it guards with `try` is its own affair.

    Args:
        tree: the program.
        tools: the parameters of each tool by its name.
        check_call: says what is wrong with a call.
        language: of the sentences.
    """
    nodes = list(ast.walk(tree))
    bound = {name for node in nodes for name in _bound(node)}
    loaded = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    is_open = bool(loaded & _HIDDEN) or "*" in bound
    known = frozenset(bound | _GIVEN | set(tools) | set(dir(builtins)))
    found: dict[Problem, None] = {}
    unknown = cache(_unknown)  # to look for names that are alike takes a while
    for node in _unguarded(tree):
        if len(found) >= MOST_PROBLEMS:
            break
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and node.id not in known
            and not is_open
        ):
            found[Problem("check", unknown(node.id, known, language), node.lineno)] = None
        if isinstance(node, ast.Call) and isinstance(name := _tool(node, bound), str):
            if name not in tools and not (isinstance(node.func, ast.Attribute) and name in _API):
                if isinstance(node.func, ast.Attribute):
                    others = frozenset(f"api.{one}" for one in tools)
                    found[Problem("check", unknown(f"api.{name}", others, language), node.lineno)] = None
            elif name in tools and (said := _call(node, name, tools[name], check_call, language)):
                found[Problem("check", said, node.lineno)] = None
    return list(found)


def _unknown(name: str, known: frozenset[str], language: Language) -> str:
    words = _WORDS[language]
    near = difflib.get_close_matches(name, known, 3, 0.75)
    hint = words["near"].format(near=", ".join(near)).removesuffix("?") if near else ""
    return words["name"].format(name=name, near=hint)


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a node gives a value to."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        yield node.name or ""
    elif isinstance(node, ast.MatchMapping):
        yield node.rest or ""
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names


def _unguarded(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those in the body of a `try` that catches something, in the order of the lines."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        guarded = node.body if isinstance(node, ast.Try | ast.TryStar) and node.handlers else []
        kept = [child for child in ast.iter_child_nodes(node) if not any(child is one for one in guarded)]
        waiting += reversed(kept)


def _tool(node: ast.Call, bound: Collection[str]) -> str | None:
    """The tool that a call names, as long as the program has not given that name a meaning of its own."""
    function = node.func
    if isinstance(function, ast.Name):
        return None if function.id in bound else function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr if function.value.id == "api" and "api" not in bound else None
    return None


def _call(
    node: ast.Call, name: str, parameters: Sequence[str], check_call: CheckCall, language: Language
) -> str:
    if any(isinstance(one, ast.Starred) for one in node.args) or any(
        one.arg is None for one in node.keywords
    ):
        return ""
    if len(node.args) > len(parameters):
        words = {"name": name, "most": len(parameters), "count": len(node.args)}
        return _WORDS[language]["many"].format(**words)
    written = [
        *zip(parameters, node.args, strict=False),
        *((one.arg or "", one.value) for one in node.keywords),
    ]
    known: dict[str, Any] = {}
    others: list[str] = []
    for key, value in written:
        try:
            known[key] = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            others.append(key)
    return check_call(name, known, others)
