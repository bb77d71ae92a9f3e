"""Lets a model choose among tools for questions that it has made up itself, and tells which tools it takes for one another.

The tools do not run: what counts is the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from toolhand.agent import Agent
from toolhand.core.errors import FatalError
from toolhand.core.events import CallFinished, Event
from toolhand.core.language import Language, language_of
from toolhand.core.tools import Rules, Tool
from toolhand.models import Model
from toolhand.models.resolve import resolve
from toolhand.run import Limits

MOST_SHOWN: Final = 30
"""With more tools than this, the model is shown the likeliest, as an agent with `choose` would show them."""

_ASK: Final[dict[Language, str]] = {
    "en": (
        "Here is a tool of an assistant:\n{told}\n\nWrite {count} different short requests, as a user would say them, that need "
        "exactly this tool. Give every value that it needs. Do not name the tool."
    ),
    "zh": (
        "这是一个助手的工具：\n{told}\n\n请写出 {count} 条不同的简短请求，像用户平时说话那样，正好需要用到这个工具。"
        "给出它所需的全部取值，不要提到工具的名称。"
    ),
}


class _ChosenError(FatalError):
    """A tool was reached: the choice is known, and the run ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question.

    Args:
        question: what was asked.
        wanted: the tool that it was made up for.
        called: the tools of the first calls; none where the model answered in words.
    """

    question: str
    wanted: str
    called: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        """Whether the tool was among the first calls."""
        return self.wanted in self.called


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """All questions.

    Args:
        model: who was asked.
        asked: the questions.
        without: tools for which the model made up no question.
    """

    model: str
    asked: tuple[Asked, ...]
    without: tuple[str, ...] = ()

    @property
    def right(self) -> int:
        """How many were chosen right."""
        return sum(asked.is_right for asked in self.asked)

    @property
    def confusions(self) -> list[Asked]:
        """The others."""
        return [asked for asked in self.asked if not asked.is_right]

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "model": self.model,
            "right": self.right,
            "asked": [
                {"question": one.question, "wanted": one.wanted, "called": list(one.called)}
                for one in self.asked
            ],
            "without": list(self.without),
        }


async def choices(
    model: str | Model,
    tools: Sequence[Tool] | Any,
    *,
    questions: int = 2,
    on_question: Callable[[Asked], None] | None = None,
) -> Choices:
    """Asks a model for questions to each tool, and which tool it would call for each.

    Args:
        model: the model, or its name.
        tools: the tools; they do not run.
        questions: how many questions for each tool.
        on_question: called with each question once it was answered.

    Raises:
        ModelError: when the model's server fails.
    """
    asked_model = resolve(model)
    inert = [_inert(tool) for tool in tools]
    choose = MOST_SHOWN if len(inert) > MOST_SHOWN else None
    agent = Agent(asked_model, inert, choose=choose, limits=Limits(turns=2, calls=4))
    found: list[Asked] = []
    without: list[str] = []
    try:
        for tool in inert:
            made = await _questions(asked_model, tool, questions)
            if not made:
                without.append(tool.name)
            for question in made:
                one = Asked(question=question, wanted=tool.name, called=await _called(agent, question))
                found.append(one)
                if on_question is not None:
                    on_question(one)
    finally:
        if isinstance(model, str):
            await asked_model.close()
    return Choices(model=asked_model.name, asked=tuple(found), without=tuple(without))


async def _questions(model: Model, tool: Tool, count: int) -> list[str]:
    language = language_of(tool.description)
    parameters = "\n".join(
        f"- {name}: {schema.get('description', '')}"
        for name, schema in tool.properties.items()
        if hasattr(schema, "get")
    )
    told = f"{tool.name}: {tool.description}\n{parameters}".strip()
    asking = Agent(model, output=list[str], limits=Limits(turns=3), language=language)
    run = await asking.run(_ASK[language].format(told=told, count=count))
    made = [" ".join(text.split()) for text in run.output or [] if text.strip()]
    return list(dict.fromkeys(made))[:count]


async def _called(agent: Agent[str], question: str) -> tuple[str, ...]:
    """The tools of the first calls, run or not."""
    called: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, CallFinished) and event.tool is not None and event.call.name != "search_tools":
            called.append(event.tool.name)

    try:
        await agent.run(question, on_event=hear)
    except _ChosenError as chosen:
        called.append(str(chosen))
    return tuple(dict.fromkeys(called))


def _inert(tool: Tool) -> Tool:
    """The same to a model, but whoever calls it only learns that it was chosen."""

    def chosen(**_: Any) -> None:
        raise _ChosenError(tool.name)

    rules = Rules(category=tool.rules.category, tags=tool.rules.tags)
    return replace(tool, function=chosen, validate=None, rules=rules, injected={}, policies=None)
