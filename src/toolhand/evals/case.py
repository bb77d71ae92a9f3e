"""A case, its questions and fixtures, and the suite that holds the cases. How they are read is in `reading.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from toolhand.core.errors import SettingsError, ToolError
from toolhand.core.language import Language, say
from toolhand.core.messages import Message
from toolhand.core.tools import ToolChoice
from toolhand.evals.expectation import Arguments, Expectation
from toolhand.toolset import Toolset

DEFAULT_TURNS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """What a tool answers in a case instead of running.

    Args:
        when: the arguments that it answers; None for all.
        result: what the tool gives back.
        error: an error instead.
        times: how often it answers; None for always.
    """

    when: Arguments | None = None
    result: Any = None
    error: ToolError | None = None
    times: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One message of the user and what is expected of the answer.

    Args:
        text: what the user says.
        expectation: what the answer has to be like.
    """

    text: str
    expectation: Expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that a model has to do well with tools.

    Args:
        id: its name.
        questions: the user's messages, in one session.
        tools: what may be called.
        tags: words to group by.
        fixtures: by tool, what is answered instead of running it.
        history: what was said before.
        outputs: raw replies that are read instead of asking a model.
        instructions: what the model is told first; None for the default.
        language: of the words to the model; None for the question's.
        tool_choice: which tools may be called.
        turns: the most replies to one question.
        user: who asks.
        permissions: what the user holds.
        roles: what the user is.
        facts: values for `Injected` parameters.
        note: for people.
        written: the case as a file would have it, with nothing left to a file's defaults.
    """

    id: str
    questions: tuple[Question, ...]
    tools: Toolset
    tags: tuple[str, ...] = ()
    fixtures: Mapping[str, tuple[Fixture, ...]] = field(default_factory=dict)
    history: tuple[Message, ...] = ()
    outputs: tuple[str, ...] = ()
    instructions: str | None = None
    language: Language | None = None
    tool_choice: ToolChoice = field(default_factory=ToolChoice)
    turns: int = DEFAULT_TURNS
    user: str = ""
    permissions: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    facts: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    written: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What it is about: "calls" where a call is needed, "silence" where none may be made, else "text"."""
        kinds = [question.expectation.kind for question in self.questions]
        return "calls" if "calls" in kinds else "silence" if "silence" in kinds else "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Cases that are judged together.

    Args:
        name: what reports call it.
        cases: the cases, each id once.
    """

    name: str
    cases: tuple[Case, ...]

    def chosen(
        self, tags: tuple[str, ...] = (), ids: tuple[str, ...] = (), limit: int | None = None
    ) -> Suite:
        """Only the cases with one of these tags, and of these ids, and of these at most `limit`, evenly spread.

        Raises:
            SettingsError: when an id or a tag is not there.
        """
        known = {case.id for case in self.cases}
        for name in ids:
            if name not in known:
                raise SettingsError(say(f"there is no case '{name}'", f"没有用例“{name}”"))
        all_tags = {tag for case in self.cases for tag in case.tags}
        for tag in tags:
            if tag not in all_tags:
                raise SettingsError(
                    say(
                        f"no case has the tag '{tag}'; there is: {', '.join(sorted(all_tags)) or 'none'}",
                        f"没有用例带标签“{tag}”；现有标签：{'、'.join(sorted(all_tags)) or '无'}",
                    )
                )
        kept = [
            case
            for case in self.cases
            if (not ids or case.id in ids) and (not tags or not set(tags).isdisjoint(case.tags))
        ]
        if limit is not None and limit < len(kept):
            kept = [kept[number * len(kept) // limit] for number in range(limit)]
        return replace(self, cases=tuple(kept))

    def joined(self, other: Suite) -> Suite:
        """The cases of both.

        Raises:
            SettingsError: when a case of both has one id.
        """
        known = {case.id for case in self.cases}
        for case in other.cases:
            if case.id in known:
                raise SettingsError(
                    say(
                        f"two files have a case '{case.id}': give one another id",
                        f"两个文件都有用例“{case.id}”：请改名",
                    )
                )
        return Suite(name=f"{self.name} + {other.name}", cases=(*self.cases, *other.cases))
