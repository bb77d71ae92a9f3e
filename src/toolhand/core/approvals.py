"""What a person decides about a call, and the call that waits for it; both travel as JSON, so any process may resume."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeAlias

from toolhand.core.canonical import canonical, digest
from toolhand.core.context import RunContext
from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.core.messages import BoundCall, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Approve:
    """The call may run as it is.

    Args:
        by: who decided, for the audit.
    """

    by: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not run.

    Args:
        reason: a sentence for the model.
        by: who decided, for the audit.
    """

    reason: str = ""
    by: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Edit:
    """The call may run with other arguments.

    Args:
        arguments: all of them, instead of the model's.
        by: who decided, for the audit.
    """

    arguments: Mapping[str, Any]
    by: str = field(default="", kw_only=True)


Decision: TypeAlias = Approve | Deny | Edit

_DECISIONS: Final = "approvals.decisions"
_SPENT: Final = "approvals.spent"

_DIRECT: Final = "direct:"
"""How the ids of direct calls begin; no provider's do."""

_USED: Final[dict[str, int]] = {}
"""How many agreements to each direct call were used in this process. In the process and not in a toolset: whoever makes a new
toolset for each request has no new agreement by that."""

_USING: Final = threading.Lock()

PENDING: Final = "pending"
"""The note on a result under which its `PendingCall` stands as JSON. Only the approval policy writes it: what a tool says,
its error codes too, never suspends a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call that waits for a person.

    Args:
        approval_id: names exactly this call: its id, session, tool and arguments. A decision counts for nothing else.
        call_id: the call's id in the session.
        name: the tool.
        arguments: what the model sent, typed.
        user: who asked.
        session_id: the conversation.
        trace_id: the run that was suspended.
        effect: what the tool does: "reads", "writes", "destroys".
        may_have_run: whether it was agreed to before and its process died while it ran: it may have had its effect already.
    """

    approval_id: str
    call_id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    user: str = ""
    session_id: str = ""
    trace_id: str = ""
    effect: str = "reads"
    may_have_run: bool = False

    @classmethod
    def of(cls, call: BoundCall, context: RunContext) -> PendingCall:
        """From a call that is about to run."""
        return cls(
            approval_id=approval_id(call.call, context),
            call_id=call.call.id,
            name=call.tool.name,
            arguments=dict(call.call.arguments),
            user=context.user,
            session_id=context.session_id,
            trace_id=context.trace_id,
            effect=call.tool.rules.effect,
        )

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {**asdict(self), "arguments": dict(self.arguments)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> PendingCall:
        """From what `to_json` gave; keys that are not known are left out."""
        return cls(**{key: value[key] for key in cls.__dataclass_fields__ if key in value})


def pending_of(result: ToolResult) -> PendingCall | None:
    """The call that waits for a person, where that is what the result says; else None."""
    pending = result.notes.get(PENDING)
    return None if pending is None else PendingCall.from_json(pending)


def approval_id(call: ToolCall, context: RunContext) -> str:
    """The name of exactly this call, the same in every process."""
    return digest("approval", context.user, context.session_id, call.id, call.name, canonical(call.arguments))


def decide(context: RunContext, decisions: Mapping[str, Decision]) -> None:
    """Tells a run what was decided.

    Args:
        context: the run's.
        decisions: by approval id, or by call id.

    Raises:
        SettingsError: when one of them is no decision; nothing is taken over then.
    """
    check_decisions(decisions)
    context.memory.setdefault(_DECISIONS, {}).update(decisions)
    context.memory.setdefault(_SPENT, set()).difference_update(decisions)


def check_decisions(decisions: Mapping[str, Decision]) -> None:
    """Refuses decisions of which one is none: before any of them counts, and before anything runs.

    Raises:
        SettingsError: naming the call that it is about.
    """
    for key, decision in decisions.items():
        checked(decision, f"the decision about '{key}'")


def checked(decision: object, what: str) -> Decision:
    """The decision, if it is one.

    Args:
        decision: what somebody gave for one.
        what: what it is, for the error.

    Raises:
        SettingsError: when it is none.
    """
    if isinstance(decision, Edit) and not isinstance(decision.arguments, Mapping):
        raise SettingsError(
            say(
                f"{what} is an Edit whose arguments are a {type(decision.arguments).__name__}: "
                "give all the arguments as a dict, Edit({...})",
                f"{what}是 Edit，但它的参数是 {type(decision.arguments).__name__}：请用 dict 给出全部参数，Edit({{...}})",
            )
        )
    if isinstance(decision, Mapping) and "decision" in decision:
        raise SettingsError(
            say(
                f"{what} is still JSON: give decision_from_json(…) of it",
                f"{what} 还是 JSON：请先用 decision_from_json(…) 转换",
            )
        )
    if not isinstance(decision, Approve | Deny | Edit):
        raise SettingsError(
            say(
                f"{what} is {decision!r:.60}: give Approve(), Deny(reason) or Edit(arguments)",
                f"{what} 是 {decision!r:.60}：请给出 Approve()、Deny(reason) 或 Edit(arguments)",
            )
        )
    return decision


def decision_for(call: ToolCall, context: RunContext) -> Decision | None:
    """What was decided about this call, or None."""
    decisions = context.memory.get(_DECISIONS)
    if not decisions:
        return None
    found: Decision | None = decisions.get(approval_id(call, context), decisions.get(call.id))
    return found


def direct_id(name: str, arguments: Mapping[str, Any], context: RunContext) -> str:
    """The id of a call that no model made: the same for the same call, until somebody's agreement to it has been used.

    Whoever calls again with the decision has the call that was asked about; whoever calls once more after that has another.

    Args:
        name: the tool's name, as it is called.
        arguments: as they are sent.
        context: who calls, in which session.
    """
    errand = digest("direct", context.user, context.session_id, name, canonical(arguments))
    return _numbered(f"{_DIRECT}{errand}")


def _numbered(errand: str) -> str:
    return f"{errand}.{_USED.get(errand, 0)}"


def _use(call_id: str) -> bool:
    """Uses an agreement to a direct call, once in this process; False where it has been used."""
    if not call_id.startswith(_DIRECT):
        return True
    errand, _, rest = call_id.partition(".")
    errand = f"{errand}~{rest}" if "~" in rest else errand  # a fallback's call, which is agreed to by itself
    with _USING:
        if "~" not in rest and call_id != _numbered(errand):
            return False
        _USED[errand] = _USED.get(errand, 0) + 1
        return "~" not in rest or _USED[errand] == 1


def give_back(call_id: str) -> None:
    """Takes back that an agreement was used, where the call has done nothing yet: its fallback has to be agreed to."""
    errand, _, number = call_id.partition(".")
    with _USING:
        if number.isdigit() and _USED.get(errand) == int(number) + 1:
            _USED[errand] -= 1


def spend(call: ToolCall, context: RunContext) -> Decision | None:
    """What was decided about this call and has not counted yet: an agreement counts for one call, and this is it."""
    decisions, spent = context.memory.get(_DECISIONS, {}), context.memory.get(_SPENT, set())
    names = (approval_id(call, context), call.id)
    for name in names:
        decision: Decision | None = decisions.get(name)
        if isinstance(decision, Deny):
            return decision
        if decision is not None and name not in spent:
            spent.update(names)
            return decision if _use(call.id) else None
    return None


def decision_to_json(decision: Decision) -> dict[str, Any]:
    """As a JSON object: {"decision": "approve" | "deny" | "edit", …, "by": …}.

    Raises:
        SettingsError: when it is no decision: nothing else may pass for an agreement.
    """
    checked(decision, "the decision")
    by = {"by": decision.by} if decision.by else {}
    if isinstance(decision, Deny):
        return {"decision": "deny", "reason": decision.reason, **by}
    if isinstance(decision, Edit):
        return {"decision": "edit", "arguments": dict(decision.arguments), **by}
    return {"decision": "approve", **by}


def decision_from_json(value: Mapping[str, Any]) -> Decision:
    """From what `decision_to_json` gave.

    Raises:
        SettingsError: when it is no decision.
    """
    match value:
        case {"decision": "approve"}:
            return Approve(by=_by(value))
        case {"decision": "deny"}:
            return Deny(str(value.get("reason") or ""), by=_by(value))
        case {"decision": "edit", "arguments": Mapping() as arguments}:
            return Edit(dict(arguments), by=_by(value))
        case _:
            raise SettingsError(
                say(
                    'a decision is {"decision": "approve"}, {"decision": "deny", "reason": …} '
                    'or {"decision": "edit", "arguments": {…}}',
                    '决定应写成 {"decision": "approve"}、{"decision": "deny", "reason": …} '
                    '或 {"decision": "edit", "arguments": {…}}',
                )
            )


def _by(value: Mapping[str, Any]) -> str:
    return str(value.get("by") or "")
