"""The command line: one file a command. Nothing here is loaded by `import toolhand`.

Exit codes: 0 answered or done · 1 could not be done (a sentence on stderr says why) · 2 the command's words are wrong ·
3 a limit was reached without an answer of the model's own accord, or a call waits for approval · 4 an evaluation is below a
threshold · 70 a fault in Toolhand itself · 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The `toolhand` command."""
    try:
        import signal  # noqa: PLC0415 - so little is imported outside of this block that hardly any Ctrl-C meets it there

        from toolhand.cli.app import run_app  # noqa: PLC0415 - typer and rich load only for the command line

        code = run_app()
    except KeyboardInterrupt:  # before anything was there that could say so in the person's language
        sys.stderr.write("stopped\n")
        sys.exit(130)
    # Nothing is left to be tidied up by hand: a Ctrl-C from here on ends the program without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)
