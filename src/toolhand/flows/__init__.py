"""Chains and routers: agents and tools one after another, or one of several by what is asked. Tools go through `dispatch`."""

from __future__ import annotations

from toolhand.flows.chain import Chain, Step
from toolhand.flows.outcome import FlowRun, Passed, StepRun
from toolhand.flows.router import Route, Router

__all__ = ["Chain", "FlowRun", "Passed", "Route", "Router", "Step", "StepRun"]
