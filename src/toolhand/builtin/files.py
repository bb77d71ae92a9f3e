"""`list_files`, `read_file` and `search_files`: the text files under one folder, and nothing outside of it."""

from __future__ import annotations

import datetime as dt
import difflib
import os
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Final, NotRequired, TypedDict

from pydantic import Field

from toolhand.builtin._decoding import SAMPLE_BYTES, BinaryContentError, TextPieces, lines
from toolhand.builtin._file_walk import Budget, FileLimits, below, matches, opened
from toolhand.builtin._file_words import is_missing, note, refusal, with_hint
from toolhand.builtin._holdings import acquainted, held, told
from toolhand.builtin._reach import BY_HAND
from toolhand.builtin._rooted import MAX_PATH_LENGTH, Entry, Root, names_of, root_at
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.context import RunContext
from toolhand.core.errors import ToolFailure
from toolhand.core.language import Language
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

_LONGEST_LINE_PART: Final = SAMPLE_BYTES
_EXCERPT_CHARACTERS: Final = 200
_FILE: Final = "notes/plan.txt"  # as `read_file` says it where the folder has no file of its own


__all__ = ["FileLimits", "file_tools", "offer", "tools_over"]


class Listed(TypedDict):
    """A file or folder."""

    path: str
    kind: str
    size_bytes: NotRequired[int]
    modified: NotRequired[str]


class Listing(TypedDict):
    """What a folder holds."""

    entries: list[Listed]
    truncated: bool
    note: NotRequired[str]


class Text(TypedDict):
    """Lines of a file. `next_line` is there where more follows."""

    path: str
    encoding: str
    start_line: int
    end_line: int
    text: str
    next_line: NotRequired[int]
    note: NotRequired[str]


class Hit(TypedDict):
    """A line that holds the text."""

    path: str
    line: int
    text: str


class Found(TypedDict):
    """What a search found."""

    hits: list[Hit]
    files_searched: int
    truncated: bool
    note: NotRequired[str]


def offer(settings: BuiltinSettings) -> list[Tool]:
    """The file tools, where a root is given."""
    return [] if settings.root is None else file_tools(settings.root)


def file_tools(root: str | os.PathLike[str], *, limits: FileLimits | None = None) -> list[Tool]:
    """The tools `list_files`, `read_file` and `search_files` over a folder. They are safe in any thread.

    Args:
        root: the folder. Links in it are not followed, wherever they lead.
        limits: what one call may take.

    Raises:
        SettingsError: when it is not a folder.
    """
    return tools_over(root_at(root), limits or FileLimits())


def tools_over(place: Root, limits: FileLimits) -> list[Tool]:
    """The same tools over a root that is already there."""
    there = held(place)
    first = next((entry.name for entry in there if entry.kind == "file"), "")
    reading = acquainted(_read_file(place, limits), told("Files", there), {_FILE: first} if first else None)
    return [_list_files(place, limits), reading, _search_files(place, limits)]


def _list_files(place: Root, limits: FileLimits) -> Tool:
    @tool(effect="reads", idempotent=True, category="files", timeout=limits.seconds + 10)
    def list_files(  # noqa: D417 - the context is not the model's
        path: Annotated[str, Field(max_length=MAX_PATH_LENGTH)] = ".",
        pattern: Annotated[str, Field(max_length=200)] = "",
        context: RunContext = BY_HAND,
    ) -> Listing:
        """Lists the files and folders in a folder.

        列出文件夹里的文件。

        Args:
            path: a folder such as "reports"; "." is the top folder. 文件夹路径。
            pattern: only files whose name matches, such as "*.txt", also in folders below. 文件名模式。

        Returns:
            The path, kind and size of each.
        """
        with _teaching(place, path):
            return _listing(place, names_of(path), pattern.strip(), limits, context.language)

    return list_files


