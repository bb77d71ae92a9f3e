"""How well a model calls tools on each rung and with the automatic setting.

    python bench/quality.py --model local --protocol auto --protocol json      one turn on bench/data/quality.jsonl
    python bench/quality.py --model local --two-step                           whole runs on bench/data/two_step.json
    python bench/quality.py --model local --unseen                             the same, on tasks written by somebody who didn't know the rules
    python bench/quality.py --model local --plans --protocol plan              whole runs of two to four steps, some on a condition
    python bench/quality.py --model local --tasks FILE.jsonl --limit 80        other tasks of the same form

A task has `messages`, `tools` and `ground_truth` in the form of BFCL (per call, each parameter's accepted values); its calls are
graded by the leaderboard's rules. Temperature 0, at most 256 new tokens. Outputs are kept in --cache: a second run takes seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from model_cache import CachedModel

from toolhand import Agent, Limits, Toolset
from toolhand.asking import Asking
from toolhand.core.context import RunContext
from toolhand.core.events import AskedAgain
from toolhand.core.language import language_of
from toolhand.core.messages import Message, Sampling, Text, ToolCall
from toolhand.core.tools import Tool, ToolChoice
from toolhand.evals.bfcl_rules import Bfcl, plain
from toolhand.evals.matchers import Look
from toolhand.ladder import Ladder, Profile, profile_of
from toolhand.models import Model
from toolhand.models.resolve import resolve
from toolhand.protocols import ModelProtocol
from toolhand.sessions.session import Session
from toolhand.setup import Setup

DATA = Path(__file__).parent / "data"
SAMPLING = Sampling(temperature=0.0, max_tokens=256)
TYPES = {"number": "float", "object": "dict"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """One task on one rung: the calls that would have run, and what they cost."""

    task: Mapping[str, Any]
    calls: tuple[ToolCall, ...]
    is_right: bool
    wrong_calls: int
    tokens: int
    was_doubted: bool


def protocol_of(name: str, model: Model) -> ModelProtocol:
    """The automatic setting, or one rung without any of its help."""
    if name == "auto":
        return Ladder(profile_of(model))
    return Ladder(Profile(rungs=(name,), checks_values=False, origin="the bench"))


async def first_turn(task: Mapping[str, Any], model: Model, protocol: ModelProtocol) -> Graded:
    """A task's first turn over the same way as any agent's."""
    tools = Toolset.from_openai(task["tools"])
    history = [Message(role=m["role"], parts=(Text(m["content"]),)) for m in task["messages"]]
    setup = Setup(
        model=model, tools=tools, protocol=protocol, instructions=None, language=None, sampling=SAMPLING
    )
    heard: list[Any] = []
    context = RunContext(language=language_of(task["messages"][-1]["content"]), emit=heard.append)
    answer = await Asking(setup, Session(), streams=False).ask(history, tools, ToolChoice(), context)
    calls = answer.reply.calls
    is_right, wrong = graded(task, calls)
    return Graded(
        task=task,
        calls=calls,
        is_right=is_right,
        wrong_calls=wrong,
        tokens=answer.usage.input_tokens + answer.usage.output_tokens,
        was_doubted=any(isinstance(event, AskedAgain) for event in heard),
    )


def graded(task: Mapping[str, Any], calls: Sequence[ToolCall]) -> tuple[bool, int]:
    """Whether all calls are those that were wanted, and how many are not."""
    left = [next(iter(wanted.items())) for wanted in task["ground_truth"]]
    functions = {tool["function"]["name"]: tool["function"] for tool in task["tools"]}
    declared = {f["name"].replace(".", "_"): f for f in task.get("function", ())}
    right = 0
    for call in calls:
        for wanted in left:
            name, accepted = wanted[0].replace(".", "_"), wanted[1]
            if name == call.name and _matcher(accepted, functions[name], declared.get(name)).is_met(
                dict(call.arguments), Look()
            ):
                left.remove(wanted)
                right += 1
                break
    return right == len(calls) == len(task["ground_truth"]), len(calls) - right


def _matcher(
    accepted: Mapping[str, Any], function: Mapping[str, Any], declared: Mapping[str, Any] | None
) -> Bfcl:
    parameters = (declared or function)["parameters"]
    types: dict[str, Any] = {}
    for name, schema in parameters.get("properties", {}).items():
        outer = TYPES.get(schema.get("type", "any"), schema.get("type", "any"))
        inner = (schema.get("items") or {}).get("type") if outer in ("array", "tuple") else None
        types[name] = [outer, TYPES.get(inner, inner)] if inner else outer
    return Bfcl(accepted=accepted, types=types, required=parameters.get("required") or ())


def line(name: str, rows: Sequence[Graded]) -> str:
    """One row of the table."""

    def share(some: Sequence[Graded]) -> str:
        right = sum(row.is_right for row in some)
        return f"{100 * right / len(some):4.0f} % {right:3}/{len(some):<3}" if some else "      -      "

    need = [row for row in rows if row.task["ground_truth"]]
    many = [row for row in need if len(row.task["ground_truth"]) > 1]
    none = [row for row in rows if not row.task["ground_truth"]]
    wrong = 100 * sum(row.wrong_calls for row in rows) / len(rows)
    tokens = statistics.median(row.tokens for row in rows)
    doubted = 100 * sum(row.was_doubted for row in rows) / len(rows)
    return f"{name:12} {share(need)} {share(none)} {share(rows)} {share(many)} {wrong:6.0f} {tokens:8.0f} {doubted:5.0f} %"


HEAD = f"{'protocol':12} {'right calls':13} {'right silence':13} {'all':13} {'two or more':13} {'wrong':>5} {'tokens':>8} {'asked':>7}"


async def one_turn(
    model: Model, protocols: Sequence[str], tasks: Sequence[Mapping[str, Any]], *, tells: bool
) -> None:
    print(HEAD)
    for name in protocols:
        protocol = protocol_of(name, model)
        rows: list[Graded] = []
        for number, task in enumerate(tasks, 1):
            rows.append(await first_turn(task, model, protocol))
            if sys.stderr.isatty():
                print(f"\r{name} {number}/{len(tasks)}", end="", file=sys.stderr)
            if tells and not rows[-1].is_right:
                calls = [(call.name, dict(call.arguments)) for call in rows[-1].calls]
                print(f"  {task['id']}: {json.dumps(calls, ensure_ascii=False, default=str)}")
        print(f"\r{line(name, rows)}", flush=True)


def fixture(name: str, step: Mapping[str, Any] | None, tool: Mapping[str, Any]) -> Tool:
    """A tool of a two-step task: it answers what the task says, to the arguments that the task says."""

    def run(**arguments: Any) -> Any:
        if step is not None and _fits(arguments, step["arguments"]):
            return step["result"]
        return {"error": "nothing found for these arguments"}

    return Tool(name=name, description=tool["description"], parameters=tool["parameters"], function=run)


def _fits(sent: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return set(sent) == set(wanted) and all(
        plain(str(sent[name])) in [plain(str(one)) for one in (value if isinstance(value, list) else [value])]
        for name, value in wanted.items()
    )


async def two_step(
    model: Model, protocols: Sequence[str], *, tells: bool, file: str = "two_step.json"
) -> None:
    """Whole runs: the first result is needed for the second call, and the second's for the answer."""
    data = json.loads((DATA / file).read_text("utf-8"))
    print(
        f"{'protocol':12} {'both calls':>10} {'and answer':>10} {'of':>4} {'caught':>7} {'wrong calls':>12} {'tokens':>8}"
    )
    for name in protocols:
        called = answered = caught = wrong = 0
        tokens = []
        for task in data["tasks"]:
            steps = {step["tool"]: step for step in task["steps"]}
            tools = [fixture(tool, steps.get(tool), data["tools"][tool]) for tool in task["tools"]]
            agent = Agent(
                model,
                tools=tools,
                protocol=protocol_of(name, model),
                sampling=SAMPLING,
                limits=Limits(turns=8),
            )
            run = await agent.run(task["text"])
            ran = [call for call, result in zip(run.calls, run.results, strict=True) if result.ok]
            wanted = task["steps"]
            met = [
                any(c.name == step["tool"] and _fits(c.arguments, step["arguments"]) for c in ran)
                for step in wanted
            ]
            is_answered = all(re.search(pattern, run.text) for pattern in task["answer"])
            called += all(met)
            answered += all(met) and is_answered
            caught += any(r.error is not None and "invented" in r.error.details for r in run.results)
            wrong += sum(
                not any(c.name == step["tool"] and _fits(c.arguments, step["arguments"]) for step in wanted)
                for c in ran
            )
            tokens.append(run.usage.input_tokens + run.usage.output_tokens)
            if tells and not (all(met) and is_answered):
                print(f"  {task['id']}: {[(c.name, dict(c.arguments)) for c in run.calls]} -> {run.text!r}")
        count = len(data["tasks"])
        print(
            f"{name:12} {called:10} {answered:10} {count:4} {caught:7} {wrong:12} {statistics.median(tokens):8.0f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="local")
    parser.add_argument("--protocol", action="append")
    parser.add_argument("--tasks", type=Path, default=DATA / "quality.jsonl")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--two-step", action="store_true")
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--cache", type=Path, default=None, help="a SQLite file for the model's outputs")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--tell", action="store_true", help="print what went wrong")
    options = parser.parse_args()
    model: Any = resolve(options.model, **({"threads": options.threads} if options.threads else {}))
    if options.cache is not None:
        model = CachedModel(model, options.cache)
    protocols = options.protocol or ["auto", "native", "constrained", "json", "template", "react"]
    start = time.monotonic()

    async def run() -> None:
        if options.two_step or options.plans or options.unseen:
            file = (
                "plans.json"
                if options.plans
                else "two_step_unseen.json"
                if options.unseen
                else "two_step.json"
            )
            await two_step(model, protocols, tells=options.tell, file=file)
        else:
            tasks = sorted(
                map(json.loads, options.tasks.read_text("utf-8").splitlines()), key=lambda task: task["order"]
            )
            await one_turn(model, protocols, tasks[: options.limit], tells=options.tell)
        await model.close()

    asyncio.run(run())
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
