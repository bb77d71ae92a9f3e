"""The model writes Python over a CSV file; the program runs in a sandbox and leaves a plot.

The program sees no file and no network. It is handed the rows by the one tool that it may call, and the picture that
it leaves in its own folder comes back as bytes.

    python examples/csv_with_plot.py [--model NAME]      (needs the extra "sandbox-full", on Linux)
"""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import chosen

from toolhand import Agent, Limits, Run, tool
from toolhand.models import Model
from toolhand.sandbox import Limits as ProgramLimits
from toolhand.sandbox import arun_code

SALES = "month,region,amount\nJan,north,1200\nJan,south,800\nFeb,north,900\nFeb,south,1100\nMar,north,1500\nMar,south,1300\n"
QUESTION = (
    "Which month had the highest total amount, and how much was it? Use one program: load the rows with rows = sales(), add up "
    "amount by month, draw a bar chart with matplotlib, save it as chart.png, and print the totals."
)


def main(model: str | Model, folder: Path) -> Run:
    """Asks the question; the chart is then in the folder."""
    table = folder / "sales.csv"
    table.write_text(SALES, encoding="utf-8")

    @tool
    def sales() -> list[dict[str, str | int]]:
        """The rows of the table of sales: month, region, amount (a number)."""
        with table.open(encoding="utf-8", newline="") as lines:
            return [{**row, "amount": int(row["amount"])} for row in csv.DictReader(lines)]

    @tool(timeout=90)
    async def run_program(code: str) -> dict[str, object]:
        """Runs a Python program, in which sales() gives the rows of the table as a list of dicts with month, region and amount.

        Args:
            code: the program; print what you want to know.
        """
        done = await arun_code(
            code, [sales], limits=ProgramLimits(seconds=60, memory_mb=512), backend="process"
        )
        for name, content in done.files.items():
            (folder / name).write_bytes(content)
        if done.error is not None:
            return {"error": str(done.error), "printed": done.output}
        return {"printed": done.output, "files": list(done.files)}

    run = Agent(model, [run_program], limits=Limits(turns=6)).run_sync(QUESTION)
    for call in run.calls:
        print(call.arguments.get("code", ""), "\n")
    print(run.text)
    print("charts:", ", ".join(str(path) for path in folder.glob("*.png")) or "none")
    return run


if __name__ == "__main__":
    main(chosen.model(__doc__), Path(tempfile.mkdtemp(prefix="toolhand-chart-")))
