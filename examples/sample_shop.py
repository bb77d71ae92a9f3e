"""Makes the sample shop database and asks it a question: `python examples/sample_shop.py [path]`."""

from __future__ import annotations

import sys

from toolhand.builtin.sample import make_sample
from toolhand.builtin.sql import sql_tools

path = make_sample(sys.argv[1] if len(sys.argv) > 1 else "shop.db")
list_tables, query_database = sql_tools(path)
print(f"made {path}")
for table in list_tables()["tables"]:
    print(f"  {table['table']}: {table['row_count']} rows")
worth = query_database(
    "SELECT category, round(sum(quantity * price), 2) AS worth FROM stock JOIN products ON id = product_id GROUP BY category"
)
for row in worth["rows"]:
    print(f"  {row[0]}: {row[1]:,.2f}")
