"""The command line: one file a command. Nothing here is loaded by `import toolhand`.

Exit codes: 0 answered or done · 1 could not be done (a sentence on stderr says why) · 2 the command's words are wrong ·
3 a limit was reached without an answer of the model's own accord · 4 an evaluation is below a threshold · 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The `toolhand` command."""
    from toolhand.cli.app import run_app  # noqa: PLC0415 - typer and rich load only for the command line

    sys.exit(run_app())
