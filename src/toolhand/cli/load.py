"""Where commands find the tools that `--tools` names."""

from __future__ import annotations

from toolhand.load import load_tools

__all__ = ["load_tools"]
