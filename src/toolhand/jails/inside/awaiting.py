"""Which calls of tools a program wants to wait for later: those that it awaits, gathers, or keeps under a name that it does.

A tool is a plain function to a program. Models write `await tool(…)` and `asyncio.gather(tool(…), …)` all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

_TAKERS: Final = {"gather", "wait_for", "as_completed", "create_task", "ensure_future", "shield"}
_KEEPERS: Final = {"append", "extend", "add"}


def awaited_calls(tree: ast.AST, tools: Collection[str]) -> list[ast.Call]:
    """The calls of tools, by name or through `api`, that have to give something to be awaited.

    Args:
        tree: the program.
        tools: the tools' names.
    """
    nodes = list(ast.walk(tree))
    leaves = [leaf for node in nodes for part in _waited_for(node) for leaf in _leaves(part)]
    names = {leaf.id for leaf in leaves if isinstance(leaf, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and names & _names(node.target):
            names |= (
                _names(node.iter) if isinstance(node.iter, ast.Name) else set()
            )  # `for one in tasks: await one`
    leaves += [leaf for node in nodes for part in _kept(node, names) for leaf in _leaves(part)]
    found = {id(leaf): leaf for leaf in leaves if isinstance(leaf, ast.Call) and _is_tool(leaf.func, tools)}
    return list(found.values())


def _names(target: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}


def _waited_for(node: ast.AST) -> list[ast.expr]:
    """What is waited for at a node."""
    if isinstance(node, ast.Await):
        return [node.value]
    if isinstance(node, ast.Call):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        is_asyncio = isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "asyncio"
        if name in _TAKERS or (is_asyncio and name in {"run", "wait"}):
            return list(node.args)
    return []


def _kept(node: ast.AST, names: Collection[str]) -> list[ast.expr]:
    """What is kept under one of the names."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
        targets = [
            one.value if isinstance(one, ast.Subscript) else one
            for one in (node.targets if isinstance(node, ast.Assign) else [node.target])
        ]
        return [node.value] if any(isinstance(one, ast.Name) and one.id in names for one in targets) else []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPERS:
        return list(node.args) if getattr(node.func.value, "id", None) in names else []
    return []


def _leaves(part: ast.expr) -> Iterator[ast.expr]:
    """The names and calls whose values make up an expression, not those that are only arguments of one of them."""
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name | ast.Call):
            yield one
        waiting += _parts(one)


def _parts(one: ast.expr) -> list[ast.expr]:
    match one:
        case ast.Call(func=ast.Attribute(attr="values", value=value)):
            return [value]
        case ast.Starred() | ast.NamedExpr() | ast.DictComp() | ast.Subscript():
            return [one.value]
        case ast.List() | ast.Tuple() | ast.Set():
            return one.elts
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            return [one.elt]
        case ast.Dict():
            return one.values
        case ast.IfExp():
            return [one.body, one.orelse]
    return []


def _is_tool(function: ast.expr, tools: Collection[str]) -> bool:
    if isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "api":
        return function.attr in tools or function.attr == "call_tool"
    return isinstance(function, ast.Name) and function.id in tools
