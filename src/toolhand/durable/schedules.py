"""Runs that come again and again, at the moments that a line of cron names.

Every worker submits them, under a name that says the schedule and the moment: submitting twice is once, so that none is made
twice however many workers there are, and none is left out as long as one is there.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import importlib
import logging
import zoneinfo
from collections.abc import Callable, Mapping
from typing import Any, Final, Unpack

from toolhand.agent import Agent
from toolhand.core.errors import MissingExtraError, SettingsError, StoreError, ToolhandError
from toolhand.core.language import say
from toolhand.durable.ledger import RunLedger
from toolhand.durable.submitting import submit
from toolhand.submitting import SubmitOptions

_LOG: Final = logging.getLogger("toolhand.worker")

_LONGEST_SLEEP: Final = 30.0
_NONE: Final = dt.timedelta()


class Schedule:
    """When a run is submitted, and what it asks. Workers find it in the file that holds their agents.

    Args:
        cron: minute, hour, day, month and weekday, such as "0 8 * * mon-fri"; or "@daily", "@hourly".
        text: what the user says.
        timezone: whose clock it is, such as "Asia/Shanghai".
        late_seconds: for how long a moment at which no worker was there is made up for. Only the last such moment is.
        options: as for `Agent.submit`, but `run_id` and `at`. Without `session` each run has one of its own.

    Raises:
        SettingsError: when the line is none of cron's, or there is no such time zone.
        MissingExtraError: when the extra `durable` is not installed.
    """

    def __init__(
        self,
        cron: str,
        text: str,
        *,
        timezone: str = "UTC",
        late_seconds: float = 300.0,
        **options: Unpack[SubmitOptions],
    ) -> None:
        try:
            self._croniter: Any = importlib.import_module("croniter").croniter
        except ImportError as missing:
            raise MissingExtraError(
                "durable", say("running on many machines", "在多台机器上运行")
            ) from missing
        self.cron, self.text, self.late_seconds = cron, text, late_seconds
        self.options = options
        fields = cron.split()
        self._is_hourly = fields == ["@hourly"] or (len(fields) == 5 and fields[1] == "*")
        if len(fields) not in (1, 5) or not self._is_ever():
            raise SettingsError(
                say(
                    f"'{cron}' is no line of cron, or of a day that never comes: write minute, hour, day, month and weekday, "
                    "such as '0 8 * * mon-fri'",
                    f"“{cron}”不是 cron 表达式，或永远不会到来：请写 分 时 日 月 星期，例如 '0 8 * * mon-fri'",
                )
            )
        if not options.keys() <= SubmitOptions.__optional_keys__ - {"run_id", "at"}:
            raise SettingsError(
                say(
                    "a schedule takes what Agent.submit takes, but run_id and at: both say when, and cron does",
                    "Schedule 接受 Agent.submit 的选项，但 run_id 和 at 除外：时间由 cron 决定",
                )
            )
        try:
            self._zone = zoneinfo.ZoneInfo(timezone)
        except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
            raise SettingsError(
                say(
                    f"there is no time zone '{timezone}': write one such as 'Asia/Shanghai'",
                    f"没有时区“{timezone}”：请写如 'Asia/Shanghai' 的名称",
                )
            ) from error

    def _is_ever(self) -> bool:
        """Whether the line can be read, and its days are in some year."""
        try:
            self._found(dt.datetime.now(dt.UTC), "get_prev")
        except ValueError:
            return False
        return True

    def last(self, now: dt.datetime) -> dt.datetime:
        """The last moment that it names, up to now."""
        return self._moment(now + dt.timedelta(seconds=1), "get_prev")

    def next(self, now: dt.datetime) -> dt.datetime:
        """The first moment that it names after now."""
        return self._moment(now, "get_next")

    def _moment(self, now: dt.datetime, way: str) -> dt.datetime:
        """The moment before or after now.

        Of an hour that clocks have twice, as they are put back, what comes every hour has both, and anything else the first.
        """
        start = here = now.astimezone(self._zone)
        for _ in range(
            2 if self._is_hourly else 0
        ):  # by a clock that is not put back: now's, or the moment's own
            moment = self._found(start.astimezone(dt.timezone(start.utcoffset() or _NONE)), way)
            moment = moment.astimezone(self._zone)
            if moment.utcoffset() == start.utcoffset():
                return moment
            start = now.astimezone(dt.timezone(moment.utcoffset() or _NONE))
        moment = self._found(here, way)
        while (first := moment.replace(fold=0)).utcoffset() != moment.utcoffset():
            if way == "get_prev":
                return first
            moment = self._found(moment, way)
        return moment

    def _found(self, start: dt.datetime, way: str) -> dt.datetime:
        moment: dt.datetime = getattr(self._croniter(self.cron, start), way)(dt.datetime)
        return moment


class Recurring:
    """Submits what schedules name when it is due.

    Args:
        ledger: where to.
        agents: the worker's, by name.
        schedules: by name.
        now: the time, in UTC.

    Raises:
        SettingsError: when a schedule names an agent that is not there.
    """

    def __init__(
        self,
        ledger: RunLedger,
        agents: Mapping[str, Agent[Any]],
        schedules: Mapping[str, Schedule],
        *,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._ledger, self._agents, self._schedules, self._now = ledger, agents, dict(schedules), now
        self._done: dict[str, str] = {}
        for name, schedule in self._schedules.items():
            if (wanted := schedule.options.get("agent", "")) not in agents:
                there = ", ".join(f"'{agent}'" for agent in agents if agent)
                raise SettingsError(
                    say(
                        f"the schedule '{name}' is for the agent '{wanted}', and there is: {there}: give it agent='…'",
                        f"计划“{name}”使用的 agent 是“{wanted}”，而可用的是：{there}：请设置 agent='…'",
                    )
                )

    async def run(self) -> None:
        """Submits what is due, until it is cancelled."""
        while self._schedules:
            await self.submit_due()
            now = self._now()
            left = min((schedule.next(now) - now).total_seconds() for schedule in self._schedules.values())
            await asyncio.sleep(min(_LONGEST_SLEEP, max(0.05, left)))

    async def submit_due(self) -> None:
        """Submits the last run of each schedule that is due and was not submitted yet."""
        now = self._now()
        for name, schedule in self._schedules.items():
            moment = schedule.last(now)
            is_late = (now - moment).total_seconds() > schedule.late_seconds
            run_id = f"{name}@{moment:%Y-%m-%dT%H:%M%z}"  # of the hour that clocks have twice, it says which
            if is_late or self._done.get(name) == run_id:
                continue
            agent = self._agents[schedule.options.get("agent", "")]
            options: SubmitOptions = {**schedule.options, "run_id": run_id}
            try:
                await submit(agent, schedule.text, options, ledger=self._ledger)
            except StoreError as error:  # it is tried again
                _LOG.warning("the schedule %s could not be kept: %s", name, error)
                continue
            except ToolhandError as error:
                _LOG.error("the schedule %s cannot be kept: %s", name, error)
            self._done[name] = run_id
