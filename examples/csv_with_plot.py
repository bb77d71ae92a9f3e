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
    "How much was sold in each month? The rows are in `table` already. Write one program: totals = the amounts "
    "added up by month, draw totals as a bar chart, save it as chart.png, and print totals."
)
BEFORE = "import pandas as pd\nimport matplotlib.pyplot as plt\ntable = pd.DataFrame(sales())\n"
"""What every program begins with."""


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
        """Runs a whole Python program. `table` is there already: a DataFrame with the columns month, region, amount. So is `plt`.

        Args:
            code: the program, such as "print(table.groupby('region')['amount'].mean())"; do not make or load a table.
        """
        bounds = ProgramLimits(seconds=60, memory_mb=512)
        done = await arun_code(BEFORE + code, [sales], limits=bounds, backend="process")
        for name, content in done.files.items():
            (folder / name).write_bytes(content)
        if done.error is not None:
            return {"error": str(done.error), "printed": done.output}
        return {"printed": done.output, "files": list(done.files)}

    run = Agent(model, [run_program], limits=Limits(turns=6)).run_sync(QUESTION)
    for call, result in zip(run.calls, run.results, strict=True):
        print(call.arguments.get("code", ""), "\n->", result.data or result.error, "\n")
    print(run.text)
    print("charts:", ", ".join(str(path) for path in folder.glob("*.png")) or "none")
    return run


if __name__ == "__main__":
    main(chosen.model(__doc__), Path(tempfile.mkdtemp(prefix="toolhand-chart-")))
