"""Reads tools as a model would and names what will confuse it: `lint(tools)`.

A rule is a function over one tool (`naming.py`, `parameters.py`, `misnaming.py`, `effects.py`, `providers.py`) or over all
(`together.py`) that yields findings; what it says, and what to do, stands in `words.py` under its id.
"""

from __future__ import annotations

from toolhand.lint.finding import Finding, Severity
from toolhand.lint.linting import lint
from toolhand.lint.words import RULES

__all__ = ["RULES", "Finding", "Severity", "lint"]
