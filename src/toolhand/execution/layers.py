"""The layers around every call, in their order. Why this order: `docs/how-to/policies.md` and `docs/adr/0008-policies.md`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.core.tools import Tool
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
from toolhand.policies.redact import Redact, redact
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


_SERVED_BY: Final[Mapping[str, Any]] = {
    "permission": Permission,
    "approval": Approval,
    "sensitive": Redact,
    "timeout": timeout,
    "rate_limit": RateLimit,
    "concurrency": Concurrency,
    "before": conditions,
    "after": conditions,
}
"""The policy that reads each rule by which a tool guards something."""


def refuse_unserved(tools: Iterable[Tool], policies: Sequence[Policy]) -> None:
    """Refuses policies that leave out what a tool declares: an approval that nobody asks for is worse than none.

    A policy of a user's own that reads a rule says so: `serves = {"approval"}`. No policies at all are somebody's clear word.

    Args:
        tools: those behind the policies.
        policies: given instead of the default ones.

    Raises:
        SettingsError: when a rule is read by no policy; it names the tool, the rule and the way out.
    """
    if not policies:
        return
    unread = [
        rule
        for rule, kind in _SERVED_BY.items()
        if not any(_reads(policy, rule, kind) for policy in policies)
    ]
    for tool, rule in ((tool, rule) for tool in tools for rule in unread):
        if getattr(tool.rules, rule) not in (None, False, "", (), frozenset()):
            raise SettingsError(
                say(
                    f"the tool '{tool.name}' declares `{rule}`, which none of the policies given reads: they take the place "
                    f"of the default ones, so give [yours, *default_policies()] (from toolhand.execution.layers)",
                    f"工具“{tool.name}”声明了 `{rule}`，而给出的 policies 都不读取它：它们会取代默认策略，"
                    f"请写成 [自己的策略, *default_policies()]（来自 toolhand.execution.layers）",
                )
            )


def _reads(policy: Policy, rule: str, kind: Any) -> bool:
    """Whether a policy reads a rule: the package's own of that kind, or one that says so."""
    is_ours = isinstance(policy, kind) if isinstance(kind, type) else policy is kind
    return is_ours or rule in getattr(policy, "serves", ())
