"""A plan of several steps in one reply, of which the writing ones wait for a person.

The model writes a plan in a small language that can do nothing but call tools. Reading steps run; the reminder stops
the run, you are asked, and the run goes on from where it was. Without a terminal nothing is agreed to.

    python examples/plan_with_approval.py [--model NAME]      (needs the extra "plan")
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import chosen

from toolhand import Agent, Run, tool
from toolhand.core.approvals import Approve, Decision, Deny, PendingCall
from toolhand.models import Model

INVOICES = {17: {"email": "ann@example.com", "total": 420}, 23: {"email": "bo@example.com", "total": 80}}
QUESTION = "Remind the customer of invoice 17."
INSTRUCTIONS = """When the user says "Remind the customer of invoice 5", write:
find_invoice(number=5) -> i
send_reminder(email=$i.email, total=$i.total)
return "The customer of invoice 5 is reminded of {$i.total} euros."
"""
"""A small model needs one plan to go by; a large one does without."""
sent: list[str] = []


@tool(reveals=["email"])  # else a step, too, would see the address masked
def find_invoice(number: int) -> dict[str, int | str]:
    """Finds an invoice: the customer's email and the total in euros."""
    return INVOICES[number]


@tool(effect="writes", approval=True)
def send_reminder(email: str, total: int) -> str:
    """Sends a customer a reminder of what is to be paid.

    Args:
        email: the customer's email.
        total: what is to be paid, in euros.
    """
    sent.append(email)
    return f"reminded {email} of {total} euros"


def ask(call: PendingCall) -> Decision:
    """Asks at the terminal."""
    if not sys.stdin.isatty():
        return Deny("There is nobody here to agree.")
    answer = input(f"{call.name} {dict(call.arguments)} [y/N]? ")
    return Approve(by="terminal") if answer.strip().lower() == "y" else Deny("The user does not want it.")


def main(model: str | Model, decide: Callable[[PendingCall], Decision] = ask) -> Run:
    """Has the plan written and run, with every writing step decided about."""
    tools = [find_invoice, send_reminder]
    agent = Agent(model, tools, protocol="plan", instructions=INSTRUCTIONS, store="memory")
    run = agent.run_sync(QUESTION, session="reminders")
    for _ in range(10):
        if run.stopped != "approval":
            break
        decisions = {call.approval_id: decide(call) for call in run.pending}
        run = agent.resume_sync("reminders", decisions)
    print(run.text)
    print("sent:", ", ".join(sent) or "nothing")
    return run


if __name__ == "__main__":
    main(chosen.model(__doc__))
