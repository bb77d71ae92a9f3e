"""Several models as one: when one fails for good, the next is asked. The history is neutral, so it may be in mid-run."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Final

from toolhand.core.errors import MissingExtraError, ModelError, ModelFault, SettingsError, WeightsError
from toolhand.core.events import ModelReplaced, TextDelta
from toolhand.core.language import say
from toolhand.core.messages import ModelOutput, ModelRequest
from toolhand.models import Model
from toolhand.models.announcing import announce

REST_SECONDS: Final = 60.0
"""How long a model that failed is left alone while another one can answer."""

_OF_THE_REQUEST: Final = frozenset(
    {ModelFault.REFUSED, ModelFault.CONTEXT_OVERFLOW, ModelFault.CONTENT_FILTER, ModelFault.GARBLED}
)
"""Failures that say nothing about the next request."""

_Failure = (ModelError, WeightsError, MissingExtraError)


class FallbackModel:
    """The first of several models that answers.

    A model fails when its own retries are used up, or when trying again is of no use. A stream whose text has begun to reach the
    user is not taken over: it would be said twice.

    Args:
        models: in the order in which they are asked.
        rest_seconds: how long one that failed is left alone; what its server asks for counts where that is longer.
        clock: seconds that only grow.

    Raises:
        SettingsError: when there are fewer than two, or one of them twice.
    """

    def __init__(
        self,
        models: Sequence[Model],
        *,
        rest_seconds: float = REST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if len(models) < 2 or len({id(model) for model in models}) < len(models):
            raise SettingsError(
                say("fallbacks need at least two different models", "备用模型至少需要两个不同的模型")
            )
        self.models = tuple(models)
        self._rest_seconds = rest_seconds
        self._clock = clock
        self._rests_until = [0.0] * len(models)

    def __repr__(self) -> str:
        return f"FallbackModel({', '.join(model.name for model in self.models)})"

    def __getattr__(self, name: str) -> Any:
        """What is known of the first model, such as its protocol or its context, is what is planned with."""
        if name.startswith("_") or name == "models":
            raise AttributeError(name)
        return getattr(self.models[0], name)

    @property
    def name(self) -> str:
        """The first model's: `ModelOutput.model` says which one answered."""
        return self.models[0].name

    async def complete(self, request: ModelRequest) -> ModelOutput:
        """One whole output, of the first model that gives one.

        Raises:
            ModelError: the last model's.
        """
        order = self._order()
        for place, number in enumerate(order):
            try:
                output = await self.models[number].complete(request)
            except _Failure as error:
                self._failed(number, error, order[place + 1 :])
            else:
                self._rests_until[number] = 0.0
                return output
        raise AssertionError  # pragma: no cover - the last one's failure was raised

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelOutput]:
        """The same, with the text in pieces as it comes and the whole output as the last item.

        Raises:
            ModelError: the last model's, or that of a stream that had begun.
        """
        order = self._order()
        for place, number in enumerate(order):
            has_given = False
            try:
                async with aclosing(self.models[number].stream(request)) as pieces:  # type: ignore[type-var]
                    async for piece in pieces:
                        has_given = has_given or isinstance(piece, ModelOutput) or bool(piece.text)
                        yield piece
            except _Failure as error:
                self._failed(number, error, () if has_given else order[place + 1 :])
            else:
                self._rests_until[number] = 0.0
                return

    async def close(self) -> None:
        """Closes all of them."""
        for model in self.models:
            await model.close()

    def _order(self) -> list[int]:
        """Which models are asked: those that rest come last, so that there is always one."""
        now = self._clock()
        return sorted(range(len(self.models)), key=lambda number: (self._rests_until[number] > now, number))

    def _failed(self, number: int, error: Exception, others: Sequence[int]) -> None:
        """Notes a failure and announces who is asked now; raises it where nobody is left."""
        if not (isinstance(error, ModelError) and error.fault in _OF_THE_REQUEST):
            asked = getattr(error, "retry_after", None) or 0.0
            self._rests_until[number] = self._clock() + max(self._rest_seconds, asked)
        if not others:
            raise error
        fallback = self.models[others[0]].name
        announce(ModelReplaced(model=self.models[number].name, error=error, fallback=fallback))
