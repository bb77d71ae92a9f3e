"""`Chain`: steps in order, each given what the one before has given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, Unpack

from toolhand.core.errors import ErrorCode, SettingsError, ToolError
from toolhand.core.language import Language, language_of, say
from toolhand.execution.running import run_blocking
from toolhand.flows.action import Action, checked, is_tool, performed
from toolhand.flows.outcome import FlowRun, Passed, StepRun
from toolhand.options import RunOptions
from toolhand.policies import Policy
from toolhand.tools.collect import each_tool
from toolhand.toolset import Toolset

Check: TypeAlias = Callable[..., Any]

_WORDS: Final[Mapping[Language, str]] = {
    "en": "What the step '{name}' gave is not what it has to be.",
    "zh": "步骤“{name}”给出的结果不符合要求。",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a chain.

    Args:
        action: an agent, a tool or function, a chain or a router.
        name: its name in the outcome; the tool's own, or "step 2", by default.
        takes: what the action is given, made of what has come so far (`Passed`): a function, or a text with `{value}`, `{first}`
            and the names of earlier steps in it. By default the value of the step before.
        when: whether it runs at all, by what has come so far; a step that does not hands on what it would have been given.
        check: looks at what it gave: None or True when it is right, else False or a sentence, and the chain ends there.
    """

    action: Action
    name: str = ""
    takes: str | Callable[[Passed], Any] | None = None
    when: Callable[[Passed], Any] | None = None
    check: Check | None = None


class Chain:
    """Steps in order. Tools run through every policy, as an agent's calls do.

    The first step that does not end well ends the chain: an error of a tool, a limit of an agent, a check that fails.

    Args:
        steps: `Step`s, or what a step may be.
        policies: the layers around each tool instead of `default_policies()`.

    Raises:
        SettingsError: when there is no step, two have one name, or a text names a step that is not before it.
    """

    def __init__(self, steps: Iterable[Step | Action], *, policies: Sequence[Policy] | None = None) -> None:
        given = [step if isinstance(step, Step) else Step(step) for step in steps]
        if not given:
            raise SettingsError(say("a chain needs at least one step", "链至少需要一个步骤"))
        tools = {place: each_tool(step.action)[0] for place, step in enumerate(given) if is_tool(step.action)}
        named = {id(tool): tool for tool in tools.values()}
        self.tools = Toolset(list(named.values()), policies=policies)
        self._steps: list[tuple[Step, Any]] = []
        for place, step in enumerate(given):
            tool = tools.get(place)
            name = step.name or (tool.name if tool is not None else f"step {place + 1}")
            if name in self.names:
                raise SettingsError(
                    say(
                        f"two steps of a chain are named '{name}': give one Step(…, name=…)",
                        f"链中有两个步骤都叫“{name}”：请给其中一个 Step(…, name=…)",
                    )
                )
            _check_text(step, name, self.names)
            self._steps.append((replace(step, name=name), step.action if tool is None else tool.name))

    @property
    def names(self) -> tuple[str, ...]:
        """The steps' names, in order."""
        return tuple(step.name for step, _ in self._steps)

    async def run(self, value: Any, **options: Unpack[RunOptions]) -> FlowRun:
        """Runs the steps.

        Args:
            value: what the first step is given.
            options: as for `Agent.run`; each agent and each tool gets them.

        Raises:
            SettingsError: when a tool cannot take what it is given.
            ModelError: when a model's server fails.
        """
        return await self.performed(value, checked("a chain", options))

    def run_sync(self, value: Any, **options: Unpack[RunOptions]) -> FlowRun:
        """`run` for code that is not async."""
        return run_blocking(self.run(value, **options))

    async def performed(self, value: Any, options: RunOptions) -> FlowRun:
        """`run`, with options that were looked at."""
        first, outputs, done = value, dict[str, Any](), list[StepRun]()
        for step, action in self._steps:
            passed = Passed(value=value, first=first, outputs=dict(outputs))
            if step.when is not None and not await _awaited(step.when(passed)):
                done.append(StepRun(name=step.name, output=value, stopped="skipped"))
                outputs[step.name] = value
                continue
            given = value if step.takes is None else await _taken(step.takes, passed)
            ran = await _checked(step, await performed(step.name, action, self.tools, given, options), first)
            done.append(ran)
            value = outputs[step.name] = ran.output
            if ran.stopped != "answered":
                return FlowRun(output=value, stopped=ran.stopped, error=ran.error, steps=tuple(done))
        return FlowRun(output=value, stopped="answered", error=None, steps=tuple(done))


async def _taken(takes: str | Callable[[Passed], Any], passed: Passed) -> Any:
    if isinstance(takes, str):
        return takes.format_map(_Values(passed))
    return await _awaited(takes(passed))


class _Values(dict[str, Any]):
    """The names that a text may hold."""

    def __init__(self, passed: Passed) -> None:
        super().__init__({**passed.outputs, "value": passed.value, "first": passed.first})


async def _checked(step: Step, ran: StepRun, first: Any) -> StepRun:
    if step.check is None or ran.stopped != "answered":
        return ran
    found = await _awaited(step.check(ran.output))
    if found is None or found is True:
        return ran
    language = language_of(first if isinstance(first, str) else "")
    message = found if isinstance(found, str) else _WORDS[language].format(name=step.name)
    error = ToolError(code=ErrorCode.POSTCONDITION_FAILED, message=message)
    return replace(ran, stopped="error", error=error)


async def _awaited(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


def _check_text(step: Step, name: str, before: Sequence[str]) -> None:
    if not isinstance(step.takes, str):
        return
    known = dict.fromkeys((*before, "value", "first"), "")
    try:
        step.takes.format_map(known)
    except (KeyError, ValueError, IndexError, AttributeError):
        names = f"{{{'}, {'.join(known)}}}"
        raise SettingsError(
            say(
                f"takes of the step '{name}' may hold {names}: {step.takes!r:.80}",
                f"步骤“{name}”的 takes 可以包含 {names}：{step.takes!r:.80}",
            )
        ) from None
