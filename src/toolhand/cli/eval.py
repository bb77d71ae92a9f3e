"""`toolhand eval`: runs cases over models and protocols, reports, compares, and makes cases of failures.

Beside the codes of every command: 4, when the result is below a threshold that was given.
"""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from toolhand.cli.eval_progress import ProgressShow
from toolhand.cli.eval_sources import drift_record, named_evaluation, suite_of, tape_of
from toolhand.cli.eval_verdict import BELOW_THRESHOLD, Thresholds, complaints
from toolhand.cli.models import ensure_weights
from toolhand.cli.run import announced_default
from toolhand.cli.shown import screen, shown, tell
from toolhand.cli.words import say
from toolhand.core.errors import SettingsError
from toolhand.core.language import language_of, language_of_person
from toolhand.core.messages import Sampling
from toolhand.core.tables import print_table
from toolhand.evals.attempt import Conditions
from toolhand.evals.export import from_drift, from_evaluation, from_session
from toolhand.evals.reading import read_suite, relative
from toolhand.evals.report.html import page
from toolhand.evals.report.junit import junit
from toolhand.evals.report.terminal import show
from toolhand.evals.report.words import word
from toolhand.evals.results import Evaluation
from toolhand.evals.runner import run_stored, subjects_of
from toolhand.evals.starter import effects, starter_suite
from toolhand.evals.store import VARIABLE, Store
from toolhand.evals.summary import Comparison, against, inside
from toolhand.evals.writing import append_cases
from toolhand.execution.running import run_blocking
from toolhand.load import load_tools
from toolhand.models.resolve import resolve
from toolhand.sessions.store import open_store

HELP = say("Judge models and protocols on your own cases.", "用你自己的用例评测模型和协议。")


