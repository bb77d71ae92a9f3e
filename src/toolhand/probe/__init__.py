"""Measures how a model takes its tools: short tasks over every rung, and the profile that follows from them."""

from toolhand.probe.measuring import RUNGS, Probe
from toolhand.probe.scores import Score, recommended, scores
from toolhand.probe.trial import Trial

__all__ = ["RUNGS", "Probe", "Score", "Trial", "recommended", "scores"]
