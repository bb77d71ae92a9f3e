"""Puts the commands together and turns what goes wrong into one sentence and an exit code."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from typing import Final

import typer

from toolhand import __version__
from toolhand.cli.shown import tell
from toolhand.cli.terminal import cannot_write, give_up_output, prepare_streams, shortened
from toolhand.cli.usage import WRONG_WORDS, wrong_words
from toolhand.cli.words import say
from toolhand.core.errors import ToolhandError

STOPPED = 130
"""The exit code after Ctrl-C."""

TRACEBACK = "TOOLHAND_TRACEBACK"
"""The environment variable with which a fault in Toolhand shows its traceback."""

COMMANDS: Final = (
    "run",
    "chat",
    "demo",
    "probe",
    "sessions",
    "worker",
    "runs",
    "prune",
    "models",
    "drift",
    "plan",
    "sandbox",
    "documents",
    "tools",
    "mcp",
    "serve",
    "eval",
)
"""In the order of the help. A command is the file of its name, with a function of its name or, where it has commands of its
own, an `app`."""


_HELP: Final = re.compile(r'^HELP = say\(\s*("[^"\n]*"),\s*("[^"\n]*"),?\s*\)', re.MULTILINE)


def _print_version(wanted: bool) -> None:
    if wanted:
        tell(__version__)
        raise typer.Exit


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


def _unloaded() -> None:
    """Stands for a command that is only listed."""


def _help_of(name: str) -> str:
    """A command's line in the help, read out of its file: loading all the commands takes over a second."""
    source = files("toolhand.cli").joinpath(f"{name}.py").read_text("utf-8")
    found = _HELP.search(source)
    if found is None:
        return str(import_module(f"toolhand.cli.{name}").HELP)
    return say(*(str(ast.literal_eval(text)) for text in found.groups()))


def _app(words: Sequence[str]) -> typer.Typer:
    """The commands, of which only the one that is meant is loaded where the words say which."""
    app = typer.Typer(
        name="toolhand",
        help=say("Tool use that holds up with any model.", "让任何模型都能可靠地使用工具。"),
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    is_help = not words or not {"-h", "--help"}.isdisjoint(words)
    meant = next((word for word in words if not word.startswith("-")), "")
    for name in () if words[:1] == ["--version"] else (meant,) if meant in COMMANDS else COMMANDS:
        if name != meant:  # only its line in the help is wanted
            app.command(name, help=_help_of(name))(_unloaded)
            continue
        module = import_module(f"toolhand.cli.{name}")
        if hasattr(module, "app"):
            is_help = is_help or len(words) == 1
            app.add_typer(module.app, name=name, help=module.HELP)
        else:
            app.command(name, help=module.HELP)(getattr(module, name))
    if is_help:
        from toolhand.cli.help_words import prepare_help  # noqa: PLC0415 - what typer draws help with loads slowly

        prepare_help()
    return app


def run_app(arguments: list[str] | None = None) -> int:
    """Runs the command; a person never sees a traceback for a mistake of theirs.

    Args:
        arguments: the words after `toolhand`; those of the process by default.
    """
    prepare_streams()
    try:
        code = _app(sys.argv[1:] if arguments is None else arguments)(args=arguments, standalone_mode=False)
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
        tell(line, is_err=True)
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
