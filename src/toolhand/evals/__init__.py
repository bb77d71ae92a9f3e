"""Judging models offline: cases, runs of them over models and protocols, reports, and comparisons with intervals.

Nothing here is loaded by `import toolhand`. Reading case files needs the extra `eval`.
"""

from __future__ import annotations

from toolhand.evals.attempt import Conditions
from toolhand.evals.case import Case, Suite
from toolhand.evals.reading import read_case, read_suite
from toolhand.evals.results import Attempt, Evaluation, Subject
from toolhand.evals.runner import evaluate, run_stored, subjects_of
from toolhand.evals.spots import CaseFileError
from toolhand.evals.store import Store
from toolhand.evals.summary import against, figures
from toolhand.evals.tape import Tape

__all__ = [
    "Attempt",
    "Case",
    "CaseFileError",
    "Conditions",
    "Evaluation",
    "Store",
    "Subject",
    "Suite",
    "Tape",
    "against",
    "evaluate",
    "figures",
    "read_case",
    "read_suite",
    "run_stored",
    "subjects_of",
]
