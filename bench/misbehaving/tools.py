"""The six tools of every framework, as plain functions, what they were called with, and when `hang` began and had its effect."""

from __future__ import annotations

import time
from typing import Any

QUESTION = "What is the weather?"
seen: list[list[Any]] = []
begun: list[float] = []
landed: list[float] = []


def get_weather(city: str, days: int = 1) -> str:
    """The weather of a city.

    Args:
        city: the city.
        days: for how many days.
    """
    seen.append(["get_weather", city, days])
    return f"{city} {days}"


def tag(labels: list[str]) -> str:
    """Tags something.

    Args:
        labels: the labels.
    """
    seen.append(["tag", labels])
    return ",".join(labels)


def now() -> str:
    """The time."""
    seen.append(["now"])
    return "12:00"


def database(query: str) -> str:
    """Asks the database.

    Args:
        query: the query.
    """
    raise ValueError(f"db down: password=hunter2 for {query}")


def report() -> str:
    """A report."""
    return "".join(f"{number:06} a line of the report\n" for number in range(20_000))[:400_000]


def hang() -> str:
    """Waits for something in small steps, and then has an effect."""
    begun.append(time.monotonic())
    until = begun[0] + 6
    while time.monotonic() < until:
        time.sleep(0.01)
    landed.append(time.monotonic())
    return "late"


TOOLS = (get_weather, tag, now, database, report, hang)
