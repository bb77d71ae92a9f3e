"""A YAML file as plain values that know the line they stand on, so that a mistake in it can be named with its place.

Read as YAML 1.2 reads scalars: `NO`, `on` and `12:30` stay text, and so do dates. JSON is YAML, so a JSON file will do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from toolhand.arguments.suggest import closest
from toolhand.core.errors import MissingExtraError, SettingsError
from toolhand.core.language import say

MOST_VALUES: Final = 300_000
"""How many values a file may hold: aliases of aliases would otherwise have no end."""

MOST_DEPTH: Final = 60

Place: TypeAlias = tuple[str | int, ...]

_INTEGER: Final = re.compile(r"[-+]?\d+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?")
_WORDS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".inf", ".Inf", "+.inf"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN"), float("nan")),
}


class CaseFileError(SettingsError):
    """A case file holds something that cannot be used; the message says on which line, what, and what to do."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where values come from.

    Args:
        name: the file, for errors; "" for values that a program made.
        lines: the line of each value by its path.
        folder: against which the file names other files.
    """

    name: str = ""
    lines: Mapping[Place, int] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)


@dataclass(frozen=True, slots=True)
class Spot:
    """A value and where it stands."""

    value: Any
    source: Source = field(default_factory=Source)
    path: Place = ()

    @property
    def line(self) -> int | None:
        """Its line, counted from 1, or that of the nearest value around it."""
        for end in range(len(self.path), -1, -1):
            if self.path[:end] in self.source.lines:
                return self.source.lines[self.path[:end]]
        return None

    def fail(self, english: str, chinese: str) -> NoReturn:
        """Raises `CaseFileError` for this place."""
        line = self.line
        where = self.source.name
        if line is not None:
            where = say(f"{where}, line {line}", f"{where} 第 {line} 行")
        elif self.path:
            where = f"{where or say('case', '用例')} ({'.'.join(map(str, self.path))})"
        raise CaseFileError(
            say(f"{where}: {english}", f"{where}：{chinese}") if where else say(english, chinese)
        )

    def child(self, key: str | int) -> Spot:
        """The value below a key or at a position."""
        return Spot(self.value[key], self.source, (*self.path, key))

    def items(self) -> Iterator[tuple[str, Spot]]:
        """The entries of a mapping."""
        for key in self.mapping():
            yield key, self.child(key)

    def mapping(self) -> Mapping[str, Any]:
        """The value, which has to be a mapping."""
        if not isinstance(self.value, Mapping):
            self.fail(
                f"a mapping belongs here (key: value), not {shown(self.value)}",
                f"这里应当是键值对（key: value），而不是 {shown(self.value)}",
            )
        return self.value

    def keys(self, allowed: Iterable[str], what: str, what_zh: str) -> Mapping[str, Any]:
        """The value, which has to be a mapping with only these keys."""
        known = list(allowed)
        for key in self.mapping():
            if key not in known:
                near = closest(key, known)
                hint = say(f"; did you mean '{near}'?", f"；是否想写“{near}”？") if near else ""
                self.child(key).fail(
                    f"{what} has no key '{key}'{hint} It may have: {', '.join(known)}",
                    f"{what_zh}没有键“{key}”{hint}可用的键：{'、'.join(known)}",
                )
        return self.value  # type: ignore[no-any-return]

    def list(self) -> Sequence[Spot]:
        """The items of a value that has to be a list."""
        if not isinstance(self.value, list):
            self.fail(
                f"a list belongs here (- item), not {shown(self.value)}",
                f"这里应当是列表（- 项），而不是 {shown(self.value)}",
            )
        return [self.child(number) for number in range(len(self.value))]

    def each(self) -> Sequence[Spot]:
        """The items of a list, or the value alone where it is none."""
        return self.list() if isinstance(self.value, list) else [self]

    def text(self) -> str:
        """The value, which has to be text that is not empty."""
        if not isinstance(self.value, str) or not self.value.strip():
            self.fail(
                f"a text belongs here, not {shown(self.value)}", f"这里应当是文本，而不是 {shown(self.value)}"
            )
        return self.value

    def texts(self) -> tuple[str, ...]:
        """One text or a list of texts."""
        return tuple(item.text() for item in self.each())

    def number(self, least: float | None = None) -> float:
        """The value, which has to be a number."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(f"a number belongs here, not {shown(value)}", f"这里应当是数字，而不是 {shown(value)}")
        if least is not None and value < least:
            self.fail(f"it must be at least {least:g}, not {value}", f"不能小于 {least:g}，而这里是 {value}")
        return value

    def whole(self, least: int) -> int:
        """The value, which has to be a whole number of at least so much."""
        number = self.number(least)
        if number != int(number):
            self.fail(f"a whole number belongs here, not {number}", f"这里应当是整数，而不是 {number}")
        return int(number)

    def flag(self) -> bool:
        """The value, which has to be true or false."""
        if not isinstance(self.value, bool):
            self.fail(
                f"true or false belongs here, not {shown(self.value)}",
                f"这里应当是 true 或 false，而不是 {shown(self.value)}",
            )
        return self.value

    def choice(self, *choices: str) -> str:
        """The value, which has to be one of these words."""
        if self.value not in choices:
            words = ", ".join(choices)
            self.fail(f"one of {words} belongs here, not {shown(self.value)}", f"这里应当是 {words} 之一")
        return str(self.value)


