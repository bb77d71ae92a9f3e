"""The layers around every call, in their order. Why this order: `docs/how-to/policies.md` and `docs/adr/0008-policies.md`."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.policies import Policy
from toolhand.policies.approval import Approval, Ask, Rebind
from toolhand.policies.circuit_breaker import CircuitBreaker
from toolhand.policies.concurrency import Concurrency
from toolhand.policies.conditions import conditions
from toolhand.policies.deduplicate import Deduplicate
from toolhand.policies.fallback import Fallback
from toolhand.policies.idempotency import Idempotency
from toolhand.policies.permission import AccessRule, Permission
from toolhand.policies.rate_limit import RateLimit
from toolhand.policies.redact import redact
from toolhand.policies.retry import Retry
from toolhand.policies.sharing import SYSTEM_CLOCK, Clock, SharedPlaces, SharedState
from toolhand.policies.sharing.memory import MemoryState
from toolhand.policies.shrink import shrink
from toolhand.policies.timeout import timeout


def default_policies(
    *,
    access: Sequence[AccessRule] = (),
    ask: Ask | None = None,
    rebind: Rebind | None = None,
    state: SharedState | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> tuple[Policy, ...]:
    """The default layers, outermost first.

    Args:
        access: who may call what; the first word is "allow", "deny" or "ask".
        ask: asks a person for an approval and waits; without it the run is suspended.
        rebind: binds a call anew whose arguments a person changed.
        state: where limits, circuits and errands are counted; in this process by default.
        clock: where waits and windows get their time, such as `toolhand.testing.FakeClock` in tests.
    """
    state = MemoryState(clock) if state is None else state
    approval = Approval(ask, rebind=rebind)
    return (
        Fallback(),
        shrink,
        redact,
        Permission(access, approval=approval),
        approval,
        Deduplicate(clock),
        Idempotency(state),
        RateLimit(state),
        Concurrency(shared=state if isinstance(state, SharedPlaces) else None),
        CircuitBreaker(state),
        Retry(clock=clock),
        timeout,
        conditions,
    )
