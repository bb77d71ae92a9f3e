"""A run's answer as a value of a type: what the model is told of it, and how what it wrote is read.

Reading is as tolerant as it is with tool calls, by the same machinery: a fence around it, single quotes, "三" for 3, other names
for the same field. What the loop does with it stands in `toolhand.answering`.
"""

from __future__ import annotations

from toolhand.output.output_type import FINAL_ANSWER, OutputType, Validator, output_type

__all__ = ["FINAL_ANSWER", "OutputType", "Validator", "output_type"]