def shown(value: Any, most: int = 80) -> str:
    """A value in one short line, as JSON."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else f"{text[:most]}…"


def yaml_module() -> Any:
    """PyYAML.

    Raises:
        MissingExtraError: when the extra 'eval' is not installed.
    """
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("eval", say("reading case files", "读取用例文件")) from None
    return yaml


def read_spots(path: Path) -> Spot:
    """The file's content.

    Raises:
        CaseFileError: when it cannot be read or is not YAML; with the line where that is known.
        MissingExtraError: when PyYAML is not installed.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else say("it is not UTF-8", "不是 UTF-8 编码")
        raise CaseFileError(
            say(f"the case file '{path}' cannot be read: {reason}", f"无法读取用例文件“{path}”：{reason}")
        ) from None
    return spots_of(text, name=str(path), folder=path.resolve().parent)


def spots_of(text: str, *, name: str, folder: Path | None = None) -> Spot:
    """A YAML text's content; see `read_spots`."""
    yaml = yaml_module()
    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader_class)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).split("\n", 1)[0]
        lines: dict[Place, int] = {(): mark.line + 1} if mark is not None else {}
        Spot(None, Source(name, lines)).fail(
            f"this is not YAML: {what}; check the indentation and the quotes",
            f"不是有效的 YAML：{what}；请检查缩进和引号",
        )
    reader = _Reader(name)
    reader.lines[()] = 1
    value = None if root is None else reader.read(root, (), 0)
    return Spot(value, Source(name, reader.lines, folder or Path()))


class _Reader:
    """Turns composed nodes into plain values and notes their lines."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[Place, int] = {}
        self._left = MOST_VALUES

    def read(self, node: Any, path: Place, depth: int) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        self._left -= 1
        if self._left < 0 or depth > MOST_DEPTH:
            self._fail(
                path,
                "the file is too large or nested too deeply; write it without aliases of aliases",
                "文件过大或嵌套过深；请不要使用多层别名",
            )
        if node.id == "scalar":
            return _scalar(node)
        if node.id == "sequence":
            return [self.read(item, (*path, number), depth + 1) for number, item in enumerate(node.value)]
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if key_node.id == "scalar" else None
            place = (*path, key or "?")
            self.lines[place] = key_node.start_mark.line + 1
            if key is None or key in found:
                self._fail(
                    place,
                    "a key must be a plain text" if key is None else f"the key '{key}' stands here twice",
                    "键必须是普通文本" if key is None else f"键“{key}”出现了两次",
                )
            found[key] = self.read(value_node, place, depth + 1)
        return self._merged(found, path)

    def _merged(self, found: dict[str, Any], path: Place) -> dict[str, Any]:
        """With what `<<: *anchor` brings in."""
        if "<<" not in found:
            return found
        parts = found.pop("<<")
        merged: dict[str, Any] = {}
        for part in parts if isinstance(parts, list) else [parts]:
            if not isinstance(part, dict):
                self._fail((*path, "<<"), "only mappings can be merged with <<", "<< 只能合并键值对")
            merged = {**part, **merged}
        return {**merged, **found}

    def _fail(self, path: Place, english: str, chinese: str) -> NoReturn:
        Spot(None, Source(self.name, self.lines), path).fail(english, chinese)


def _scalar(node: Any) -> Any:
    return node.value if node.style in ('"', "'", "|", ">") else plain_value(node.value)


def plain_value(text: str) -> Any:
    """What a text without quotes means."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
