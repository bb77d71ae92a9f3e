"""`write_file` and `delete_file`: the text files under one folder may be changed, and nothing outside of it."""

from __future__ import annotations

import os
from threading import Lock
from typing import Annotated, Final, Literal, NotRequired, TypedDict

from pydantic import Field

from toolhand.builtin._decoding import SAMPLE_BYTES, BinaryContentError, detect
from toolhand.builtin._file_walk import opened
from toolhand.builtin._file_words import is_missing, note, refusal
from toolhand.builtin._reach import BY_HAND
from toolhand.builtin._rooted import MAX_PATH_LENGTH, Root, names_of
from toolhand.builtin._rooted_writing import Writer, checked_name, writer_at
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.context import RunContext
from toolhand.core.errors import ToolFailure
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

__all__ = ["file_writing_tools", "offer"]

_MOST_CHARACTERS: Final = 1_000_000
_MOST_BYTES: Final = 16 * 2**20
"""Of a file that is added to."""

_SECONDS: Final = 30.0


class Written(TypedDict):
    """A file that was written."""

    path: str
    size_bytes: int
    encoding: str
    note: NotRequired[str]


class Deleted(TypedDict):
    """A file that is gone."""

    deleted: str


def offer(settings: BuiltinSettings) -> list[Tool]:
    """The tools, where a root is given whose files may be written."""
    return file_writing_tools(settings.root) if settings.root is not None and settings.writes else []


def file_writing_tools(root: str | os.PathLike[str]) -> list[Tool]:
    """The tools `write_file` and `delete_file` over a folder. They are safe in any thread.

    Links are neither followed nor written over, names that begin with a dot are left alone, and a file is always whole.
    `delete_file` asks for approval.

    Args:
        root: the folder.

    Raises:
        SettingsError: when it is not a folder.
    """
    place, writer = writer_at(root)
    return [_write_file(place, writer), _delete_file(writer)]


def _write_file(place: Root, writer: Writer) -> Tool:
    turn = Lock()  # two who append at once would each keep only their own

    @tool(effect="writes", category="files", timeout=_SECONDS)
    def write_file(  # noqa: D417 - the context is not the model's
        path: Annotated[str, Field(min_length=1, max_length=MAX_PATH_LENGTH)],
        text: Annotated[str, Field(max_length=_MOST_CHARACTERS)],
        if_exists: Literal["fail", "replace", "append"] = "fail",
        context: RunContext = BY_HAND,
    ) -> Written:
        """Writes a text file. A file that is there keeps its encoding and its line ends.

        写入文本文件；已有文件保持原来的编码和换行。

        Args:
            path: the file, such as "notes/plan.txt"; folders that are missing are made. 文件路径。
            text: what it is to hold. 文件内容。
            if_exists: what to do with a file that is there: fail, replace it, or append to it. 文件已存在时如何处理。

        Returns:
            The path, the size and the encoding.
        """
        names = names_of(path)
        if if_exists == "fail":
            content, encoding = _encoded(text, "utf-8", path), "utf-8"
            writer.create(names, content)
            return Written(path="/".join(names), size_bytes=len(content), encoding=encoding)
        with turn:
            written, is_recoded = _over(place, writer, names, text, appends=if_exists == "append")
        return Written(**written, note=note("utf8_now", context.language)) if is_recoded else written

    return write_file


def _delete_file(writer: Writer) -> Tool:
    @tool(effect="destroys", approval=True, category="files", timeout=_SECONDS)
    def delete_file(path: Annotated[str, Field(min_length=1, max_length=MAX_PATH_LENGTH)]) -> Deleted:
        """Deletes a file for good.

        永久删除一个文件。

        Args:
            path: the file, such as "notes/plan.txt". 文件路径。

        Returns:
            The path of the file that is gone.
        """
        names = names_of(path)
        writer.remove(names)
        return Deleted(deleted="/".join(names))

    return delete_file


def _over(
    place: Root, writer: Writer, names: tuple[str, ...], text: str, *, appends: bool
) -> tuple[Written, bool]:
    """Writes over a file, or behind what is in it, as it is written itself; says whether it had to get another encoding."""
    shown = checked_name(names)
    try:
        before = _content(place, names, whole=appends)
    except ToolFailure as failure:
        if not is_missing(failure):
            raise
        before = b""
    try:
        encoding = detect(before, is_whole=len(before) < SAMPLE_BYTES) if before else "utf-8"
        kept = before.decode(encoding) if appends else ""
    except (BinaryContentError, UnicodeDecodeError):
        raise refusal("kept", shown) from None
    ends = "\r\n" if b"\r\n" in before or "\r\0\n" in before.decode("latin-1") else "\n"
    added = text.replace("\r\n", "\n").replace("\n", ends) if ends == "\r\n" else text
    is_recoded = False
    try:
        content = _encoded(kept + added, encoding, shown)
    except UnicodeEncodeError:
        content, encoding = _encoded(kept + added, "utf-8", shown), "utf-8"
        is_recoded = True
    writer.replace(names, content)
    return Written(path=shown, size_bytes=len(content), encoding=encoding), is_recoded


def _content(place: Root, names: tuple[str, ...], *, whole: bool) -> bytes:
    most = _MOST_BYTES if whole else SAMPLE_BYTES
    found = b""
    with opened(place, names) as descriptor:
        while len(found) < most and (block := os.read(descriptor, min(SAMPLE_BYTES, most - len(found)))):
            found += block
        if whole and os.read(descriptor, 1):
            raise refusal("large", "/".join(names))
    return found


def _encoded(text: str, encoding: str, shown: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        if "surrogates not allowed" not in str(error) and not encoding.startswith("utf"):
            raise
        raise refusal("not_unicode", shown) from None
