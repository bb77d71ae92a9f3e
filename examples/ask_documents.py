"""Questions over a folder of documents, in English and Chinese; each answer says which passages it rests on.

It writes three small documents, one of them in GB18030, searches them through an index that follows the folder, and
answers.

    python examples/ask_documents.py [--model NAME]
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import chosen

from toolhand import Agent, Run
from toolhand.builtin.documents import document_tools
from toolhand.models import Model

LEASE = """# Lease of the shop in Mill Lane

## Rent
The rent is 1,450 pounds a month, paid on the first working day.

## Notice
Either side may end the lease; the notice period is three months.
"""
WARRANTY = """# Warranty

Power tools have a warranty of 24 months, hand tools of 60 months. Batteries have 12 months.
"""
HANDBOOK = (
    "# 员工手册\n\n## 年假\n入职满一年的员工每年有 15 天年假。\n\n## 加班\n加班须由部门经理事先批准。\n"
)
QUESTIONS = ("How long is the notice period of the lease?", "入职满一年的员工有几天年假？")


def write(folder: Path) -> Path:
    """The documents."""
    folder.mkdir()
    (folder / "lease.md").write_text(LEASE, encoding="utf-8")
    (folder / "warranty.md").write_text(WARRANTY, encoding="utf-8")
    (folder / "员工手册.txt").write_bytes(HANDBOOK.encode("gb18030"))
    return folder


def main(model: str | Model) -> list[Run]:
    """Asks the questions, and gives the runs."""
    runs = []
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name) / "documents")
        agent = Agent(model, document_tools(folder, index=Path(name) / "index.db"))
        for question in QUESTIONS:
            run = agent.run_sync(question)
            runs.append(run)
            print(f"> {question}\n{run.text}")
            for result in run.results:
                if result.error is not None:
                    print(f"  {result.name}: {result.error.message}")
                for passage in (result.data or {}).get("passages", ()):
                    print(
                        f"  {passage['file']}, line {passage.get('line', '?')}: {passage.get('heading', '')}"
                    )
    return runs


if __name__ == "__main__":
    main(chosen.model(__doc__))
