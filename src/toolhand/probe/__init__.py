"""Measures how a model takes its tools: short tasks over every rung, and the profile that follows from them."""

from toolhand.probe.keeping import Kept
from toolhand.probe.measuring import MORE_RUNGS, RUNGS, Probe
from toolhand.probe.scores import Score, recommended, scores
from toolhand.probe.trial import Trial

__all__ = ["MORE_RUNGS", "RUNGS", "Kept", "Probe", "Score", "Trial", "recommended", "scores"]
