"""A plan for people: a numbered list, and a Mermaid graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolhand.core.language import Language
from toolhand.parsing.plans.nodes import Block, For, If, Parallel, Plan, Return, Step

_SAID: Final = {
    "en": {"call": "Call {call}", "keep": "Call {call}; its result is ${name}", "set": "Let ${name} be {value}",
           "if": "If {test}:", "elif": "Else, if {test}:",
           "else": "Else:", "for": "For each ${name} in {items}:", "parallel": "Side by side:",
           "return": "Answer {value}", "yes": "yes", "no": "no", "each": "each", "done": "done", "start": "start", "end": "end"},
    "zh": {"call": "调用 {call}", "keep": "调用 {call}，结果记为 ${name}", "set": "令 ${name} 为 {value}", "if": "如果 {test}：",
           "elif": "否则，如果 {test}：", "else": "否则：", "for": "对 {items} 中的每个 ${name}：", "parallel": "同时进行：",
           "return": "回答 {value}", "yes": "是", "no": "否", "each": "逐个", "done": "完", "start": "开始", "end": "结束"},
}  # fmt: skip


_STEERING: Final = re.compile('["#<>%`&;]')
"""What would end a label, open a tag, an entity or a directive (`%%{init}`), or make a label Markdown."""


def explain(plan: Plan, language: Language = "en") -> str:
    """The plan as a numbered list."""
    return "\n".join(_items(plan.body, "", _SAID[language]))


def _items(body: Block, above: str, words: dict[str, str]) -> Iterator[str]:
    for number, statement in enumerate(body, 1):
        path = f"{above}{number}"
        indent = "   " * path.count(".")
        match statement:
            case If(branches=branches):
                for place, (test, inner) in enumerate(branches):
                    key = "else" if test is None else "elif" if place else "if"
                    yield f"{indent}{path}{chr(97 + place % 26)}. {words[key].format(test=test)}"
                    yield from _items(inner, f"{path}{chr(97 + place % 26)}.", words)
            case For(name=name, items=items, body=inner):
                yield f"{indent}{path}. {words['for'].format(name=name, items=items)}"
                yield from _items(inner, f"{path}.", words)
            case Parallel(steps=steps):
                yield f"{indent}{path}. {words['parallel']}"
                yield from _items(steps, f"{path}.", words)
            case Return(value=value):
                yield f"{indent}{path}. {words['return'].format(value=value)}"
            case Step():
                yield f"{indent}{path}. {_step(statement, words)}"


def _step(step: Step, words: dict[str, str]) -> str:
    if not step.tool:
        return words["set"].format(name=step.save_as, value=step.value)
    call = str(step).removesuffix(f" -> {step.save_as}")
    return words["keep" if step.save_as else "call"].format(call=call, name=step.save_as)


def mermaid(plan: Plan, language: Language = "en") -> str:
    """The plan as a Mermaid flow chart."""
    graph = _Graph(_SAID[language])
    last = graph.block(plan.body, [(graph.node("([", graph.words["start"], "])"), "")])
    end = graph.node("([", graph.words["end"], "])")
    graph.join(last, end)
    return "\n".join(["flowchart TD", *graph.lines])


class _Graph:
    """Nodes and arrows as they come; an end is a node and the word on the arrow that leaves it."""

    def __init__(self, words: dict[str, str]) -> None:
        self.words, self.lines, self.count = words, [], 0  # type: tuple[dict[str, str], list[str], int]

    def node(self, opens: str, text: str, closes: str) -> str:
        """A new node's name."""
        self.count += 1
        safe = _STEERING.sub(lambda found: f"#{ord(found[0])};", text)
        self.lines.append(f'    n{self.count}{opens}"{safe}"{closes}')
        return f"n{self.count}"

    def join(self, ends: list[tuple[str, str]], node: str) -> None:
        """Arrows from every open end."""
        self.lines += [
            f"    {end} -->|{word}| {node}" if word else f"    {end} --> {node}" for end, word in ends
        ]

    def block(self, body: Block, ends: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Statements behind open ends; gives the ends that are open then."""
        for statement in body:
            match statement:
                case If(branches=branches):
                    left: list[tuple[str, str]] = []
                    for test, inner in branches:
                        if test is not None:
                            asked = self.node("{", str(test), "}")
                            self.join(ends, asked)
                            left += self.block(inner, [(asked, self.words["yes"])])
                            ends = [(asked, self.words["no"])]
                        else:
                            left, ends = left + self.block(inner, ends), []
                    ends = left + ends
                case For(name=name, items=items, body=inner):
                    loop = self.node(
                        "{{", self.words["for"].format(name=name, items=items).rstrip(":："), "}}"
                    )
                    self.join(ends, loop)
                    self.join(self.block(inner, [(loop, self.words["each"])]), loop)
                    ends = [(loop, self.words["done"])]
                case Parallel(steps=steps):
                    ends = [end for step in steps for end in self.block((step,), ends)]
                case Return(value=value):
                    self.join(ends, self.node("([", self.words["return"].format(value=value), "])"))
                    ends = []
                case Step():
                    step = self.node("[", str(statement), "]")
                    self.join(ends, step)
                    ends = [(step, "")]
        return ends
