"""Models whose runs are made by workers on other machines: "worker:support" is the agent `support` of `toolhand worker`.

A request becomes a submitted run, and the gateway waits for it. What has been submitted is made even where the gateway or the
client goes away meanwhile.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from toolhand.core.events import RunFinished, TextDelta
from toolhand.core.language import say
from toolhand.gateway.admission import Caller
from toolhand.gateway.fronts import Answered
from toolhand.gateway.refusals import LOG, Refusal, invalid
from toolhand.gateway.sessions import answered, as_refusals, last_message
from toolhand.gateway.upstreams import WORKER, Upstreams
from toolhand.gateway.wanted import Wanted
from toolhand.run import Run
from toolhand.sessions.healing import heal
from toolhand.sessions.session import check_name
from toolhand.sessions.store import SessionStore
from toolhand.sessions.stored import StoredSession

if TYPE_CHECKING:
    from toolhand.durable.ledger import RunLedger

PROTOCOL: Final = "worker"


class Elsewhere:
    """The runs that workers make for a gateway.

    Args:
        upstreams: which models are workers' agents.
        store: where the runs are kept: a PostgreSQL that the workers share.

    Raises:
        SettingsError: when there is such a model and the store is no PostgreSQL.
        MissingExtraError: when the extra `durable` is not installed.
    """

    def __init__(self, upstreams: Upstreams, store: Callable[[], SessionStore]) -> None:
        self._upstreams = upstreams
        self._ledger: RunLedger | None = None
        if any(row.model.startswith(WORKER) for row in upstreams.rows.values()):
            from toolhand.durable.opening import ledger_of  # noqa: PLC0415 - an extra

            self._ledger = ledger_of(store())

    async def answer(
        self, wanted: Wanted, caller: Caller, show: Callable[[str], None] | None
    ) -> Answered | None:
        """Has a request answered by a worker; None where its model is none of theirs.

        Raises:
            Refusal: when it brings tools or an option that the agent cannot obey, ends with no user's message, fails, or the
                session is somebody else's.
        """
        agent = self._upstreams.worker(wanted.model)
        if agent is None or self._ledger is None:
            return None
        if wanted.tools or wanted.toolsets:
            raise invalid("tools", "this model's tools are its worker's", "该模型使用 worker 自己的工具")
        _check_options(wanted)
        with as_refusals():
            run = await self._run(self._ledger, agent, wanted, caller, show)
        return answered(run, f"{WORKER}{agent}", PROTOCOL, show)

    async def _run(
        self,
        ledger: RunLedger,
        agent: str,
        wanted: Wanted,
        caller: Caller,
        show: Callable[[str], None] | None,
    ) -> Run[Any]:
        from toolhand.durable.rows import NewRun  # noqa: PLC0415 - an extra

        text, earlier = last_message(wanted.messages)
        run_id, user = uuid.uuid4().hex, caller.user_of(wanted.end_user)
        session_id = wanted.session or f"run-{run_id}"
        check_name("session", session_id)
        check_name("user", user)
        if earlier and await ledger.store.find(session_id) is None:
            session = StoredSession(session_id, ledger.store, user=user)
            async with session.held():
                if not session.count:
                    session.append(*heal(earlier).messages)
        asked: dict[str, Any] = {"text": text}
        if sampling := {name: value for name, value in asdict(wanted.sampling).items() if value is not None}:
            asked["sampling"] = sampling
        if wanted.choice.mode != "auto":
            asked["tool_choice"] = wanted.choice.mode
        if caller.key is not None:
            asked |= {"permissions": sorted(caller.key.permissions), "roles": sorted(caller.key.roles)}
        await ledger.submit(
            NewRun(
                id=run_id,
                session_id=session_id,
                user=user,
                agent=agent,
                queue=agent or "default",
                streams=show is not None,
                asked=asked,
            )
        )
        return await _followed(ledger, run_id, show)


_SAYS_NOTHING: Final = frozenset(
    {"metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"}
)
"""Further fields that change nothing in an answer: without them it is what was asked for."""


def _check_options(wanted: Wanted) -> None:
    """Refuses what a client asks of an answer and a worker's agent cannot do: unheeded, it would be taken for done.

    Raises:
        Refusal: naming every such option.
    """
    named = [name for name in wanted.extra if name not in _SAYS_NOTHING]
    named += ["response_format"] if wanted.shape is not None else []
    named += ["stop"] if wanted.stop else []
    named += ["tool_choice"] if wanted.choice.names else []
    if named:
        raise invalid(
            ", ".join(sorted(named)),
            "this model's answers come from a worker, whose agent cannot obey this: leave it out",
            "该模型的回答由 worker 的 agent 给出，无法遵从此选项：请去掉它",
            code="unsupported_parameter",
        )


async def _followed(ledger: RunLedger, run_id: str, show: Callable[[str], None] | None) -> Run[Any]:
    """The run, once it has an answer; its words as they come, where they are wanted."""
    from toolhand.durable.submitted import RunError, SubmittedRun  # noqa: PLC0415 - an extra

    submitted = SubmittedRun[Any](run_id, ledger)
    try:
        if show is None:
            return await submitted.wait()
        async for event in submitted.events():
            if isinstance(event, TextDelta):
                show(event.text)
            elif isinstance(event, RunFinished):
                run: Run[Any] = event.run
                return run
    except RunError as error:
        LOG.warning("%s", error)  # its reason is for those who run the workers, and not for the client
    raise Refusal(
        502,
        say(f"the run '{run_id}' came to no answer", f"运行“{run_id}”没有得到回答"),
        kind="server_error",
        code="run_failed",
    )
