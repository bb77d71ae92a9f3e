"""How many threads an embedded model gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolhand.core.errors import SettingsError
from toolhand.models import cores
from toolhand.models.cores import chosen_threads, idle_cores, usable_cores


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLHAND_THREADS", raising=False)
    assert chosen_threads() is None
    monkeypatch.setenv("TOOLHAND_THREADS", "3")
    assert chosen_threads() == 3
    for wrong in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("TOOLHAND_THREADS", wrong)
        with pytest.raises(SettingsError, match="TOOLHAND_THREADS must be a number of threads"):
            chosen_threads()


def test_at_least_one_and_no_more_than_there_are() -> None:
    assert 1 <= idle_cores(sample_seconds=0.02) <= usable_cores()


def test_a_quota_of_the_control_group_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    monkeypatch.setattr(cores, "_CONTROL_GROUP_QUOTA", quota)
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    for text, expected in (("max 100000\n", 8), ("150000 100000\n", 2), ("20000 100000\n", 1), ("broken", 8)):
        quota.write_text(text, "ascii")
        assert usable_cores() == expected
    quota.unlink()
    assert usable_cores() == 8


@pytest.mark.parametrize(("busy_ticks", "expected"), [(0, 4), (2, 4), (10, 3), (20, 2), (400, 1)])
def test_cores_that_others_keep_busy_are_left_to_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, busy_ticks: int, expected: int
) -> None:
    """The statistics move on by some ticks of a hundredth of a second while 0.1 s of them are looked at."""
    statistics = tmp_path / "stat"
    monkeypatch.setattr(cores, "_CPU_STATISTICS", statistics)
    monkeypatch.setattr(cores, "_CONTROL_GROUP_QUOTA", tmp_path / "none")
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    monkeypatch.setattr(cores.os, "sysconf", lambda _: 100, raising=False)
    now = [0.0]
    monkeypatch.setattr(cores.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(cores.time, "process_time", lambda: 0.0)

    def write(ticks: int) -> None:
        lines = ["cpu  9 9 9 9 9 9 9 9 0 0", f"cpu0 {ticks} 0 0 5 5 0 0 0 0 0"]
        lines += [f"cpu{core} 0 0 0 5 5 0 0 0 0 0" for core in range(1, 8)]
        statistics.write_text("\n".join(lines), "ascii")

    def sleep(seconds: float) -> None:
        now[0] += seconds
        write(busy_ticks)

    write(0)
    monkeypatch.setattr(cores.time, "sleep", sleep)
    assert idle_cores(sample_seconds=0.1) == expected


def test_where_nothing_says_so_all_are_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cores, "_CPU_STATISTICS", tmp_path / "none")
    assert idle_cores() == usable_cores()
