"""Plans line by line: the model writes one step of the plan language, sees its result, and writes the next."""

from __future__ import annotations

from toolhand.protocols.plan import PlanProtocol

PROTOCOL = PlanProtocol(name="plan_steps", manner="steps")
