"""A shop assistant over an SQL database, which it can only read.

It makes a small database, is asked three questions in one conversation, and shows the SQL that the model wrote.

    python examples/shop_assistant.py [--model NAME]
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import chosen

from toolhand import Agent, Limits, Run, Session
from toolhand.builtin.sample import make_sample
from toolhand.builtin.sql import sql_tools
from toolhand.models import Model

QUESTIONS = (
    "How many customers are from Hangzhou?",
    "数据库里价格最高的商品是什么，价格是多少？",
    "How many orders have the status cancelled?",
)


def main(model: str | Model) -> list[Run]:
    """Asks the questions, and gives the runs."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        tools = sql_tools(
            make_sample(Path(folder) / "shop.db")
        )  # add writes=True for a tool that changes rows
        agent = Agent(model, tools, limits=Limits(turns=8))
        session = Session()
        for question in QUESTIONS:
            run = agent.run_sync(question, session=session)
            runs.append(run)
            print(f"> {question}")
            for call, result in zip(run.calls, run.results, strict=True):
                told = "ok" if result.error is None else result.error.message
                print(f"  {call.name} {call.arguments.get('sql', '')}: {told}")
            print(run.text)
    return runs


if __name__ == "__main__":
    main(chosen.model(__doc__))
