"""Whether a program keeps to the part of Python that Monty runs. Measured on pydantic-monty 1.4."""

from __future__ import annotations

import ast
from typing import Final

MODULES: Final = frozenset(
    {
        "asyncio",
        "base64",
        "bisect",
        "collections",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "functools",
        "hashlib",
    }
    | {"itertools", "json", "math", "random", "re", "sys", "time", "typing", "__future__"}
)
_METHODS: Final = frozenset({"__init__", "__enter__", "__exit__", "__post_init__"})
_CALLS: Final = frozenset({"open", "input", "globals", "locals", "vars", "exit", "quit"})
_KINDS: Final = {
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.Delete: "del",
    ast.AsyncWith: "async with",
    ast.AsyncFor: "async for",
    ast.TryStar: "except*",
}


def beyond_monty(tree: ast.AST) -> str:
    """The first thing that needs full Python, or "" where all is in the part.

    Args:
        tree: the program.
    """
    return next(filter(None, map(_beyond, ast.walk(tree))), "")


def _beyond(node: ast.AST) -> str:
    if type(node) in _KINDS:
        return _KINDS[type(node)]
    if isinstance(node, ast.ClassDef):
        return _class(node)
    if isinstance(node, ast.Import):
        return _modules([alias.name for alias in node.names])
    if isinstance(node, ast.ImportFrom):
        return _modules([node.module or "."])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        return f"{node.func.id}()"
    if isinstance(node, ast.Attribute) and node.attr in {"TaskGroup", "__name__", "OrderedDict"}:
        return node.attr
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "create_task"
    ):
        return "create_task()"
    return ""


def _class(node: ast.ClassDef) -> str:
    if node.bases or node.keywords:
        return f"class {node.name}(…)"
    for part in node.body:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            if part.decorator_list:
                return f"a decorator in class {node.name}"
            if part.name.startswith("__") and part.name not in _METHODS:
                return part.name
    return ""


def _modules(names: list[str]) -> str:
    return next((f"import {name}" for name in names if name.split(".")[0] not in MODULES), "")
