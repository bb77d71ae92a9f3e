"""`toolhand chat`: a conversation at the terminal that is kept, and goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import typer
from rich.console import Console

from toolhand.agent import Agent
from toolhand.cli import options
from toolhand.cli.again import chat_again, words_given
from toolhand.cli.chat_commands import Commands, Leave, new_name
from toolhand.cli.lines import Lines, history_path
from toolhand.cli.load import load_tools
from toolhand.cli.models import ensure_weights
from toolhand.cli.run import announced_default, answer, asking, tell_not_permitted
from toolhand.cli.sessions import print_message
from toolhand.cli.show import Show
from toolhand.cli.shown import screen, shown
from toolhand.cli.stores import opened
from toolhand.cli.terminal import is_person_here, path_given, place_given
from toolhand.cli.words import say
from toolhand.core.errors import ToolhandError
from toolhand.execution.layers import default_policies
from toolhand.execution.running import run_blocking
from toolhand.run import Limits, Run
from toolhand.sessions.archive import Archive
from toolhand.sessions.store import SessionStore
from toolhand.toolset import Toolset

HELP = say(
    "Talk with a model that has tools; the conversation is kept.", "与带工具的模型对话；会话会保存下来。"
)
_SHOWN_AT_START: Final = 6
_SESSION: Final[Any] = typer.Option(
    None,
    "--session",
    "-s",
    help=say("The conversation to go on with; a new one by default.", "要继续的会话；默认新建。"),
)
_CONTINUED: Final[Any] = typer.Option(
    False, "--continue", "-c", help=say("Go on with the conversation used last.", "继续最近使用的会话。")
)

WAITING: Final = 3
"""The exit code where a call waits for a person."""


def chat(
    model: str | None = options.MODEL,
    tools: str = options.TOOLS,
    session: str | None = _SESSION,
    is_continued: bool = _CONTINUED,
    user: str = options.ASKING_USER,
    permissions: list[str] = options.PERMISSIONS,
    db: str | None = options.DB,
    root: str | None = options.ROOT,
    turns: int = options.TURNS,
    choose: int | None = options.CHOOSE,
    store: str | None = options.STORE,
    verbose: bool = options.VERBOSE,
    yes: bool = options.YES,
) -> int:
    err = screen(is_err=True)
    toolset = load_tools(tools, database=place_given("--db", db), root=path_given("--root", root))
    spec = model or announced_default(err)
    ensure_weights(spec, err, is_agreed=yes)
    show = Show(screen(), err, is_verbose=verbose)
    with opened(store, is_made=True) as found:
        name = session or (_last_or_new(found, user, err) if is_continued else new_name())
        given = {
            "--permission": permissions,
            "--tools": "" if tools == "builtin" else tools,
            "--db": db,
            "--root": root,
        }
        talk = Talk(
            spec,
            toolset,
            found,
            name,
            user=user,
            permissions=permissions,
            turns=turns,
            choose=choose,
            show=show,
            is_agreed=yes,
            given=words_given({"--model": model, **given, "--choose": choose, "--store": store}),
        )
        try:
            return talk.go()
        finally:
            talk.close()


def _last_or_new(store: SessionStore, user: str, err: Console) -> str:
    """The conversation used last; where there is none, it says so and names a new one."""
    last = run_blocking(_last(store, user))
    if last is None:
        none = say("there is none to go on with: a new one begins", "没有可以继续的会话：新建一个")
        err.print(f"[dim]{none}[/]", highlight=False)
    return last or new_name()


async def _last(store: SessionStore, user: str) -> str | None:
    async for summary in Archive(store).sessions(user=user, page=1):
        return summary.id
    return None


class Talk:
    """One conversation at the terminal.

    Args:
        spec: the model.
        tools: what it may call.
        store: where the session is kept.
        session: its name.
        user: whose it is.
        permissions: what the user holds.
        turns: the most replies to one message.
        choose: of many tools, how many each message brings; None for all.
        show: prints what happens.
        is_agreed: whether weights may be fetched without asking.
        given: the command's further words, for whoever wants to go on with it.
    """

    def __init__(
        self,
        spec: str,
        tools: Toolset,
        store: SessionStore,
        session: str,
        *,
        user: str,
        permissions: Sequence[str] = (),
        turns: int,
        choose: int | None = None,
        show: Show,
        is_agreed: bool = False,
        given: Sequence[str] = (),
    ) -> None:
        self.tools, self.store, self.session, self.user = tools, store, session, user
        self.show, self.err, self.out = show, show.err, show.out
        self._limits, self._is_agreed, self._choose = Limits(turns=turns), is_agreed, choose
        self._given, self._can_ask, self._is_waiting = list(given), is_person_here(), False
        self._permissions = frozenset(permissions)
        self.archive = Archive(store)
        self.lines = Lines(history_path())
        self.commands = Commands(self)
        self.agent = self._made(spec)
        self.spec = spec

    def _made(self, spec: str) -> Agent:
        ask = asking(self.show) if self._can_ask else None
        return Agent(
            spec,
            self.tools,
            policies=default_policies(ask=ask),
            limits=self._limits,
            store=self.store,
            choose=self._choose,
        )

    def change_model(self, spec: str) -> None:
        """Goes on with another model.

        Raises:
            ToolhandError: when there is no such model; the present one stays.
        """
        ensure_weights(spec, self.err, is_agreed=self._is_agreed)
        made = self._made(spec)
        run_blocking(self.agent.close())
        self.agent, self.spec = made, spec
        if "--model" in self._given:
            self._given[self._given.index("--model") + 1] = spec
        else:
            self._given += ["--model", spec]

    @property
    def command(self) -> str:
        """What goes on with this conversation when it is typed."""
        return chat_again(self.session, user=self.user, given=self._given)

    def say(self, english: str, chinese: str) -> None:
        """Tells the person something that is no answer."""
        self.err.print(f"[dim]{shown(say(english, chinese))}[/]", highlight=False)

    def go(self) -> int:
        """Until the person leaves, or a call waits for one who is not here; gives the exit code."""
        self.greet()
        interrupted = False
        while not self._is_waiting:
            try:
                text = self.lines.read("> " if self.lines.is_terminal else "")
            except KeyboardInterrupt:
                self.err.print()
                if interrupted:
                    break
                interrupted = True
                self.say("Ctrl-C again or Ctrl-D leaves", "再按一次 Ctrl-C 或按 Ctrl-D 退出")
                continue
            interrupted = False
            if text is None:
                break
            if not text.strip():
                continue
            try:
                self.turn(text)
            except Leave:
                break
        return self._leave()

    def _leave(self) -> int:
        """Says how the conversation goes on; gives the exit code."""
        if self._is_waiting:  # a further message would take the waiting call back
            if left := self.lines.rest():
                self.say(
                    f"{left} more {'line was' if left == 1 else 'lines were'} not sent",
                    f"还有 {left} 行输入没有发送",
                )
            return WAITING
        if run_blocking(self.store.find(self.session)) is not None:
            self.say(
                f"kept as '{self.session}': `{self.command}` goes on",
                f"已保存为“{self.session}”：用 `{self.command}` 继续",
            )
        return 0

    def greet(self) -> None:
        """Shows where the conversation stands, and brings to its end what did not come to it."""
        if self.lines.is_terminal:
            self.say(
                f"{self.spec} · session '{self.session}' · /help",
                f"{self.spec} · 会话“{self.session}” · /help 查看命令",
            )
        found = run_blocking(self.store.find(self.session))
        if found is None:
            return
        messages = run_blocking(self.archive.messages(self.session, user=self.user))
        if self.lines.is_terminal:
            if len(messages) > _SHOWN_AT_START:
                self.say(
                    f"… {len(messages) - _SHOWN_AT_START} earlier messages",
                    f"… 之前还有 {len(messages) - _SHOWN_AT_START} 条消息",
                )
            for message in messages[-_SHOWN_AT_START:]:
                print_message(self.err, message)
        if self.agent.session(self.session, user=self.user).is_under_way:
            self.say(
                "the last run did not come to its end; it goes on now",
                "上一次运行没有完成，现在继续",
            )
            self.contained(self._resume)

    def turn(self, text: str) -> None:
        """One message or command.

        Raises:
            Leave: when the person wants to leave.
        """
        if self.commands.knows(text):
            self.contained(lambda: self.commands(text))
        else:
            self.contained(lambda: self._ask(text.strip()))

    def contained(self, work: Callable[[], None]) -> None:
        """Does something that may fail or be stopped without ending the conversation."""
        try:
            work()
        except KeyboardInterrupt:
            self.show.close()
            self.err.print()
            self.say("stopped; what was done so far is kept", "已停止；已完成的部分会保留")
        except ToolhandError as error:
            self.show.close()
            self.err.print(f"[red]{shown(say('error', '错误'))}: {shown(str(error))}[/]")

    def _ask(self, text: str) -> None:
        finished = answer(
            self.agent,
            text,
            self.show,
            session=self.session,
            user=self.user,
            permissions=self._permissions,
        )
        self._note_end(finished)

    def _resume(self) -> None:
        async def drive() -> Run:
            try:
                return await self.agent.resume(
                    self.session, user=self.user, permissions=self._permissions, on_event=self.show
                )
            finally:
                self.show.close()

        finished = run_blocking(drive())
        if finished.text:
            self.show.say(finished.text)
        self._note_end(finished)

    def _note_end(self, finished: Run) -> None:
        tell_not_permitted(finished, self.tools, self.err)
        for pending in finished.pending:
            self.say(
                f"{pending.name} waits for approval: nobody could be asked; `{self.command}` in a terminal asks",
                f"{pending.name} 等待批准：这里无法询问；请在终端中运行 `{self.command}`",
            )
        self._is_waiting = bool(finished.pending) and not self._can_ask
        if not self.lines.is_terminal and not finished.text:
            self.out.print()

    def close(self) -> None:
        """Gives back the model, and keeps what was typed."""
        self.lines.keep()
        run_blocking(self.agent.close())
