"""A model whose outputs are kept on disk, so that scoring again costs nothing: keyed by all that decides them."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from toolhand.core.events import TextDelta
from toolhand.core.messages import ModelOutput, ModelRequest, Odds, RawCall, Usage
from toolhand.models import Model
from toolhand.models.wire import Encoder


class CachedModel:
    """A model and what it has said before.

    Args:
        model: the model.
        file: the SQLite file.
    """

    def __init__(self, model: Model, file: Path) -> None:
        self.model = model
        self.name = model.name
        self.settings: Any = getattr(model, "settings", None)
        path = getattr(self.settings, "path", None)
        self._identity = str(path.name if path else model.name)
        self._encoder = Encoder(self._identity)
        self._kept = sqlite3.connect(file, check_same_thread=False)  # `run_sync` asks from another thread
        self._kept.execute(
            "create table if not exists outputs (key text primary key, output text, seconds real)"
        )
        self.asked = 0

    async def complete(self, request: ModelRequest) -> ModelOutput:
        """What it said before, or says now."""
        key = hashlib.sha256(self._encoder.body(request, streams=False)).hexdigest()
        row = self._kept.execute("select output from outputs where key = ?", (key,)).fetchone()
        if row is not None:
            return _output(json.loads(row[0]))
        start = time.monotonic()
        output = await self.model.complete(request)
        self.asked += 1
        written = json.dumps(asdict(output), ensure_ascii=False, default=dict)
        with self._kept:
            values = (key, written, time.monotonic() - start)
            self._kept.execute("insert or replace into outputs values (?, ?, ?)", values)
        return output

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelOutput]:
        """The same, in one piece."""
        yield await self.complete(request)

    async def close(self) -> None:
        """Closes the model."""
        await self.model.close()


def _output(row: dict[str, Any]) -> ModelOutput:
    return ModelOutput(
        text=row["text"],
        calls=tuple(RawCall(**call) for call in row["calls"]),
        finish_reason=row["finish_reason"],
        usage=Usage(**row["usage"]),
        thinking=row["thinking"],
        odds=tuple(Odds(odds["text"], odds["likely"]) for odds in row["odds"]),
    )
