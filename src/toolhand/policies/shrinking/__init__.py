"""Makes large results small enough for a model, keeps the whole for a while, and pages through it.

Pure functions in linear time, and a bounded store in the run's memory. The policy that applies them is
`toolhand.policies.shrink`.
"""

from __future__ import annotations

from toolhand.policies.shrinking.read_result import READS_RESULTS, read_result_tool
from toolhand.policies.shrinking.store import Kept, ResultStore, has_results, results_of
from toolhand.policies.shrinking.values import MOST_CHARACTERS, Shrunk, shrunk

__all__ = [
    "MOST_CHARACTERS",
    "READS_RESULTS",
    "Kept",
    "ResultStore",
    "Shrunk",
    "has_results",
    "read_result_tool",
    "results_of",
    "shrunk",
]
