"""Where model-written code runs: behind walls that were seen to hold, with tools that go the way of every call.

`run_code(code, tools=…)` runs a program and gives its `Outcome`. What runs it is one file in `backends/`, what closes it in one
file in `jails/`; what runs inside is in `inside/`. What none of this can promise: docs/explanation/sandbox.md.
"""

from toolhand.jails.runs import SandboxError
from toolhand.parsing.programs.outcomes import CodeError, Limits, Outcome
from toolhand.sandbox.running import arun_code, run_code

__all__ = ["CodeError", "Limits", "Outcome", "SandboxError", "arun_code", "run_code"]