def _read_file(place: Root, limits: FileLimits) -> Tool:
    @tool(effect="reads", idempotent=True, category="files", timeout=limits.seconds + 10)
    def read_file(  # noqa: D417 - the context is not the model's
        path: Annotated[str, Field(min_length=1, max_length=MAX_PATH_LENGTH)],
        start_line: Annotated[int, Field(ge=1)] = 1,
        max_lines: Annotated[int, Field(ge=1, le=10_000)] = 500,
        context: RunContext = BY_HAND,
    ) -> Text:
        """Reads a text file.

        读取文本文件的内容。

        Args:
            path: the file, such as "notes/plan.txt". 文件路径。
            start_line: the first line to read, 1 for the beginning. 起始行号。
            max_lines: how many lines at most. 最多行数。

        Returns:
            The text, its encoding, and the next line's number where more follows.
        """
        with _teaching(place, path):
            return _text(
                place, names_of(path), range(start_line, start_line + max_lines), limits, context.language
            )

    return read_file


def _search_files(place: Root, limits: FileLimits) -> Tool:
    @tool(effect="reads", idempotent=True, category="files", timeout=limits.seconds + 10)
    def search_files(  # noqa: D417 - the context is not the model's
        text: Annotated[str, Field(min_length=1, max_length=200)],
        pattern: Annotated[str, Field(max_length=200)] = "",
        path: Annotated[str, Field(max_length=MAX_PATH_LENGTH)] = ".",
        context: RunContext = BY_HAND,
    ) -> Found:
        """Finds the lines of text files that hold a text; upper and lower case are alike.

        在文件内容里搜索文字。

        Args:
            text: what to look for, such as "invoice 2026" or "合同". 要找的文字。
            pattern: only files whose name matches, such as "*.md". 文件名模式。
            path: the folder to search, with all folders below; "." is the top folder. 文件夹路径。

        Returns:
            The file, line number and line of each hit.
        """
        with _teaching(place, path):
            found, searched, is_cut = _search(place, names_of(path), text, pattern.strip(), limits)
        answer = Found(hits=found[: limits.hits], files_searched=searched, truncated=is_cut)
        if is_cut:
            answer["note"] = note("stopped", context.language)
        elif not found:
            answer["note"] = note("not_found", context.language, count=searched)
        return answer

    return search_files


@contextmanager
def _teaching(place: Root, path: str) -> Iterator[None]:
    """Adds to "there is no …" what there is."""
    try:
        yield
    except ToolFailure as failure:
        if not is_missing(failure):
            raise
        names = names_of(path)
        english, chinese = _meant(place, names, "en"), _meant(place, names, "zh")
        raise (with_hint(failure, english, chinese) if english else failure) from None


def _meant(place: Root, names: tuple[str, ...], language: Language) -> str:
    """The closest names in the deepest folder of the path that is there."""
    for depth in range(len(names) - 1, -1, -1):
        try:
            there = [entry.name for entry in place.entries(names[:depth])[0]]
        except ToolFailure:
            continue
        close = difflib.get_close_matches(names[depth], there[:2_000], n=5, cutoff=0.5)
        folder = "/".join(names[:depth])
        listed = ", ".join(
            f"'{_in_one_line(f'{folder}/{name}' if folder else name)}'" for name in close or there[:10]
        )
        if close:
            return note("meant", language, names=listed)
        word = "holds_more" if len(there) > 10 else "holds"
        return note(word, language, folder=folder or ".", names=listed) if there else ""
    return ""


def _in_one_line(name: str) -> str:
    """A name as it stands in a sentence: whoever named the file must not end the sentence and begin another."""
    return "".join(character if character.isprintable() else "\ufffd" for character in name)


def _listing(
    place: Root, names: tuple[str, ...], pattern: str, limits: FileLimits, language: Language
) -> Listing:
    if pattern:
        budget = Budget(limits)
        found = [(inner, entry) for inner, entry in below(place, names, budget) if matches(inner, pattern)]
        is_cut = budget.is_spent or budget.has_left_out
    else:
        entries, is_cut = place.entries(names)
        found = [((*names, entry.name), entry) for entry in entries]
    listing = Listing(
        entries=[_listed("/".join(inner), entry) for inner, entry in found[: limits.entries]],
        truncated=is_cut or len(found) > limits.entries,
    )
    if listing["truncated"]:
        listing["note"] = note("some", language, count=len(listing["entries"]))
    elif not found:
        listing["note"] = note("no_match" if pattern else "empty", language)
    return listing


