"""Models whose runs are made by workers on other machines: "worker:support" is the agent `support` of `toolhand worker`.

A request becomes a submitted run, and the gateway waits for it. What has been submitted is made even where the gateway or the
client goes away meanwhile; whoever sends the same request again follows the run that is there.
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
from toolhand.gateway.repeating import Repeats
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
    from toolhand.durable.rows import NewRun, RunRow

PROTOCOL: Final = "worker"
_LOOK_SECONDS: Final = 1.0


class Elsewhere:
    """The runs that workers make for a gateway.

    Args:
        upstreams: which models are workers' agents.
        store: where the runs are kept: a PostgreSQL that the workers share.
        seconds: how long a request may take.

    Raises:
        SettingsError: when there is such a model and the store is no PostgreSQL.
        MissingExtraError: when the extra `durable` is not installed.
    """

    def __init__(self, upstreams: Upstreams, store: Callable[[], SessionStore], seconds: float) -> None:
        self._upstreams, self._repeats = upstreams, Repeats(seconds)
        self._ledger: RunLedger | None = None
        if upstreams.has_workers:
            from toolhand.durable.opening import ledger_of  # noqa: PLC0415 - an extra

            self._ledger = ledger_of(store())

    async def answer(
        self, wanted: Wanted, caller: Caller, show: Callable[[str], None] | None
    ) -> Answered | None:
        """Has a request answered by a worker; None where its model is none of theirs.

        Raises:
            Refusal: when it brings tools or an option that the agent cannot obey, ends with no user's message, fails, the
                session is somebody else's or waits for a person, or its run is another one.
        """
        agent = self._upstreams.worker(wanted.model)
        if agent is None or self._ledger is None:
            return None
        if wanted.tools or wanted.toolsets:
            raise invalid("tools", "this model's tools are its worker's", "该模型使用 worker 自己的工具")
        _check_options(wanted)
        user, sending = caller.user_of(wanted.end_user), wanted.sending
        run_id = self._repeats.run_of(sending, user)
        with as_refusals():
            asked = _asked(wanted, caller, agent, run_id or uuid.uuid4().hex, is_streamed=show is not None)
            is_new = await _submitted(self._ledger, asked, wanted, may_be_there=bool(run_id))
            self._repeats.began(sending, user, asked.id)
            await _its_turn(self._ledger, asked.id, is_new=is_new)
            run = await _followed(self._ledger, asked.id, show)
        self._repeats.answered(sending, user)
        return answered(run, f"{WORKER}{agent}", PROTOCOL, show, run_id=asked.id)


def _asked(wanted: Wanted, caller: Caller, agent: str, run_id: str, *, is_streamed: bool) -> NewRun:
    """The run that a request asks for."""
    from toolhand.durable.rows import NewRun  # noqa: PLC0415 - an extra

    text, _ = last_message(wanted.messages)
    user, session_id = caller.user_of(wanted.end_user), wanted.session or f"run-{run_id}"
    check_name("session", session_id)
    check_name("user", user)
    asked: dict[str, Any] = {"text": text}
    if sampling := {name: value for name, value in asdict(wanted.sampling).items() if value is not None}:
        asked["sampling"] = sampling
    if wanted.choice.mode != "auto":
        asked["tool_choice"] = wanted.choice.mode
    if caller.key is not None:
        asked |= {"permissions": sorted(caller.key.permissions), "roles": sorted(caller.key.roles)}
    return NewRun(
        id=run_id,
        session_id=session_id,
        user=user,
        agent=agent,
        queue=agent or "default",
        streams=is_streamed,
        asked=asked,
    )


async def _submitted(ledger: RunLedger, asked: NewRun, wanted: Wanted, *, may_be_there: bool) -> bool:
    """Submits a run; False where it was submitted before, for the same request.

    Raises:
        Refusal: when there is one of that name which is another user's or another request's.
    """
    there = await ledger.find(asked.id) if may_be_there else None
    if there is None:
        _, earlier = last_message(wanted.messages)
        if earlier and await ledger.store.find(asked.session_id) is None:
            session = StoredSession(asked.session_id, ledger.store, user=asked.user)
            async with session.held():
                if not session.count:
                    session.append(*heal(earlier).messages)
        if await ledger.submit(asked):
            return True
        there = await ledger.find(asked.id)  # the same request, sent at the same moment
    if there is None or there.user != asked.user:
        raise Refusal(
            403,
            say(f"the run '{asked.id}' is somebody else's", f"运行“{asked.id}”属于别人"),
            kind="permission_error",
            code="run_refused",
            param="toolhand.run_id",
        )
    is_elsewhere = wanted.session and there.session_id != wanted.session
    if is_elsewhere or (there.text, there.agent) != (asked.asked["text"], asked.agent):
        said = say(
            f"the run '{asked.id}' was submitted for another message: give each request a name of its own",
            f"运行“{asked.id}”是为另一条消息提交的：请给每个请求各自的名称",
        )
        raise Refusal(422, said, code="run_differs", param="toolhand.run_id")
    return False


async def _its_turn(ledger: RunLedger, run_id: str, *, is_new: bool) -> None:
    """Waits until a run is the next of its session.

    Raises:
        Refusal: when the one before it waits for a person, which may take days. One that is new is taken back then.
    """
    from toolhand.durable.inside import submitted_in, withdrawn  # noqa: PLC0415 - an extra
    from toolhand.durable.notices import notices_of  # noqa: PLC0415

    while (row := await ledger.find(run_id)) is not None and row.state == "behind":
        first = await submitted_in(ledger.store, row.session_id)
        if first and first.pending and (not is_new or await withdrawn(ledger, run_id)):
            raise _waits(first, is_kept=not is_new)
        async with notices_of(ledger.store).about(first.id if first else run_id) as box:
            await box.next(_LOOK_SECONDS)


def _waits(row: RunRow, *, is_kept: bool) -> Refusal:
    """What a client is told whose session waits for a person."""
    pending = row.outcome.get("pending", ())
    names = ", ".join(str(one.get("name")) for one in pending)
    then = (
        ("its answer comes after that", "之后才会得到回答")
        if is_kept
        else ("send it again after that", "之后请重新发送")
    )
    return Refusal(
        409,
        say(
            f"the session waits until a person has decided about {names} (run {row.id}): {then[0]}",
            f"会话正在等待人决定 {names}（运行 {row.id}）：{then[1]}",
        ),
        code="session_waits",
        param="toolhand.session",
        is_final=True,
        notes={"session": row.session_id, "run": row.id, "pending": list(pending)},
    )


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
        is_final=True,
        notes={"run": run_id},
    )
