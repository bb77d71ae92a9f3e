"""What a person may type in `toolhand chat` beside a message: words that begin with a slash."""

from __future__ import annotations

import datetime as dt
import difflib
import json
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from toolhand.cli.sessions import print_message
from toolhand.cli.shown import shown
from toolhand.cli.stores import written_to
from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.execution.running import run_blocking
from toolhand.sessions.archive import openai_messages

if TYPE_CHECKING:
    from toolhand.cli.chat import Talk


def new_name() -> str:
    """A name for a conversation that sorts by time and that no other has."""
    now = dt.datetime.now().astimezone()
    return f"chat-{now:%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:4]}"


class Leave(Exception):  # noqa: N818 - it is no error
    """The person wants to leave."""


class Commands:
    """The commands of one conversation.

    Args:
        talk: the conversation.
    """

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self._known: Mapping[str, tuple[Callable[[str], None], str]] = {
            "/help": (self._help, say("this list", "显示本列表")),
            "/tools": (self._tools, say("what the model may call", "模型可以调用的工具")),
            "/model": (self._model, say("NAME: go on with another model", "名称：换一个模型继续")),
            "/undo": (
                self._undo,
                say("take the last question back, with its answer", "撤回最后一个问题及其回答"),
            ),
            "/history": (self._history, say("all that was said", "显示全部对话")),
            "/save": (
                self._save,
                say(
                    "FILE: write the conversation out (.json: in OpenAI's words)",
                    "文件：导出对话（.json 为 OpenAI 格式）",
                ),
            ),
            "/sessions": (self._sessions, say("your conversations", "列出你的会话")),
            "/session": (
                self._session,
                say("NAME: go on with another conversation", "名称：切换到另一个会话"),
            ),
            "/new": (self._new, say("[NAME]: begin a conversation", "[名称]：新建会话")),
            "/quit": (self._quit, say("leave (also Ctrl-D)", "退出（或按 Ctrl-D）")),
        }

    def knows(self, text: str) -> bool:
        """Whether this is a command and no message: a slash and a word, such as no path or sentence begins."""
        first = text.split(maxsplit=1)[0]
        return first.startswith("/") and first[1:].isascii() and first[1:].isalpha() and text.startswith("/")

    def __call__(self, text: str) -> None:
        """Does it.

        Raises:
            Leave: when the person wants to leave.
            SettingsError: when there is no such command, or something is missing.
        """
        name, _, rest = text.strip().partition(" ")
        found = self._known.get(name.lower())
        if found is None:
            close = difflib.get_close_matches(name, self._known, n=1)
            raise SettingsError(
                say(f"there is no command {name}", f"没有命令 {name}")
                + (
                    say(f"; did you mean {close[0]}?", f"；是否想输入 {close[0]}？")
                    if close
                    else say("; /help lists them", "；/help 列出所有命令")
                )
                + say(" (a blank in front makes it a message)", "（在前面加一个空格则作为消息发送）")
            )
        found[0](rest.strip())

    def _help(self, _: str) -> None:
        for name, (_do, what) in self._known.items():
            self.talk.err.print(f"{name:<10} {shown(what)}")
        self.talk.say(
            'a line that ends with \\ goes on; """ begins and ends several lines; Ctrl-C stops an answer',
            '行末的 \\ 表示换行继续；""" 开始和结束多行输入；Ctrl-C 停止当前回答',
        )

    def _tools(self, _: str) -> None:
        for tool in self.talk.tools:
            first = tool.description.strip().partition("\n")[0]
            self.talk.err.print(f"[bold cyan]{shown(tool.name)}[/] ({tool.rules.effect}) {shown(first)}")

    def _model(self, name: str) -> None:
        if name:
            self.talk.change_model(name)
        self.talk.say(f"model: {self.talk.spec}", f"模型：{self.talk.spec}")

    def _undo(self, _: str) -> None:
        words = run_blocking(self.talk.archive.undo(self.talk.session, user=self.talk.user))
        self.talk.say(
            f"taken back: {words} (what tools did is done)", f"已撤回：{words}（工具已经做过的事不会撤销）"
        )

    def _history(self, _: str) -> None:
        for message in run_blocking(self.talk.archive.messages(self.talk.session, user=self.talk.user)):
            print_message(self.talk.err, message)

    def _save(self, name: str) -> None:
        if not name:
            raise SettingsError(say("/save needs a file's name", "/save 需要文件名"))
        path = Path(name).expanduser()
        if path.exists():
            raise SettingsError(
                say(f"'{path}' is there already: nothing is written over", f"“{path}”已存在：不会覆盖")
            )
        work = self.talk.archive.export
        try:
            with written_to(path) as file:
                if path.suffix == ".json":
                    messages = run_blocking(
                        self.talk.archive.messages(self.talk.session, user=self.talk.user)
                    )
                    lines = openai_messages(messages)
                    file.write(json.dumps(lines, ensure_ascii=False, indent=2) + "\n")
                    count = len(lines)
                else:
                    count = run_blocking(work(self.talk.session, file, user=self.talk.user))
        except OSError as error:
            raise SettingsError(
                say(f"'{path}' cannot be written: {error.strerror}", f"无法写入“{path}”：{error.strerror}")
            ) from error
        self.talk.say(f"{count} messages written to {path}", f"已将 {count} 条消息写入 {path}")

    def _sessions(self, _: str) -> None:
        found = run_blocking(self.talk.store.list(owner=self.talk.user, limit=20))
        for summary in found:
            mark = "*" if summary.id == self.talk.session else " "
            self.talk.err.print(f"{mark} {shown(summary.id)}  [dim]{shown(summary.title)}[/]")
        if not found:
            self.talk.say("there are none yet", "还没有会话")

    def _session(self, name: str) -> None:
        if not name:
            raise SettingsError(
                say("/session needs a name; /sessions lists them", "/session 需要名称；/sessions 列出会话")
            )
        before, self.talk.session = self.talk.session, name
        try:
            self.talk.greet()
        except BaseException:
            self.talk.session = before
            raise

    def _new(self, name: str) -> None:
        name = name or new_name()
        if run_blocking(self.talk.store.find(name)) is not None:
            raise SettingsError(
                say(
                    f"there is a session '{name}' already: /session {name} goes on with it",
                    f"会话“{name}”已存在：用 /session {name} 继续",
                )
            )
        self.talk.session = name
        self.talk.say(f"a new conversation: {name}", f"新会话：{name}")

    def _quit(self, _: str) -> None:
        raise Leave
