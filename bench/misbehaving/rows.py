"""The rows of the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROWS: dict[str, dict[str, Any]] = {
    row["row"]: row for row in json.loads(Path(__file__).with_name("rows.json").read_text(encoding="utf-8"))
}
"""By name: what the model says (`calls` with id, name and arguments, or `text`), what should run (`seen`; null where no call can be
right), the words that an error has to have (`teaches`), and how it is judged."""
