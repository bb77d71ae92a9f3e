"""Submits runs: what is asked for is checked, written down, and carried to a worker."""

from __future__ import annotations

import datetime as dt
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from toolhand.agent import Agent
from toolhand.arguments.settings import DEFAULT
from toolhand.core.errors import SettingsError, ToolError
from toolhand.core.language import say
from toolhand.durable.ledger import RunLedger
from toolhand.durable.opening import ledger_of
from toolhand.durable.rows import NewRun
from toolhand.durable.submitted import SubmittedRun
from toolhand.options import check_values, refuse_unknown
from toolhand.run import Output
from toolhand.sessions.session import check_name
from toolhand.submitting import SubmitOptions

_NAME: Final = re.compile(r"[^\s\0]{1,128}")


async def submit(
    agent: Agent[Output], text: str, options: SubmitOptions, *, ledger: RunLedger | None = None
) -> SubmittedRun[Output]:
    """See `Agent.submit`; `ledger` is where to, by default that of the agent's store."""
    if not options.keys() <= SubmitOptions.__optional_keys__:
        refuse_unknown("submit", options, SubmitOptions.__optional_keys__)
    check_values("submit", text=text, **{k: v for k, v in options.items() if k != "at"})
    run_id = options.get("run_id") or uuid.uuid4().hex
    name = options.get("agent", "")
    queue = options.get("queue") or name or "default"
    for what, given in (("run_id", run_id), ("queue", queue)):
        if not _NAME.fullmatch(given):
            raise SettingsError(
                say(
                    f"submit: {what} is a name of up to 128 characters without blanks, not {given[:60]!r}",
                    f"submit: {what} 应是不含空白、最多 128 个字符的名称，不能是 {given[:60]!r}",
                )
            )
    session, user = options.get("session") or f"run-{run_id}", options.get("user", "")
    check_name("session", session)
    check_name("user", user)
    ledger = ledger or ledger_of(agent.store)
    new = NewRun(
        id=run_id,
        session_id=session,
        user=user,
        agent=name,
        queue=queue,
        priority=int(options.get("priority", 0)),
        due=_moment(options.get("at")),
        streams=bool(options.get("streams", False)),
        asked=_asked(agent, text, options),
    )
    await ledger.submit(new)
    return SubmittedRun(run_id, ledger, output_of=_output_of(agent))


def submitted(agent: Agent[Output], run_id: str) -> SubmittedRun[Output]:
    """See `Agent.submitted`."""
    return SubmittedRun(run_id, ledger_of(agent.store), output_of=_output_of(agent))


def _moment(at: dt.datetime | None) -> float:
    if at is None:
        return 0.0
    if not isinstance(at, dt.datetime):
        raise SettingsError(say("submit: at is a datetime", "submit: at 应是 datetime"))
    return at.timestamp()


def _asked(agent: Agent[Any], text: str, options: SubmitOptions) -> Mapping[str, Any]:
    asked: dict[str, Any] = {"text": text}
    for key, names in (("permissions", options.get("permissions", ())), ("roles", options.get("roles", ()))):
        if names:
            asked[key] = sorted(names)
    if (limits := options.get("limits")) is not None:
        asked["limits"] = asdict(limits)
    if (choice := options.get("tool_choice")) is not None:
        for name in (
            () if choice in ("auto", "required", "none") else [choice] if isinstance(choice, str) else choice
        ):
            agent.tools[name]  # an unknown name is the programmer's mistake
        asked["tool_choice"] = choice if isinstance(choice, str) else list(choice)
    if facts := options.get("facts"):
        try:
            asked["facts"] = json.loads(json.dumps(dict(facts), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise SettingsError(
                say(
                    f"submit: facts hold what JSON cannot ({error}): a worker elsewhere could not be given it; "
                    "give a name by which the tool finds it",
                    f"submit: facts 含有 JSON 无法表示的内容（{error}），其他机器上的 worker 得不到它：请给出可据以查找的名称",
                )
            ) from error
    return asked


def _output_of(agent: Agent[Any]) -> Any:
    """Makes a typed output of the JSON that a worker kept; None where the agent's output is text."""
    output = agent.setup.output
    if output is None:
        return None

    def made(kept: Any) -> Any:
        found = output.take(kept, DEFAULT)
        return kept if isinstance(found, ToolError) else found.value

    return made
