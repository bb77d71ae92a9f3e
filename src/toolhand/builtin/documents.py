"""`search_documents`: what the documents in a folder say on a question, with the file and the place where it stands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NotRequired, TypedDict

from pydantic import Field

from toolhand.builtin._holdings import acquainted, held, told
from toolhand.builtin._reach import BY_HAND
from toolhand.builtin._rooted import root_at
from toolhand.builtin.settings import BuiltinSettings
from toolhand.core.context import RunContext
from toolhand.core.errors import ModelError
from toolhand.core.language import Language
from toolhand.core.tools import Tool
from toolhand.tools.decorator import tool

if TYPE_CHECKING:
    from toolhand.builtin._document_index import DocumentIndex, DocumentLimits, State
    from toolhand.builtin._document_store import Placed

__all__ = ["document_index", "document_tools", "offer", "reason_of"]

_SHOWN_SKIPPED: Final = 3
_REASONS: Final[Mapping[str, Mapping[Language, str]]] = {
    "encrypted": {"en": "it is protected by a password", "zh": "有密码保护"},
    "broken": {"en": "it is damaged", "zh": "文件已损坏"},
    "large": {"en": "it is too large", "zh": "文件过大"},
    "binary": {"en": "it is not text in a known encoding", "zh": "不是已知编码的文本"},
    "no_text": {"en": "it holds no text, such as a scan", "zh": "没有文字，可能是扫描件"},
    "slow": {"en": "reading it took too long", "zh": "读取时间过长"},
    "kind": {"en": "files of this kind are not read", "zh": "不支持这种文件"},
    "extra": {"en": "reading PDF needs the extra 'docs-search'", "zh": "读取 PDF 需要附加项“docs-search”"},
    "gone": {"en": "it could not be opened", "zh": "无法打开"},
}
_NOTES: Final[Mapping[str, Mapping[Language, str]]] = {
    "nothing": {
        "en": "No passage shares a word with the question. Try other or fewer words.",
        "zh": "没有找到相关内容。请换用其他词语或减少词语。",
    },
    "nowhere": {
        "en": "There is no folder or document '{path}': all documents were searched.",
        "zh": "没有名为“{path}”的文件夹或文档：已搜索全部文档。",
    },
    "no_documents": {"en": "The folder holds no documents.", "zh": "文件夹里没有文档。"},
    "waiting": {
        "en": "{waiting} of {files} documents are not read yet: search again for the rest.",
        "zh": "{files} 个文档中还有 {waiting} 个尚未读取，稍后再搜索可得到其余内容。",
    },
    "skipped": {"en": "Not searched: {names}.", "zh": "无法搜索：{names}。"},
    "more": {"en": " and {count} more", "zh": " 等另外 {count} 个"},
    "words": {
        "en": "Found by words alone, as the embedding model did not answer.",
        "zh": "嵌入模型没有响应，仅按词语搜索。",
    },
    "cut": {
        "en": "The folder holds more documents than are searched.",
        "zh": "文件夹里的文档过多，只搜索了一部分。",
    },
}


class Quoted(TypedDict):
    """A passage of a document and where it stands: what it says first, as small models answer with what comes first."""

    text: str
    file: str
    page: NotRequired[int]
    heading: NotRequired[str]
    line: NotRequired[int]


class Passages(TypedDict):
    """What the documents say, best first."""

    passages: list[Quoted]
    note: NotRequired[str]


def offer(settings: BuiltinSettings) -> list[Tool]:
    """`search_documents`, where a folder of documents is given."""
    return [] if settings.documents is None else document_tools(settings.documents)


def document_index(
    folder: str | os.PathLike[str],
    *,
    index: str | os.PathLike[str] | None = None,
    embeddings: str = "",
    limits: DocumentLimits | None = None,
) -> DocumentIndex:
    """The index of a folder's documents, to be built beforehand or looked at: `.update(progress=…)`, `.search(…)`.

    Args:
        folder: the folder. Links in it are not followed.
        index: the file that the index is kept in; by default one in the user's cache folder.
        embeddings: a model for vectors, such as "openai:text-embedding-3-small" or "http://localhost:8080/v1#bge-m3" (extra
            "vectors"); what the documents say is sent to it. By default words alone are compared.
        limits: what the index may take.

    Raises:
        SettingsError: when it is no folder, the index cannot be written, or the model's name cannot be read.
        MissingExtraError: when vectors are asked for and the extra "vectors" is not installed.
    """
    from toolhand.builtin._document_index import DocumentIndex  # noqa: PLC0415 - loads a database
    from toolhand.models.embeddings import Embeddings  # noqa: PLC0415 - loads a network library

    return DocumentIndex(
        Path(folder),
        index=None if index is None else Path(index),
        embeddings=Embeddings(embeddings) if embeddings else None,
        limits=limits,
    )


def document_tools(
    folder: str | os.PathLike[str],
    *,
    index: str | os.PathLike[str] | None = None,
    embeddings: str = "",
    limits: DocumentLimits | None = None,
) -> list[Tool]:
    """The tool `search_documents` over a folder of text, Markdown, PDF, DOCX and HTML. It is safe in any thread.

    The index is built at the first search, and brought up to date at each. A large folder is better built beforehand, by
    `document_index(folder).update(progress=…)` or `toolhand documents FOLDER`.

    Args:
        folder: see `document_index`.
        index: see `document_index`.
        embeddings: see `document_index`.
        limits: see `document_index`.

    Raises:
        SettingsError: when it is no folder, the index cannot be written, or the model's name cannot be read.
        MissingExtraError: when vectors are asked for and the extra "vectors" is not installed.
    """
    made = document_index(folder, index=index, embeddings=embeddings, limits=limits)
    return [acquainted(_search_documents(made, made.call_seconds), told("Documents", held(root_at(folder))))]


def _search_documents(index: DocumentIndex, seconds: float) -> Tool:
    @tool(
        effect="reads",
        idempotent=True,
        category="documents",
        untrusted=True,
        source="question",
        timeout=2 * seconds + 60,
        aliases={"question": ["query", "text", "问题"], "path": ["folder", "file"]},
    )
    def search_documents(  # noqa: D417 - the context is not the model's
        question: Annotated[str, Field(min_length=1, max_length=1_000)],
        path: Annotated[str, Field(max_length=1_000)] = "",
        most: Annotated[int, Field(ge=1, le=20)] = 5,
        context: RunContext = BY_HAND,
    ) -> Passages:
        """Searches the documents (text, Markdown, PDF, Word, HTML) and returns the passages that fit a question best.

        在文档（文本、Markdown、PDF、Word、HTML）中搜索与问题最相关的段落。

        Args:
            question: what to find, in the documents' words, such as "notice period" or "年假 天数". 要查找的内容。
            path: only documents in this folder or this file; leave it out for all. 只搜索该文件夹或文件。
            most: how many passages at most. 最多返回几段。

        Returns:
            Passages with their file and place: page, heading or line.
        """
        language = context.language
        state = index.update(seconds=seconds, progress=context.progress)
        under = "/".join(name for name in path.strip().split("/") if name not in ("", "."))
        note, missing = "", "" if index.has(under) else under
        under = "" if missing else under  # a place that is made up must not hide what there is
        try:
            found = index.search(question, most, under)
        except ModelError:
            found = index.search_words(question, most, under)
            note = _NOTES["words"][language]
        answer = Passages(passages=[_quoted(one) for one in found])
        notes = [note, *_notes(state, language, has_found=bool(found), under=missing)]
        if any(notes):
            answer["note"] = " ".join(filter(None, notes))
        return answer

    return search_documents


def reason_of(reason: str, language: Language) -> str:
    """Why a document cannot be searched, in words."""
    return _REASONS[reason][language]


def _quoted(placed: Placed) -> Quoted:
    passage = placed.passage
    quoted = Quoted(text=passage.text, file=placed.path)
    if passage.page:
        quoted["page"] = passage.page
    if passage.heading:
        quoted["heading"] = passage.heading
    if passage.line:
        quoted["line"] = passage.line
    return quoted


def _notes(state: State, language: Language, *, has_found: bool, under: str) -> list[str]:
    """What has to be said beside the passages.

    Args:
        state: the index's.
        language: of the words.
        has_found: whether there are passages.
        under: the folder or file that was asked for, where there is none of that name.
    """
    notes = []
    if not state.files:
        notes.append(_NOTES["no_documents"][language])
    elif under:
        notes.append(_NOTES["nowhere"][language].format(path=under[:200]))
    elif not has_found:
        notes.append(_NOTES["nothing"][language])
    if state.waiting:
        notes.append(_NOTES["waiting"][language].format(waiting=state.waiting, files=state.files))
    if state.skipped:
        names = ", ".join(
            f"{path} ({_REASONS[reason][language]})"
            for path, reason in list(state.skipped.items())[:_SHOWN_SKIPPED]
        )
        left = len(state.skipped) - _SHOWN_SKIPPED
        names += _NOTES["more"][language].format(count=left) if left > 0 else ""
        notes.append(_NOTES["skipped"][language].format(names=names))
    if state.is_cut:
        notes.append(_NOTES["cut"][language])
    return notes
