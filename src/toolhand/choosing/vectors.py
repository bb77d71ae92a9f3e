"""The vectors of tools, and how near a question is to each. Needs NumPy (extra `vectors`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolhand.choosing.index import fields_of
from toolhand.choosing.words import LONGEST, spaced
from toolhand.core.errors import MissingExtraError
from toolhand.core.language import say
from toolhand.core.tools import Tool
from toolhand.models.embeddings import Embeddings

SHARE: Final = 0.6
"""How much the nearest tool's vector counts against the best one's words. Fitted as the index was: `python -m bench.choice`."""


def together(scores: Mapping[int, float], nearness: Sequence[float]) -> dict[int, float]:
    """Scores of words and of vectors as one, by the tool's place.

    Args:
        scores: those of words; a place that is left out has none.
        nearness: of every place, in deviations from the mean.
    """
    best, nearest = max(scores.values(), default=0.0) or 1.0, max(nearness, default=0.0) or 1.0
    return {
        place: scores.get(place, 0.0) / best + SHARE * near / nearest for place, near in enumerate(nearness)
    }


class ToolVectors:
    """The vectors of some tools, asked for once.

    Args:
        tools: the tools.
        embeddings: the model.

    Raises:
        MissingExtraError: without NumPy.
    """

    def __init__(self, tools: Sequence[Tool], embeddings: Embeddings) -> None:
        self._numpy = load_numpy()
        self._texts = [_text(tool) for tool in tools]
        self._embeddings = embeddings
        self._rows: Any = None
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    async def nearness(self, question: str) -> list[float]:
        """How near a question is to each tool, in deviations from the mean.

        Raises:
            ModelError: when the server gives no vectors.
        """
        numpy = self._numpy
        async with self._one_at_a_time():
            if self._rows is None:
                self._rows = self._unit(await self._embeddings.vectors(self._texts))
        asked = self._unit(await self._embeddings.vectors([_cut(question)]))[0]
        if asked.shape[0] != self._rows.shape[1]:  # the server has another model by now
            self._rows = None
            return [0.0] * len(self._texts)
        near = self._rows @ asked
        spread = float(numpy.std(near)) or 1.0
        found: list[float] = ((near - near.mean()) / spread).tolist()
        return found

    def _unit(self, vectors: list[list[float]]) -> Any:
        rows = self._numpy.asarray(vectors, dtype=self._numpy.float32)
        return rows / (self._numpy.linalg.norm(rows, axis=1, keepdims=True) + 1e-9)

    def _one_at_a_time(self) -> asyncio.Lock:
        """The running loop's lock: two runs do not ask for the same thousand vectors."""
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
        return self._lock[1]


def _text(tool: Tool) -> str:
    title, told, names, described, _ = fields_of(tool)
    return _cut(f"{spaced(title)}: {told} {spaced(names)} {described}")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"


def load_numpy() -> Any:
    """NumPy.

    Raises:
        MissingExtraError: when it is not installed.
    """
    try:
        import numpy as np  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("vectors", say("choosing tools by vectors", "按向量选择工具")) from None
    return np
