"""Figures that a part of the package offers to whoever measures, without either knowing the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

GAUGES: Final[dict[str, Callable[[], float]]] = {}
"""Name → a function that gives the figure now. Each part adds its own when it is loaded; `Metrics` reads them all."""
