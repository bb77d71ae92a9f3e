"""`toolhand probe`: measures how a model takes its tools, and writes the profile that later runs use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from toolhand import __version__
from toolhand.cli.shown import screen, shown
from toolhand.cli.words import say
from toolhand.core import plugins
from toolhand.core.errors import ModelError, SettingsError
from toolhand.core.tables import print_table
from toolhand.models.resolve import resolve

if TYPE_CHECKING:  # the command line starts without the probe
    from toolhand.ladder import Profile
    from toolhand.probe import Kept, Probe, Score

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
DRY = typer.Option(
    False,
    "--dry-run",
    help=say(
        "write nothing: no profile, no trials to go on with", "不写入任何文件：既不写配置，也不保存测量进度"
    ),
)

FRESH = typer.Option(
    False,
    "--fresh",
    help=say("measure anew, not on from where it was stopped", "重新测量，不从上次停下的地方继续"),
)

_MOST_DRIFT: Final = 3
_FEWEST: Final = 8
"""So few tasks on the best rung say nothing: no profile is written from them."""


def probe(
    model: str = MODEL,
    minutes: float = MINUTES,
    protocol: list[str] | None = RUNGS_OPTION,
    dry_run: bool = DRY,
    fresh: bool = FRESH,
) -> int:
    from toolhand.probe import MORE_RUNGS, RUNGS, Kept, Probe  # noqa: PLC0415 - only this command needs it

    known = (*RUNGS, *MORE_RUNGS, *plugins.others("protocols"))
    if unknown := set(protocol or ()) - set(known):
        raise SettingsError(
            say(
                f"there is no rung '{', '.join(sorted(unknown))}'; there is: {', '.join(known)}",
                f"没有协议“{'、'.join(sorted(unknown))}”；可选：{'、'.join(known)}",
            )
        )
    found = resolve(model)
    kept = None if dry_run else Kept(found, version=__version__)
    earlier = [] if kept is None or fresh else kept.trials()
    measured = Probe(found, rungs=tuple(protocol or RUNGS), seconds=minutes * 60, earlier=earlier)
    if kept is not None:
        kept.begin(earlier)
    code = _measure(measured, kept)
    if not measured.trials:
        screen().print(say("nothing was measured", "没有测到任何结果"))
        return code or 1
    is_told = _results(measured, dry_run=dry_run)
    return code or (0 if is_told else 1)


def _results(measured: Probe, *, dry_run: bool) -> bool:
    """Prints the table and the recommendation, and writes the profile; whether there was one to give."""
    from toolhand.probe import recommended, scores  # noqa: PLC0415

    console = screen()
    ranked = scores([trial for trial in measured.trials if not trial.failure])
    if ranked:
        print_table(console, _table(ranked))
    for rung, reason in measured.dropped.items():
        if reason != "worse":
            why = shown(reason)
            console.print(say(f"{rung}: the server refused it: {why}", f"{rung}：服务器拒绝：{why}"))
    profile = recommended(ranked)
    if profile is None:
        console.print(
            say(
                "no call was right on any protocol, so nothing is recommended",
                "没有一种协议下有正确的调用，因此不作推荐",
            )
        )
        return False
    fit = f", least_sure {profile.least_sure:g}" if profile.least_sure else ""
    console.print(
        say(
            f"recommended: {' > '.join(profile.rungs)}{fit}",
            f"推荐：{' > '.join(profile.rungs)}{fit}",
        )
    )
    if not dry_run:
        _write(measured, ranked, profile, console)
    return True


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


def _measure(measured: Probe, kept: Kept | None) -> int:
    """Runs the probe with a progress bar; the exit code. Whatever ends it, what was measured stays."""
    console = screen(is_err=True)
    _tell_earlier(measured, console)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rest]}"),
    )

    async def run(progress: Progress) -> None:
        done = len(measured.trials)
        total = done + measured.trials_left
        bar = progress.add_task(say("measuring", "测量中"), completed=done, total=total, rest="")
        try:
            async for trial in measured.run():
                if kept is not None:
                    kept.add(trial)
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

    code = 0
    with Progress(*columns, console=console) as progress:
        try:
            asyncio.run(run(progress))
        except KeyboardInterrupt:
            code = 130
        except ModelError as error:
            if not measured.trials:
                raise
            console.print(shown(str(error)), highlight=False)
            code = 1
    if kept is not None and not measured.trials_left:
        kept.drop()
    _tell_rest(measured, console, code, is_kept=kept is not None)
    return code


def _tell_earlier(measured: Probe, console: Console) -> None:
    if count := len(measured.trials):
        console.print(
            say(
                f"going on after {count} trials that were kept; --fresh begins anew",
                f"从已保存的 {count} 次测量继续；--fresh 重新开始",
            )
        )


def _tell_rest(measured: Probe, console: Console, code: int, *, is_kept: bool) -> None:
    rest = measured.trials_left
    if not rest:
        return
    why = say("the time is up", "时间已到") if code == 0 else say("stopped", "已停止")
    then = say("; the same command goes on", "；再次运行同一命令即可继续") if is_kept else ""
    console.print(say(f"{why}; {rest} trials are left{then}", f"{why}；还剩 {rest} 次测量{then}"))


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
