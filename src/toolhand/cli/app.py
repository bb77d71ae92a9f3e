"""Puts the commands together and turns what goes wrong into one sentence and an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback

import typer

from toolhand import __version__
from toolhand.cli import (
    chat,
    demo,
    drift,
    eval,  # noqa: A004 - the command's name
    models,
    plan,
    probe,
    run,
    sessions,
    tools,
)
from toolhand.cli.terminal import cannot_write, give_up_output, prepare_streams, shortened
from toolhand.cli.usage import WRONG_WORDS, wrong_words
from toolhand.cli.words import say
from toolhand.core.errors import ToolhandError

STOPPED = 130
"""The exit code after Ctrl-C."""

TRACEBACK = "TOOLHAND_TRACEBACK"
"""The environment variable with which a fault in Toolhand shows its traceback."""

app = typer.Typer(
    name="toolhand",
    help=say("Tool use that holds up with any model.", "让任何模型都能可靠地使用工具。"),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", help=run.HELP)(run.run)
app.command("chat", help=chat.HELP)(chat.chat)
app.command("demo", help=demo.HELP)(demo.demo)
app.command("probe", help=probe.HELP)(probe.probe)
app.add_typer(sessions.app, name="sessions", help=sessions.HELP)
app.add_typer(models.app, name="models", help=models.HELP)
app.add_typer(drift.app, name="drift", help=drift.HELP)
app.add_typer(plan.app, name="plan", help=plan.HELP)
app.add_typer(tools.app, name="tools", help=tools.HELP)
app.add_typer(eval.app, name="eval", help=eval.HELP)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_print_version,
        is_eager=True,
        help=say("Show the version.", "显示版本。"),
    ),
) -> None:
    del version


def run_app(arguments: list[str] | None = None) -> int:
    """Runs the command; a person never sees a traceback for a mistake of theirs.

    Args:
        arguments: the words after `toolhand`; those of the process by default.
    """
    prepare_streams()
    try:
        code = app(args=arguments, standalone_mode=False)
        if code == STOPPED:  # how typer gives a Ctrl-C on
            return _stopped()
        sys.stdout.flush()  # what cannot be written is found out here, and not when the interpreter ends
    except ToolhandError as error:
        return _complain(str(error))
    except typer.Exit as done:
        return done.exit_code
    except WRONG_WORDS as error:
        return wrong_words(error)
    except (KeyboardInterrupt, typer.Abort):
        return _stopped()
    except BrokenPipeError:
        give_up_output()  # the reader of our output has gone (`toolhand … | head`): nothing more can be said to it
        return 1
    except OSError as error:
        code = _complain(cannot_write(error))
        give_up_output()
        return code
    except Exception as error:  # noqa: BLE001 - the last one who can say it in a sentence
        return _own_fault(error)
    return code if isinstance(code, int) else 0


def _stopped() -> int:
    return _complain_with(STOPPED, say("stopped", "已停止"))


def _complain(sentence: str) -> int:
    return _complain_with(1, f"{say('error', '错误')}: {sentence}")


def _complain_with(code: int, line: str) -> int:
    with contextlib.suppress(OSError):
        typer.echo(line, err=True)
    return code


def _own_fault(error: Exception) -> int:
    """A fault in Toolhand: the place in one line, and how to see more."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(last.filename)}:{last.lineno}"  # noqa: PTH119 - it may be no path
    what = shortened(f"{type(error).__name__}: {error}")
    return _complain_with(
        70,
        say(
            f"error: a fault in Toolhand itself ({where}, {what}): set {TRACEBACK}=1 to see more, and please report it",
            f"错误: Toolhand 自身的故障（{where}，{what}）：设置 {TRACEBACK}=1 可查看详情，欢迎反馈",
        ),
    )
