"""`toolhand documents`: builds the index of a folder's documents, names what cannot be searched, and tries a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from toolhand.builtin.documents import document_index, reason_of
from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.terminal import path_given, shortened
from toolhand.cli.words import say
from toolhand.core.errors import ModelError, SettingsError
from toolhand.core.language import language_of_person

if TYPE_CHECKING:
    from toolhand.builtin._document_index import DocumentIndex, State
    from toolhand.builtin._document_store import Placed

HELP = say(
    "Build the index of a folder's documents, and search it.", "为文件夹里的文档建立索引，并进行搜索。"
)

_LINES = 3


def documents(
    folder: str = typer.Argument(help=say("the folder", "文件夹")),
    question: str = typer.Argument("", help=say("what to search for, to try it", "要试着搜索的内容")),
    index: str | None = typer.Option(
        None,
        "--index",
        metavar="FILE",
        help=say(
            "Where the index is kept; by default in your cache folder.",
            "索引保存在哪里；默认在用户缓存目录中。",
        ),
    ),
    embeddings: str = typer.Option(
        "",
        "--embeddings",
        metavar="MODEL",
        help=say(
            "A model for vectors, such as openai:text-embedding-3-small; the documents' text is sent to it.",
            "用于向量的模型，例如 openai:text-embedding-3-small；文档内容会发送给它。",
        ),
    ),
) -> int:
    place = path_given("FOLDER", folder)
    if place is None:  # pragma: no cover - an argument is always given
        raise SettingsError(say("name a folder", "请给出文件夹"))
    err = screen(is_err=True)
    found = document_index(place, index=path_given("--index", index), embeddings=embeddings)
    try:
        with _bar(err) as bar:
            task = bar.add_task("", total=None)
            state = found.update(
                progress=lambda done, total, path: bar.update(
                    task, completed=done, total=total, description=shortened(path)
                )
            )
        _tell_state(state, err)
        hits = _search(found, question) if question.strip() else []
        for hit in hits:
            _tell_hit(hit)
        if question.strip() and not hits:
            tell(say("no passage shares a word with the question", "没有找到相关内容"))
    finally:
        found.close()
    return 0


def _tell_state(state: State, err: Console) -> None:
    for path, reason in state.skipped.items():
        why = reason_of(reason, language_of_person())
        sentence = say(f"not searched: {path}: {why}", f"无法搜索：{path}：{why}")
        err.print(f"[yellow]{shown(sentence)}[/]", highlight=False)
    usable = state.files - len(state.skipped)
    tell(
        say(
            f"{usable} of {state.files} documents can be searched",
            f"{state.files} 个文档中 {usable} 个可以搜索",
        )
    )


def _tell_hit(hit: Placed) -> None:
    passage = hit.passage
    where = [
        say(f"page {passage.page}", f"第 {passage.page} 页") if passage.page else "",
        passage.heading,
        say(f"line {passage.line}", f"第 {passage.line} 行") if passage.line else "",
    ]
    tell(f"\n{hit.path} ({', '.join(filter(None, where))})" if any(where) else f"\n{hit.path}")
    tell("\n".join(f"  {line}" for line in passage.text.splitlines()[:_LINES]))


def _search(found: DocumentIndex, question: str) -> list[Placed]:
    try:
        return found.search(question, 5)
    except ModelError:
        return found.search_words(question, 5)


def _bar(err: Console) -> Progress:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