class _RunByDefault(typer.core.TyperGroup):
    """Without a subcommand's name the words are those of `run`: `toolhand eval cases.yaml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts `run` before the words where no subcommand is named."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = typer.Typer(help=HELP, no_args_is_help=True, cls=_RunByDefault)

STORE = typer.Option(
    None,
    "--store",
    help=say(
        f"where results are kept; by default {VARIABLE} or .toolhand/evals.db",
        f"结果保存位置，默认为 {VARIABLE} 或 .toolhand/evals.db",
    ),
)
HTML = typer.Option(None, "--html", help=say("Write the report as an HTML page.", "把报告写成 HTML 页面。"))
JUNIT = typer.Option(None, "--junit", help=say("Write the report as JUnit XML.", "把报告写成 JUnit XML。"))
COMPARE = typer.Option(
    None,
    "--compare",
    "-c",
    help=say(
        "Compare with an evaluation: its id, `last`, or another store's file.",
        "与另一次评测比较：编号、last，或另一个结果文件。",
    ),
)
FAIL_UNDER = typer.Option(
    None,
    "--fail-under",
    min=0,
    max=1,
    help=say("Exit with 4 when a pass rate is below this (0 to 1).", "通过率低于该值（0–1）时以 4 退出。"),
)
MAX_DROP = typer.Option(
    None,
    "--max-drop",
    min=0,
    max=1,
    help=say(
        "With --compare: exit with 4 when the rate surely fell by more than this (the whole 95 % interval).",
        "配合 --compare：下降确定超过该值（整个 95 % 区间）时以 4 退出。",
    ),
)
PROVE = typer.Option(
    False,
    "--prove",
    help=say(
        "With --max-drop: exit with 4 unless the interval proves that the drop is no greater.",
        "配合 --max-drop：除非区间能证明下降不超过该值，否则以 4 退出。",
    ),
)


@app.command("run", help=say("Run cases.", "运行用例。"))
def run(
    files: list[str] = typer.Argument(
        help=say(
            "case files, or bfcl:<category>,… for the public benchmark",
            "用例文件，或 bfcl:<类别>,… 使用公开基准",
        )
    ),
    models: list[str] = typer.Option(
        [], "--model", "-m", help=say("A model; several times for several.", "模型；可多次给出。")
    ),
    protocols: list[str] = typer.Option(
        [], "--protocol", "-p", help=say("A protocol, or all.", "协议，或 all 表示全部。")
    ),
    repeat: int = typer.Option(
        1, "--repeat", "-n", min=1, help=say("How often each case is tried.", "每个用例重复几次。")
    ),
    concurrency: int = typer.Option(
        1, "--concurrency", "-j", min=1, help=say("How many run at once.", "同时运行几个。")
    ),
    tags: list[str] = typer.Option(
        [], "--tag", help=say("Only cases with this tag.", "只运行带此标签的用例。")
    ),
    ids: list[str] = typer.Option([], "--case", help=say("Only this case.", "只运行此用例。")),
    limit: int | None = typer.Option(
        None, "--limit", min=1, help=say("At most so many cases, evenly spread.", "最多几个用例，均匀抽取。")
    ),
    record: Path | None = typer.Option(
        None, "--record", help=say("Keep the models' outputs in this file.", "把模型输出录制到此文件。")
    ),
    replay: Path | None = typer.Option(
        None,
        "--replay",
        help=say(
            "Take outputs from this file instead of asking; with --record the same file fills its gaps.",
            "从此文件取输出而不询问模型；与 --record 同一文件时只补录缺少的部分。",
        ),
    ),
    temperature: float | None = typer.Option(
        None, "--temperature", min=0, help=say("Of the model.", "采样温度。")
    ),
    max_tokens: int | None = typer.Option(
        None, "--max-tokens", min=1, help=say("The bound on a reply's length.", "每次回复的长度上限。")
    ),
    seconds: float = typer.Option(
        300.0, "--seconds", min=0.1, help=say("The most time for one question.", "每个问题最多用时（秒）。")
    ),
    allow_writes: bool = typer.Option(
        False,
        "--allow-writes",
        help=say("Really run tools that change something.", "真正执行有副作用的工具。"),
    ),
    compare: str | None = COMPARE,
    fail_under: float | None = FAIL_UNDER,
    max_drop: float | None = MAX_DROP,
    prove: bool = PROVE,
    html: Path | None = HTML,
    junit_file: Path | None = JUNIT,
    store: Path | None = STORE,
    yes: bool = typer.Option(
        False, "--yes", "-y", help=say("Fetch the embedded model without asking.", "不询问直接下载内置模型。")
    ),
) -> int:
    thresholds = Thresholds(fail_under=fail_under, max_drop=max_drop, needs_proof=prove)
    thresholds.check(has_comparison=compare is not None)
    err = screen(is_err=True)
    suite = suite_of(files, allow_writes=allow_writes).chosen(tuple(tags), tuple(ids), limit)
    if not suite.cases:
        raise SettingsError(say("no case is left to run", "没有可运行的用例"))
    keeper = Store(store)
    old = named_evaluation(keeper, compare) if compare is not None else None  # before anything costs time
    plays_only = replay is not None and record is None
    chosen = models or [announced_default(err)]
    subjects = subjects_of(chosen, protocols)
    if not plays_only:
        for model in chosen:
            ensure_weights(model, err, is_agreed=yes)
            resolve(model)  # what is wrong with a name or key is said before an empty evaluation is kept
    conditions = Conditions(
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
        seconds=seconds,
        runs_writing_tools=allow_writes,
        tape=tape_of(record, replay),
        plays_only=plays_only,
    )
    evaluation = keeper.begin(suite, subjects, repeat=repeat, note=_note(repeat, temperature, replay))
    with ProgressShow(err, len(suite.cases) * repeat * len(subjects)) as progress:
        work = run_stored(
            suite,
            evaluation,
            keeper,
            on_attempt=progress.note,
            concurrency=concurrency,
            conditions=conditions,
        )
        is_stopped = _is_stopped(work)
    evaluation = keeper.load(evaluation.id)
    comparisons = inside(evaluation) if old is None else against(evaluation, old)
    _report(evaluation, comparisons, html, junit_file)
    if is_stopped:
        err.print(say("stopped; what was finished is kept", "已停止；已完成的部分已保存"))
        return 130
    return _judged(evaluation, comparisons if old is not None else [], thresholds, err)


def _is_stopped(work: Coroutine[Any, Any, Evaluation]) -> bool:
    """Runs an evaluation; whether it was stopped with Ctrl-C."""
    try:
        run_blocking(work)
    except KeyboardInterrupt:
        return True
    return False


def _note(repeat: int, temperature: float | None, replay: Path | None) -> str:
    parts = [
        f"repeat {repeat}" if repeat > 1 else "",
        "" if temperature is None else f"temperature {temperature:g}",
    ]
    return ", ".join(filter(None, [*parts, f"replay of {replay.name}" if replay is not None else ""]))


def _report(
    evaluation: Evaluation, comparisons: list[Comparison], html: Path | None, junit_file: Path | None
) -> None:
    language = language_of_person()
    show(evaluation, comparisons, screen(), language)
    if html is not None:
        _write(html, page(evaluation, comparisons, language))
    if junit_file is not None:
        _write(junit_file, junit(evaluation, language))


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise SettingsError(
            say(f"'{path}' cannot be written: {error.strerror}", f"无法写入“{path}”：{error.strerror}")
        ) from None


def _judged(
    evaluation: Evaluation, comparisons: list[Comparison], thresholds: Thresholds, err: Console
) -> int:
    found = complaints(evaluation, comparisons, thresholds)
    for sentence in found:
        err.print(f"[red]{shown(sentence)}[/]", highlight=False)
    return BELOW_THRESHOLD if found else 0


@app.command("report", help=say("Show an evaluation that is kept.", "显示已保存的评测。"))
def report(
    name: str = typer.Argument("last", help=say("its id, or last", "编号，或 last")),
    compare: str | None = COMPARE,
    fail_under: float | None = FAIL_UNDER,
    max_drop: float | None = MAX_DROP,
    prove: bool = PROVE,
    html: Path | None = HTML,
    junit_file: Path | None = JUNIT,
    store: Path | None = STORE,
) -> int:
    thresholds = Thresholds(fail_under=fail_under, max_drop=max_drop, needs_proof=prove)
    thresholds.check(has_comparison=compare is not None)
    keeper = Store(store)
    evaluation = named_evaluation(keeper, name)
    old = named_evaluation(keeper, compare) if compare is not None else None
    comparisons = inside(evaluation) if old is None else against(evaluation, old)
    _report(evaluation, comparisons, html, junit_file)
    return _judged(evaluation, comparisons if old else [], thresholds, screen(is_err=True))


@app.command("list", help=say("List the evaluations that are kept.", "列出已保存的评测。"))
def list_evaluations(store: Path | None = STORE) -> None:
    keeper = Store(store)
    table = Table(box=None, pad_edge=False)
    for title in (
        "id",
        say("suite", "用例集"),
        say("subjects", "对象"),
        say("passed", "通过"),
        say("state", "状态"),
    ):
        table.add_column(title)
    for head in keeper.heads():
        counts = keeper.counts(head.id)
        passed = f"{counts.get('passed', 0)}/{sum(counts.values())}"
        subjects = ", ".join(subject.label for subject in head.subjects)
        state = word(f"state_{head.state}", language_of_person())
        table.add_row(head.id, shown(head.suite), shown(subjects), passed, state)
    print_table(screen(), table)


@app.command("init", help=say("Write a starter suite for your own tools.", "为你的工具生成起步用例集。"))
def init(
    tools: str = typer.Argument(help=say("a .py file, a module, or builtin", ".py 文件、模块名或 builtin")),
    out: Path = typer.Option(
        Path("cases.yaml"), "--out", "-o", help=say("the case file to write", "要写入的用例文件")
    ),
    language: str = typer.Option(
        "",
        "--language",
        "-l",
        help=say("en or zh, for the questions; that of the tools", "问题的语言 en 或 zh，默认随工具"),
    ),
    force: bool = typer.Option(False, "--force", help=say("Write over a file.", "覆盖已有文件。")),
) -> None:
    if language not in ("", "en", "zh"):
        raise typer.BadParameter(say("the language is en or zh", "语言只能是 en 或 zh"))
    if out.exists() and not force:
        raise SettingsError(
            say(
                f"'{out}' exists: give --force, or another --out",
                f"“{out}”已存在：请用 --force 覆盖，或换一个 --out",
            )
        )
    found = list(load_tools(tools))
    source = relative(str(Path(tools).resolve()), out.resolve().parent) if tools.endswith(".py") else tools
    spoken = language or language_of(" ".join(tool.description for tool in found))
    text = starter_suite(found, source, out, "zh" if spoken == "zh" else "en")
    _write(out, text)
    suite = read_suite(out)
    tell(say(f"{out}: {len(suite.cases)} cases", f"{out}：{len(suite.cases)} 个用例"))
    if named := ", ".join(effects(found)):
        tell(
            say(
                f"these change something, and run only with a fixture or --allow-writes: {named}",
                f"以下工具有副作用，只有写了 fixtures 或使用 --allow-writes 才会执行：{named}",
            )
        )


@app.command("add", help=say("Add a found failure to a case file.", "把发现的失败加入用例文件。"))
def add(
    source: str = typer.Argument(
        help=say(
            "an evaluation's id, `last`, a drift log's file, or `session`",
            "评测编号、last、漂移日志文件，或 session",
        )
    ),
    case: str = typer.Argument(
        help=say("the case's id, the record's number, or the session's id", "用例 id、记录序号，或会话 id")
    ),
    to: Path = typer.Option(
        Path("cases.yaml"), "--to", help=say("the case file that it goes to", "要加入的用例文件")
    ),
    tools: str = typer.Option(
        "builtin", "--tools", "-t", help=say("of a session: its tools", "会话所用的工具")
    ),
    sessions: str | None = typer.Option(
        None, "--sessions", help=say("where sessions are kept", "会话保存位置")
    ),
    store: Path | None = STORE,
) -> None:
    if source == "session":
        work = from_session(f"session-{case}", open_store(sessions), case, list(load_tools(tools)))
        written = run_blocking(work)
    elif Path(source).is_file() and Path(source).suffix in (".jsonl", ".log"):
        written = from_drift(drift_record(Path(source), case))
    else:
        written = from_evaluation(named_evaluation(Store(store), source), case)
    (name,) = append_cases(to, [written])
    tell(say(f"{to}: added '{name}'", f"{to}：已加入“{name}”"))
