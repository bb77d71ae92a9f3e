"""Orders that are paid once, whatever happens: the process dies in the midst of the work, and another goes on.

A first process is asked to pay two invoices, and dies right after it has paid the second. This one then resumes the
session. What has a result stays as it is; of the payment that was under way nobody knows, so it is not made again,
and the model is told to look. Nothing had to be prepared. The store is an SQLite file, or PostgreSQL:
TOOLHAND_STORE=postgresql://… For workers on many machines see docs/how-to/many-machines.md.

    python examples/durable_orders.py [--model NAME]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import chosen

from toolhand import Agent, Run, tool

QUESTION = "Pay the invoices A7 and B2."
NEXT_QUESTION = "Which invoices has the bank booked?"
BANK, SESSION, STORE = "EXAMPLE_BANK", "EXAMPLE_SESSION", "TOOLHAND_STORE"


def payments() -> list[str]:
    """What the bank has booked; a file stands for it."""
    bank = Path(os.environ[BANK])
    return bank.read_text(encoding="utf-8").split() if bank.exists() else []


@tool(effect="writes")
def pay_invoice(invoice: str) -> str:
    """Pays one invoice, such as "A7"."""
    with Path(os.environ[BANK]).open("a", encoding="utf-8") as bank:
        bank.write(f"{invoice}\n")
    if SESSION in os.environ and len(payments()) == 2:
        os._exit(1)  # as in a power cut: the money has gone, and nobody has written down that it has
    return f"invoice {invoice} is paid"


@tool
def list_payments() -> list[str]:
    """The invoices for which the bank has booked a payment."""
    return payments()


def agent_of(model: str) -> Agent:
    """The same agent in both processes."""
    return Agent(model, [pay_invoice, list_payments], store=os.environ[STORE])


def main(model: str, folder: Path) -> Run | None:
    """Lets a process begin and die, and goes on; None where it did not come to the second payment."""
    os.environ[BANK] = str(folder / "bank.txt")
    os.environ.setdefault(STORE, str(folder / "orders.db"))
    session = f"orders-{uuid.uuid4()}"
    command = [sys.executable, __file__, "--model", model]
    ended = subprocess.run(command, env={**os.environ, SESSION: session}, check=False)  # noqa: S603 - this file
    print(f"the first process ended with {ended.returncode}; the bank has booked {payments()}")
    if ended.returncode == 0:
        return None
    agent = agent_of(model)
    run = agent.resume_sync(session)
    for call, result in zip(run.calls, run.results, strict=True):
        told = result.data if result.error is None else result.error.code
        print(f"  {call.name} {dict(call.arguments)}: {told}")
    print(f"{run.text}\n> {NEXT_QUESTION}\n{agent.run_sync(NEXT_QUESTION, session=session).text}")
    return run


if __name__ == "__main__":
    if SESSION in os.environ:
        agent_of(chosen.model(__doc__)).run_sync(QUESTION, session=os.environ[SESSION])
    else:
        main(chosen.model(__doc__), Path(tempfile.mkdtemp(prefix="toolhand-orders-")))
