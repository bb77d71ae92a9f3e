"""The plan language: several steps that a model writes in one note, which can do nothing but call tools.

    read ─▶ check ─▶ run (`Interpreter`) ─▶ undo        explain, mermaid: the same for people

The grammar is `grammar.lark`; how text becomes a `Plan` is in `toolhand.parsing.plans`. Nothing here runs a tool by itself:
calls go through the `dispatch` that the caller hands in.
"""

from toolhand.parsing.plans.explain import explain, mermaid
from toolhand.parsing.plans.nodes import Plan
from toolhand.parsing.plans.outcomes import Done, Outcome, Rules, Undone
from toolhand.plan.check import Checked, check
from toolhand.plan.interpreter import Interpreter
from toolhand.plan.language import read

__all__ = [
    "Checked",
    "Done",
    "Interpreter",
    "Outcome",
    "Plan",
    "Rules",
    "Undone",
    "check",
    "explain",
    "mermaid",
    "read",
]