def _listed(path: str, entry: Entry) -> Listed:
    listed = Listed(path=path, kind=entry.kind)
    if entry.kind == "file":
        listed["size_bytes"] = entry.size_bytes
        with suppress(ValueError, OverflowError, OSError):  # a time that no calendar has
            listed["modified"] = dt.datetime.fromtimestamp(entry.modified, dt.UTC).isoformat(
                timespec="seconds"
            )
    return listed


def _text(place: Root, names: tuple[str, ...], wanted: range, limits: FileLimits, language: Language) -> Text:
    path, start_line = "/".join(names), wanted.start
    kept: list[str] = []
    room = limits.characters
    number, is_cut, next_line = 0, False, 0
    with opened(place, names) as descriptor:
        budget = Budget(limits)
        pieces = TextPieces(budget.blocks(descriptor))
        try:
            for number, part, is_end in lines(pieces, _LONGEST_LINE_PART):
                if number < start_line:
                    continue
                if number >= wanted.stop or room <= 0:
                    next_line = number
                    break
                kept.append(part[:room] + ("\n" if is_end else ""))
                is_cut = len(part) > room
                room -= len(kept[-1])
                if is_cut:
                    next_line = number + 1
                    break
        except BinaryContentError:
            raise refusal("binary", path) from None
        except OSError:
            raise refusal("not_now", path) from None
    if number < start_line and (number or start_line > 1):
        raise refusal("far" if budget.is_spent else "beyond", path, last=number)
    end_line = next_line - 1 if next_line else number
    found = Text(
        path=path,
        encoding=pieces.encoding,
        start_line=start_line,
        end_line=end_line,
        text="".join(kept).removesuffix("\n"),
    )
    if next_line:
        found["next_line"] = next_line
    notes = [
        note("cut_line", language, line=end_line) if is_cut else "",
        note("more", language, line=next_line) if next_line else "",
        note("too_large", language) if budget.is_spent and not next_line else "",
        note("bytes", language) if pieces.has_unreadable_bytes else "",
    ]
    if any(notes):
        found["note"] = " ".join(filter(None, notes))
    return found


def _search(
    place: Root, top: tuple[str, ...], text: str, pattern: str, limits: FileLimits
) -> tuple[list[Hit], int, bool]:
    """The hits, how many files were searched, and whether there is more that was not."""
    wanted = _folded(text)
    budget = Budget(limits)
    hits: list[Hit] = []
    searched = 0
    for names, _ in below(place, top, budget):
        if pattern and not matches(names, pattern):
            continue
        try:
            with opened(place, names) as descriptor:
                searched += 1
                for number, part, _ in lines(TextPieces(budget.blocks(descriptor)), _LONGEST_LINE_PART):
                    at = _folded(part).find(wanted)
                    if at >= 0:
                        hits.append(Hit(path="/".join(names), line=number, text=_excerpt(part, at)))
                    if len(hits) > limits.hits:
                        break
        except (
            BinaryContentError,
            ToolFailure,
            OSError,
        ):  # not a text, gone, or not to be read: the others still count
            continue
        if len(hits) > limits.hits or budget.is_spent:
            break
    is_cut = budget.is_spent or budget.has_left_out or len(hits) > limits.hits
    return hits, searched, is_cut


def _folded(text: str) -> str:
    """Without case, and with full-width letters and digits as plain ones."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _excerpt(line: str, at: int) -> str:
    """The part of a line around a place."""
    if len(line) <= _EXCERPT_CHARACTERS:
        return line.strip()
    start = max(0, min(at - _EXCERPT_CHARACTERS // 3, len(line) - _EXCERPT_CHARACTERS))
    end = start + _EXCERPT_CHARACTERS
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
