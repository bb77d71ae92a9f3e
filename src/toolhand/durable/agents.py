"""Finds the agents and schedules that a file or a module holds, for a worker to make runs with."""

from __future__ import annotations

from typing import Any

from toolhand.agent import Agent
from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.durable.schedules import Schedule
from toolhand.load import load_module


def load_work(source: str) -> tuple[dict[str, Agent[Any]], dict[str, Schedule]]:
    """The agents and the schedules of a Python file or module, by the names of their variables.

    "shop.py:support" means only that agent, and what is scheduled for it.

    A single one, or else the one that is called `agent`, also answers runs that name none: its second name is "".

    Args:
        source: a path or a module's name.

    Raises:
        SettingsError: when it cannot be imported, or holds no agent.
    """
    place, _, wanted = source.partition(":")
    found: dict[str, Agent[Any]] = {}
    seen: set[int] = set()
    variables = vars(load_module(place))
    for name, value in variables.items():
        if isinstance(value, Agent) and id(value) not in seen and not name.startswith("_"):
            seen.add(id(value))
            found[name] = value
    if wanted:
        found = {wanted: found[wanted]} if wanted in found else {}
    if not found:
        what = f"'{wanted}'" if wanted else "agent"
        raise SettingsError(
            say(
                f"'{place}' holds no {what}: write `agent = Agent(…)` at its top level",
                f"“{place}”里没有 {what}：请在顶层写 `agent = Agent(…)`",
            )
        )
    only = next(iter(found.values())) if len(found) == 1 else found.get("agent")
    schedules = {name: value for name, value in variables.items() if isinstance(value, Schedule)}
    if wanted:
        schedules = {
            name: value for name, value in schedules.items() if value.options.get("agent", "") in ("", wanted)
        }
    return (found if only is None else {"": only, **found}), schedules
