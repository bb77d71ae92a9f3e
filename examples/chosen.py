"""The model that the examples ask: `--model NAME`, else what TOOLHAND_MODEL says, else the embedded one."""

from __future__ import annotations

import argparse
import os


def model(about: str | None) -> str:
    """The model's name, from the command line or the environment.

    Args:
        about: the example's docstring, for `--help`.
    """
    options = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--model", default=os.environ.get("TOOLHAND_MODEL") or "local", help="such as openai:NAME"
    )
    chosen: str = options.parse_args().model
    return chosen
