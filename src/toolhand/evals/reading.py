"""From a case file to a `Suite`: every mistake is named with its line, what is wrong, and what to do."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from toolhand.core.errors import SettingsError, ToolDefinitionError, UnknownToolError
from toolhand.core.language import say
from toolhand.core.tools import Tool, ToolChoice
from toolhand.evals.case import DEFAULT_TURNS, Case, Question, Suite
from toolhand.evals.format import CASE, EXPECTATION, QUESTION, SUITE
from toolhand.evals.spots import Source, Spot, read_spots
from toolhand.evals.wanted import read_expectation, read_fixtures, read_history
from toolhand.load import load_tools
from toolhand.tools.openai import from_openai
from toolhand.toolset import Toolset

_INHERITED: Final = tuple(key for key in SUITE if key in CASE)


def read_suite(path: str | Path, *, runs_writing_tools: bool = False) -> Suite:
    """The suite in a case file.

    Args:
        path: a YAML or JSON file; its format is in `docs/reference/cases.md`.
        runs_writing_tools: whether tools that change something run for real where a case has no fixture for them.

    Raises:
        CaseFileError: when something in it cannot be used.
        SettingsError: when a module of tools cannot be imported.
        MissingExtraError: when PyYAML is not installed.
    """
    path = Path(path)
    spot = read_spots(path)
    if spot.value is None:
        spot.fail("the file is empty; it needs `cases:` with a list", "文件是空的；需要 `cases:` 列表")
    spot.keys(SUITE, "a case file", "用例文件")
    if not spot.value.get("cases"):
        spot.fail(
            "there are no cases; the file needs `cases:` with a list", "没有用例；文件需要 `cases:` 列表"
        )
    sources = _Sources()
    shared = {key: spot.value[key] for key in _INHERITED if key in spot.value}
    reader = _CaseReader(sources, shared, spot, runs_writing_tools=runs_writing_tools)
    cases: dict[str, Case] = {}
    for item in spot.child("cases").list():
        case = reader.read(item)
        if case.id in cases:
            item.fail(
                f"another case is called '{case.id}' already: give this one an id of its own",
                f"已有名为“{case.id}”的用例：请改名",
            )
        cases[case.id] = case
    name = spot.child("name").text() if "name" in spot.value else path.stem
    return Suite(name=name, cases=tuple(cases.values()))


def read_case(
    written: Mapping[str, Any], *, folder: Path | None = None, runs_writing_tools: bool = False
) -> Case:
    """One case from a mapping with a case's keys, as a program makes it.

    Raises:
        CaseFileError: when something in it cannot be used.
    """
    source = Source(folder=folder or Path())
    reader = _CaseReader(_Sources(), {}, Spot({}, source), runs_writing_tools=runs_writing_tools)
    return reader.read(Spot(dict(written), source))


class _Sources:
    """Tools by their source, each loaded once."""

    def __init__(self) -> None:
        self._loaded: dict[str, list[Tool]] = {}

    def tools(self, spot: Spot) -> list[Tool]:
        """The tools of one entry of `tools`."""
        if isinstance(spot.value, Mapping):
            try:
                return from_openai([spot.value])
            except ToolDefinitionError as error:
                spot.fail(str(error), str(error))
        name = absolute(spot.text(), spot.source.folder)
        if name not in self._loaded:
            try:
                self._loaded[name] = list(load_tools(name))
            except SettingsError as error:
                spot.fail(str(error), str(error))
        return self._loaded[name]


def absolute(source: str, folder: Path) -> str:
    """A source of tools with its path made independent of where it is read from."""
    if source.endswith(".py"):
        return str((folder / Path(source).expanduser()).resolve())
    return source


def relative(source: str, folder: Path) -> str:
    """The way from a folder to a source of tools."""
    return Path(os.path.relpath(source, folder)).as_posix() if Path(source).is_absolute() else source


class _CaseReader:
    def __init__(
        self, sources: _Sources, shared: Mapping[str, Any], above: Spot, *, runs_writing_tools: bool
    ) -> None:
        self._sources = sources
        self._shared = shared
        self._above = above
        self._runs_writing_tools = runs_writing_tools

    def read(self, spot: Spot) -> Case:
        spot.keys(CASE, "a case", "用例")
        self._spot = spot
        if "id" not in spot.value:
            spot.fail("a case needs an id", "用例需要 id")
        id_ = spot.child("id")
        name = str(id_.value) if isinstance(id_.value, int) else id_.text()
        tools = self._tools()
        fixtures = self._fixtures(tools)
        questions = self._questions(tools)
        outputs = spot.child("output").texts() if "output" in spot.value else ()
        self._check_runnable(tools, fixtures, questions)
        return Case(
            id=name,
            questions=questions,
            tools=tools,
            tags=self._texts("tags"),
            fixtures=fixtures,
            history=read_history(spot.child("history"), tools) if "history" in spot.value else (),
            outputs=outputs,
            instructions=self._optional("instructions"),
            language=self._language(),
            tool_choice=self._tool_choice(tools),
            turns=self._at("turns").whole(1) if self._has("turns") else DEFAULT_TURNS,
            user=self._optional("user") or "",
            permissions=frozenset(self._texts("permissions")),
            roles=frozenset(self._texts("roles")),
            facts=self._at("facts").mapping() if self._has("facts") else {},
            note=self._optional("note") or "",
            written=self._written(spot, name),
        )

    def _written(self, spot: Spot, name: str) -> dict[str, Any]:
        merged = {**spot.value, "id": name, **{k: v for k, v in self._shared.items() if k not in spot.value}}
        folder = self._above.source.folder
        if "tools" in merged:
            entries = merged["tools"] if isinstance(merged["tools"], list) else [merged["tools"]]
            merged["tools"] = [absolute(e, folder) if isinstance(e, str) else e for e in entries]
        return {key: merged[key] for key in CASE if key in merged}

    def _has(self, key: str) -> bool:
        return key in self._spot.value or key in self._shared

    def _at(self, key: str) -> Spot:
        return self._spot.child(key) if key in self._spot.value else self._above.child(key)

    def _optional(self, key: str) -> str | None:
        return self._at(key).text() if self._has(key) else None

    def _texts(self, key: str) -> tuple[str, ...]:
        return self._at(key).texts() if self._has(key) else ()

    def _language(self) -> Any:
        return self._at("language").choice("en", "zh") if self._has("language") else None

    def _tools(self) -> Toolset:
        found: list[Tool] = []
        if self._has("tools") and self._at("tools").value is not None:
            for entry in self._at("tools").each():
                found += self._sources.tools(entry)
        try:
            tools = Toolset(found)
        except ToolDefinitionError as error:
            self._at("tools").fail(str(error), str(error))
        for key in ("only", "without"):
            if key in self._spot.value:
                names = self._spot.child(key).texts()
                for name in names:
                    self._known(self._spot.child(key), name, tools)
                kept = [tool for tool in tools if (tool.name in names) == (key == "only")]
                tools = Toolset(kept)
        return tools

    def _known(self, spot: Spot, name: str, tools: Toolset) -> Tool:
        try:
            return tools[name]
        except UnknownToolError:
            names = ", ".join(tools.names) or say("none", "无")
            spot.fail(
                f"there is no tool '{name}' in this case; there is: {names}",
                f"此用例中没有工具“{name}”；现有：{names}",
            )

    def _tool_choice(self, tools: Toolset) -> ToolChoice:
        if not self._has("tool_choice"):
            return ToolChoice()
        spot = self._at("tool_choice")
        choice = ToolChoice.of(spot.texts() if isinstance(spot.value, list) else spot.text())
        for name in choice.names:
            self._known(spot, name, tools)
        return choice

    def _questions(self, tools: Toolset) -> tuple[Question, ...]:
        spot, keys = self._spot, self._spot.value
        if ("question" in keys) + ("questions" in keys) + ("output" in keys and "question" not in keys) != 1:
            spot.fail(
                "a case needs either a question, or questions, or an output that is to be read",
                "用例需要 question、questions 或 output 之一",
            )
        if "questions" not in keys:
            text = spot.child("question").text() if "question" in keys else "…"
            return (Question(text=text, expectation=read_expectation(spot, tools)),)
        stray = next((key for key in EXPECTATION if key in keys), None)
        if stray is not None:
            spot.child(stray).fail(
                f"with `questions`, '{stray}' belongs to the question that it is about",
                f"使用 `questions` 时，“{stray}”应写在对应的问题里",
            )
        found = []
        for item in spot.child("questions").list():
            item.keys(QUESTION, "a question", "问题")
            if "question" not in item.value:
                item.fail("`question` is missing: what the user says", "缺少 `question`：用户说的话")
            found.append(
                Question(
                    text=item.child("question").text(),
                    expectation=read_expectation(item, tools, open_ended=True),
                )
            )
        if not found:
            spot.child("questions").fail("the list is empty", "列表是空的")
        return tuple(found)

    def _fixtures(self, tools: Toolset) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        for above, is_own in ((self._above, False), (self._spot, True)):
            if "fixtures" in above.value:
                for name, spot in above.child("fixtures").items():
                    if name in tools:
                        found[name] = read_fixtures(spot)
                    elif is_own and name not in self._texts("without"):
                        self._known(spot, name, tools)
        return found

    def _check_runnable(
        self, tools: Toolset, fixtures: Mapping[str, Any], questions: Sequence[Question]
    ) -> None:
        """A case that judges an answer's text needs results for the calls on the way to it."""
        for number, question in enumerate(questions):
            expected = question.expectation
            is_last = number == len(questions) - 1
            if not expected.calls or (is_last and not expected.needs_text) or "output" in self._spot.value:
                continue
            for call in expected.calls:
                tool = tools.get(call.name)
                if tool is not None and not runs(tool, fixtures, runs_writing_tools=self._runs_writing_tools):
                    why = (
                        ("only a schema is given", "只有 schema")
                        if tool.function is None
                        else (f"its effect is '{tool.rules.effect}'", f"其 effect 为“{tool.rules.effect}”")
                    )
                    self._spot.fail(
                        f"'{tool.name}' does not run ({why[0]}), so nothing can be said about what follows it: "
                        f"give a fixture for it, or leave out `text`",
                        f"“{tool.name}”不会执行（{why[1]}），之后的内容无法判断：请为它写 fixtures，或去掉 `text`",
                    )


def runs(tool: Tool, fixtures: Mapping[str, Any], *, runs_writing_tools: bool) -> bool:
    """Whether a call to a tool gives a result in a case."""
    if tool.name in fixtures:
        return True
    return tool.function is not None and (tool.rules.effect == "reads" or runs_writing_tools)
