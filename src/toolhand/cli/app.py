"""Puts the commands together and turns what goes wrong into one sentence and an exit code."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import typer

from toolhand import __version__
from toolhand.cli import demo, drift, eval, models, run, tools  # noqa: A004 - the command's name
from toolhand.cli.words import say
from toolhand.core.errors import ToolhandError

# The root of what typer raises for wrong words. It comes from click, which typer carries inside since 0.2x: it has no public
# name of its own there.
_WRONG_WORDS: Any = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="toolhand",
    help=say("Tool use that holds up with any model.", "让任何模型都能可靠地使用工具。"),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", help=run.HELP)(run.run)
app.command("demo", help=demo.HELP)(demo.demo)
app.add_typer(models.app, name="models", help=models.HELP)
app.add_typer(drift.app, name="drift", help=drift.HELP)
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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="replace"
            )  # a terminal that cannot show a character shows a question mark
    try:
        code = app(args=arguments, standalone_mode=False)
    except ToolhandError as error:
        return _complain(str(error))
    except typer.Exit as done:
        return done.exit_code
    except _WRONG_WORDS as error:
        error.show()
        return int(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo(say("stopped", "已停止"), err=True)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`toolhand … | head`): nothing more can be said to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code if isinstance(code, int) else 0


def _complain(sentence: str) -> int:
    typer.echo(f"{say('error', '错误')}: {sentence}", err=True)
    return 1
