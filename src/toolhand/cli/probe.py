"""`toolhand probe`: measures how a model takes its tools, and writes the profile that later runs use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from toolhand.cli.shown import screen, shown
from toolhand.cli.words import say
from toolhand.core import plugins
from toolhand.core.errors import SettingsError
from toolhand.models.resolve import resolve

if TYPE_CHECKING:  # the command line starts without the probe
    from toolhand.ladder import Profile
    from toolhand.probe import Probe, Score

HELP = say(
    "Measure a model on every protocol and write its profile.", "测量模型在各种协议下的表现，并写入其配置。"
)

MODEL = typer.Argument(
    help=say('the model, such as "local" or "ollama:qwen3"', "模型，如 “local” 或 “ollama:qwen3”")
)
MINUTES = typer.Option(
    14.0,
    "--minutes",
    min=0.1,
    help=say("begin no further task after so long", "超过这个时间就不再开始新的任务"),
)
RUNGS_OPTION = typer.Option(
    None, "--protocol", "-p", help=say("only this protocol; may be repeated", "只测这个协议；可以重复")
)
DRY = typer.Option(False, "--dry-run", help=say("write no profile", "不写入配置"))

_MOST_DRIFT: Final = 3
_FEWEST: Final = 8
"""So few tasks on the best rung say nothing: no profile is written from them."""


def probe(
    model: str = MODEL,
    minutes: float = MINUTES,
    protocol: list[str] | None = RUNGS_OPTION,
    dry_run: bool = DRY,
) -> int:
    from toolhand.probe import MORE_RUNGS, RUNGS, Probe, recommended, scores  # noqa: PLC0415 - only this command needs it

    known = (*RUNGS, *MORE_RUNGS, *plugins.others("protocols"))
    if unknown := set(protocol or ()) - set(known):
        raise SettingsError(
            say(
                f"there is no rung '{', '.join(sorted(unknown))}'; there is: {', '.join(known)}",
                f"没有协议“{'、'.join(sorted(unknown))}”；可选：{'、'.join(known)}",
            )
        )
    found = resolve(model)
    measured = Probe(found, rungs=tuple(protocol or RUNGS), seconds=minutes * 60)
    is_whole = _measure(measured)
    console = screen()
    if not measured.trials:
        console.print(say("nothing was measured", "没有测到任何结果"))
        return 130
    ranked = scores([trial for trial in measured.trials if not trial.failure])
    console.print(_table(ranked))
    for rung, reason in measured.dropped.items():
        if reason != "worse":
            why = shown(reason)
            console.print(say(f"{rung}: the server refused it: {why}", f"{rung}：服务器拒绝：{why}"))
    profile = recommended(ranked)
    fit = f", least_sure {profile.least_sure:g}" if profile.least_sure else ""
    console.print(
        say(
            f"recommended: {' > '.join(profile.rungs)}{fit}",
            f"推荐：{' > '.join(profile.rungs)}{fit}",
        )
    )
    if not dry_run:
        _write(measured, ranked, profile, console)
    return 0 if is_whole else 130


def _write(measured: Probe, ranked: list[Score], profile: Profile, console: Console) -> None:
    from toolhand.ladder.profile import write_profile  # noqa: PLC0415

    if ranked[0].tasks < _FEWEST:
        console.print(
            say(
                f"too little was measured for a profile ({ranked[0].tasks} tasks)",
                f"测得太少（{ranked[0].tasks} 个任务），没有写入配置",
            )
        )
        return
    figures = ", ".join(f"{score.rung} {score.right}/{score.tasks}" for score in ranked)
    path = write_profile(measured.model, profile, remark=f"toolhand probe {measured.model.name}: {figures}")
    console.print(shown(say(f"written: {path}", f"已写入：{path}")))


def _measure(measured: Probe) -> bool:
    """Runs the probe with a progress bar; False when it was interrupted, which keeps what was measured."""
    console = screen(is_err=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rest]}"),
    )

    async def run(progress: Progress) -> None:
        bar = progress.add_task(say("measuring", "测量中"), total=measured.trials_left, rest="")
        try:
            async for trial in measured.run():
                mark = say("right", "对") if trial.is_right else say("wrong", "错")
                progress.update(
                    bar,
                    completed=len(measured.trials),
                    total=len(measured.trials) + measured.trials_left,
                    description=f"{trial.task.id} {trial.rung}: {mark}",
                    rest=_rest(measured.seconds_left),
                )
        finally:
            await measured.model.close()

    with Progress(*columns, console=console) as progress:
        try:
            asyncio.run(run(progress))
        except KeyboardInterrupt:
            console.print(say("stopped; what was measured is kept", "已停止；已测得的结果保留"))
            return False
    return True


def _rest(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return say(f"about {minutes}:{rest:02d} left", f"约剩 {minutes}:{rest:02d}")


def _table(ranked: list[Score]) -> Table:
    table = Table(box=None, pad_edge=False)
    titles = (
        (say("protocol", "协议"), "left"),
        (say("right", "正确"), "right"),
        (say("calls", "调用"), "right"),
        (say("silent", "不调用"), "right"),
        (say("wrong calls", "错误调用"), "right"),
        (say("tokens", "token"), "right"),
        (say("seconds", "秒"), "right"),
        (say("drift", "偏差"), "left"),
    )
    for title, side in titles:
        table.add_column(title, justify="right" if side == "right" else "left")
    for score in ranked:
        drift = ", ".join(f"{kind} {count}" for kind, count in list(score.drift.items())[:_MOST_DRIFT])
        table.add_row(
            score.rung,
            f"{score.right}/{score.tasks} {score.share:.0%}",
            f"{score.needing[0]}/{score.needing[1]}",
            f"{score.silent[0]}/{score.silent[1]}",
            str(score.wrong_calls),
            str(score.tokens),
            f"{score.seconds:.1f}",
            drift or "-",
        )
    return table
