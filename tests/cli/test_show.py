"""What a person sees of a run as it happens."""

from __future__ import annotations

import io

from rich.console import Console

from toolhand import Agent, tool
from toolhand.cli.show import Show
from toolhand.core.events import TurnStarted
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.testing import ScriptedModel


def asking(turn, times):
    calls = (RawCall(id=f"c{turn}-{n}", name="get_stock", arguments='{"item": "x"}') for n in range(times))
    return ModelOutput(calls=tuple(calls), finish_reason="tool_calls")


def watched(replies, **options):
    """How often the tool ran, the run, and what was shown of it."""
    ran = []

    @tool
    def get_stock(item: str) -> int:
        """How many there are."""
        ran.append(item)
        return 4242

    err = io.StringIO()
    show = Show(Console(file=io.StringIO()), Console(file=err, width=200), **options)
    run = Agent(ScriptedModel(replies), tools=[get_stock]).run_sync("how many?", on_event=show)
    return len(ran), run, err.getvalue()


def test_a_call_that_a_reply_holds_seven_times_runs_once_and_is_shown_once():
    ran, run, shown = watched([asking(1, 7), "4242."])
    assert (ran, run.stopped, len(run.results)) == (1, "answered", 7)
    assert shown.count("get_stock") == 1
    assert shown.count("← 4242") == 1
    assert watched([asking(1, 7), "4242."], is_verbose=True)[2].count("→ get_stock") == 7


def test_the_same_turn_after_turn_comes_to_a_forced_answer():
    ran, run, shown = watched([*(asking(turn, 7) for turn in range(3)), "4242."])
    assert (ran, run.stopped, run.output) == (2, "loop", "4242.")
    assert shown.count("→ get_stock") == 3


def test_a_pipe_is_told_once_that_the_model_takes_its_time(monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    monkeypatch.setattr("toolhand.cli.show.QUIET_SECONDS", 0.0)
    err = io.StringIO()
    show = Show(Console(file=io.StringIO()), Console(file=err))
    show(TurnStarted(turn=1, model="m", protocol="p"))
    show._timer.join(30)
    show(TurnStarted(turn=2, model="m", protocol="p"))
    show.close()
    assert err.getvalue() == "the model is being loaded, or is thinking …\n"
