"""The two impure ports of one attempt: the model that is watched, timed, recorded or replayed, and the tools' results."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from toolhand.core.canonical import canonical, digest
from toolhand.core.context import RunContext
from toolhand.core.events import TextDelta
from toolhand.core.language import say
from toolhand.core.messages import BoundCall, ModelOutput, ModelRequest, ToolResult, Usage
from toolhand.core.tools import Tool
from toolhand.evals.tape import NoRecordError, Tape, request_digest
from toolhand.models import Model
from toolhand.policies import Proceed
from toolhand.policies.redact import redact


class CutError(Exception):
    """The attempt goes no further: what the case asks about has been seen."""


@dataclass(kw_only=True)
class Progress:
    """What an attempt has used, and whether it is over.

    Args:
        stopped: why it goes no further; "" while it does.
    """

    stopped: str = ""
    seconds: float = 0.0
    usages: list[Usage] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)


class WatchedModel:
    """A model as one attempt sees it.

    Args:
        spec: the model's name as it was asked for.
        case: the case's id.
        repeat: which try.
        progress: takes what is used.
        model: what is asked; None where everything comes from the tape.
        tape: what records and replays.
        outputs: raw replies that are given instead, in order.
    """

    def __init__(
        self,
        spec: str,
        case: str,
        repeat: int,
        progress: Progress,
        *,
        model: Model | None,
        tape: Tape | None = None,
        outputs: Sequence[str] = (),
    ) -> None:
        self._spec, self._case, self._repeat = spec, case, repeat
        self._progress, self._model, self._tape = progress, model, tape
        self._outputs = list(outputs)
        self._is_given = bool(outputs)
        self._about = {} if tape is None else tape.about(spec, model)["about"]

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._model.name if self._model is not None else str(self._about.get("name", self._spec))

    def __getattr__(self, name: str) -> Any:
        """What else the agent asks of a model, such as the protocol that suits it."""
        if name.startswith("_"):
            raise AttributeError(name)
        if self._model is not None:
            return getattr(self._model, name)
        if name == "settings" and "file" in self._about:
            return SimpleNamespace(path=Path(self._about["file"]))
        if name in self._about:
            return self._about[name]
        raise AttributeError(name)

    async def complete(self, request: ModelRequest) -> ModelOutput:
        """One output: given, replayed, or asked for.

        Raises:
            CutError: when the attempt is over.
            NoRecordError: when a replay has none.
        """
        if self._progress.stopped:
            raise CutError(self._progress.stopped)
        if self._is_given:
            if not self._outputs:
                self._progress.stopped = "cut"
                raise CutError("cut")
            return ModelOutput(text=self._outputs.pop(0), usage=Usage(requests=1))
        output, seconds = await self._output(request)
        self._progress.seconds += seconds
        self._progress.usages.append(output.usage)
        return output

    async def _output(self, request: ModelRequest) -> tuple[ModelOutput, float]:
        tape, prompt = self._tape, ""
        if tape is not None:
            asked = request_digest(request)
            self._progress.asked[asked] += 1
            prompt = digest("output", self._spec, asked, str(self._repeat), str(self._progress.asked[asked]))
            played = tape.output(prompt, self._case)
            if played is not None:
                return played.output, played.seconds
        if self._model is None:
            raise NoRecordError(
                say(
                    f"turn {len(self._progress.usages) + 1} has no record: its prompt has changed, or it was never recorded",
                    f"第 {len(self._progress.usages) + 1} 轮没有录制：提示词已改变，或从未录制过",
                )
            )
        started = time.perf_counter()
        output = await self._model.complete(request)
        seconds = round(time.perf_counter() - started, 4)  # as the tape keeps it
        if tape is not None:
            tape.keep_output(
                prompt, self._case, output, seconds=seconds, model=self._spec, repeat=self._repeat
            )
        return output, seconds

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelOutput]:
        """The same as a stream of one piece.

        Raises:
            CutError: as `complete`.
            NoRecordError: as `complete`.
        """
        output = await self.complete(request)
        if output.text:
            yield TextDelta(text=output.text)
        yield output

    async def close(self) -> None:
        """Nothing: whoever made the model closes it."""


class TapedResults:
    """The innermost policy: records what models see of real tools' results, and gives it again in a replay.

    Args:
        tape: where it is kept.
        case: the case's id: two cases may find a tool in different states.
        repeat: which try.
        live: the names of tools that answer from fixtures, which need no record.
    """

    def __init__(self, tape: Tape, case: str, repeat: int, live: frozenset[str]) -> None:
        self._tape, self._case, self._repeat, self._live = tape, case, repeat, live
        self._counts: Counter[str] = Counter()

    def applies(self, tool: Tool) -> bool:
        """Only what really runs is recorded."""
        return tool.name not in self._live

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """The recorded result, or a real one."""
        signature = canonical([call.tool.name, dict(call.call.arguments)])
        self._counts[signature] += 1
        number = str(self._counts[signature])
        key = digest("result", self._case, str(self._repeat), signature, number)
        kept = self._tape.outcome(key)
        if kept is not None:
            return call.answer(kept)
        if self._tape.plays and not self._tape.records and call.tool.rules.effect != "reads":
            raise NoRecordError(
                say(
                    f"the result of {call.tool.name} has no record, and a replay runs no tool that changes something",
                    f"{call.tool.name} 的结果没有录制，而重放不会执行有副作用的工具",
                )
            )
        result = await proceed(call, context)
        if self._tape.records:
            seen = await _masked(call, context, result)
            self._tape.keep_outcome(key, seen.outcome, tool=call.tool.name, case=self._case)
        return result


async def _masked(call: BoundCall, context: RunContext, result: ToolResult) -> ToolResult:
    """The result as the policies outside of here let a model see it; masking it again changes nothing."""

    async def given(call: BoundCall, context: RunContext) -> ToolResult:
        del call, context
        return result

    return await redact(call, context, given)
