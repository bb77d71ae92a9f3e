"""What holds for every policy, whichever files there are."""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from toolhand import ErrorCode, RunContext, ToolFailure, ToolResult, tool
from toolhand.core import plugins
from toolhand.core.messages import Value
from toolhand.core.tools import Breaker
from toolhand.execution.invoke import invoke
from toolhand.policies import Offering, Policy, Selective, chain

from .calls import bound, made

NAMES = plugins.names("policies")


def policy_of(name: str) -> Policy:
    """The policy that a file holds: what has the file's name, a class as a class is spelled."""
    module = import_module(f"toolhand.policies.{name}")
    function = getattr(module, name, None)
    if function is not None:
        return function
    return getattr(module, name.title().replace("_", ""))()


async def spare(x: int) -> str:
    return "spare"


ALL_RULES = {
    "timeout": 5.0, "retries": 1, "permission": "p", "rate_limit": "1000/minute", "concurrency": 4, "fallback": made(spare),
    "sensitive": frozenset({"phone"}), "max_result": 10_000, "upstream": "u", "before": (lambda arguments, context: None,),
    "after": (lambda arguments, result, context: None,), "breaker": Breaker(failures=1000),
    "idempotency_key": lambda arguments: arguments["x"],
}  # fmt: skip


def contexts(language="en"):
    return RunContext(user="u", session_id="s", language=language, permissions=frozenset({"p"}))


def raising(error: BaseException) -> Callable[..., object]:
    async def run(x: int) -> str:
        raise error

    return run


class Poison:
    """Raises whatever is done with it."""

    def __getattribute__(self, name):
        raise RuntimeError(name)


def poisonous():
    async def run(x: int) -> object:
        return Poison()

    return run


async def works(x: int) -> str:
    return f"done {x}"


def plain(x: int) -> str:
    return f"done {x}"


FAULTS = {
    "value": works, "plain": plain, "own words": raising(ValueError("the password is secret")), "RuntimeError": raising(RuntimeError("secret")), "exit": raising(SystemExit(3)),
    "interrupt": raising(KeyboardInterrupt()), "cancel": raising(asyncio.CancelledError()),
    "failure": raising(ToolFailure("no", hint="do it otherwise")), "timeout": raising(TimeoutError()),
    "network": raising(ConnectionError()), "recursion": raising(RecursionError()), "memory": raising(MemoryError()),
    "group": raising(BaseExceptionGroup("g", [KeyboardInterrupt()])), "poison": poisonous(),
}  # fmt: skip


@pytest.fixture(params=NAMES)
def policy(request):
    return policy_of(request.param)


def test_there_are_policies():
    assert {"timeout", "retry", "circuit_breaker", "rate_limit", "permission", "approval", "fallback"} <= set(
        NAMES
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_is_one_short_file(name):
    file = Path(inspect.getfile(import_module(f"toolhand.policies.{name}")))
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("rules", [{}, ALL_RULES, {"effect": "writes"}], ids=["bare", "all", "writes"])
async def test_every_call_ends_in_one_result_with_its_id(policy, fault, rules, monkeypatch):
    monkeypatch.setattr(
        asyncio, "sleep", lambda seconds, result=None, _sleep=asyncio.sleep: _sleep(0, result)
    )
    way = chain([policy], invoke)
    for language in ("en", "zh"):
        call = bound(made(FAULTS[fault], **rules), f"id-{language}", x=1)
        result = await way(call, contexts(language))
        assert isinstance(result, ToolResult)
        assert result.call_id == f"id-{language}"
        assert result.name == call.tool.name
        assert "secret" not in repr(result.outcome)
        if fault in ("value", "plain"):
            assert result.ok
            assert "done 1" in str(result.data)


async def test_what_the_tool_gives_comes_back_unchanged(policy):
    for number, value in enumerate((None, 0, "", [], {}, {"a": [1, 2.5, None, "中"]})):

        async def give(call, context, value=value):
            return call.answer(Value(value), mark=1)

        result = await chain([policy], give)(bound(made(works, **ALL_RULES), x=number), contexts())
        assert result.data == value
        assert result.notes["mark"] == 1


@pytest.mark.parametrize("rules", [{}, ALL_RULES], ids=["bare", "all"])
async def test_it_cancels_cleanly(policy, rules):
    started, was_cancelled = asyncio.Event(), []

    async def slow(call, context):
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            was_cancelled.append(call)
            raise

    way = chain([policy], slow)
    context = contexts()
    task = asyncio.ensure_future(way(bound(made(works, **rules), x=1), context))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(was_cancelled) == 1
    assert len(asyncio.all_tasks()) == 1
    # The next call goes through, or is refused in words.
    assert isinstance(await chain([policy], invoke)(bound(made(works, **rules), x=2), contexts()), ToolResult)


async def test_many_calls_at_once_stay_apart(policy):
    async def echo(call, context):
        await asyncio.sleep(0)
        return call.answer(Value((context.user, call.call.arguments["x"])))

    way, made_tool = chain([policy], echo), made(works)
    contexts_by_user = {f"user{number}": RunContext(user=f"user{number}") for number in range(5)}
    results = await asyncio.gather(
        *[
            way(bound(made_tool, f"{user}-{x}", x=x), context)
            for user, context in contexts_by_user.items()
            for x in range(20)
        ]
    )
    for result in results:
        user, x = result.call_id.split("-")
        assert result.data == (user, int(x)) or list(result.data) == [user, int(x)]


async def test_it_keeps_nothing_of_a_run_that_is_over(policy):
    class Fact:
        """Something whose end can be seen."""

    way = chain([policy], invoke)
    the_tool = made(works, **ALL_RULES)
    for number in range(3):
        context = RunContext(facts={"fact": Fact()}, session_id=f"s{number}", permissions=frozenset({"p"}))
        await way(bound(the_tool, x=number), context)
    del context
    gc.collect()
    assert not [thing for thing in gc.get_objects() if type(thing) is Fact]


async def test_what_it_does_not_apply_to_costs_nothing(policy):
    bare = tool(works)
    way = chain([policy], invoke)
    result = await way(bound(bare, x=1), contexts())
    assert result.ok
    if isinstance(policy, Selective) and not policy.applies(bare):
        assert way._ways[bare] is invoke


def test_what_is_offered_depends_on_the_context_alone(policy):
    if isinstance(policy, Offering):
        assert policy.offers(made(works), contexts()) in (True, False)


async def test_the_error_of_an_inner_layer_passes():
    """No policy turns an answer that it does not know into a success or loses its code."""
    for name in NAMES:
        for code in ErrorCode:

            async def fail(call, context, code=code):
                return call.answer(
                    (await invoke(bound(made(raising(ToolFailure("no", code=code))), x=1), context)).outcome
                )

            result = await chain([policy_of(name)], fail)(bound(made(works), x=1), contexts())
            assert result.error is not None
            assert result.error.code is code
