"""A file of lines for several processes: whole lines, few eyes, old ones gone."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading

import pytest

from toolhand.observability.jsonl import JsonLines, line_of

DAY = 86_400
START = 1_700_000_000.0


def test_lines_come_back_in_order(tmp_path):
    lines = JsonLines(tmp_path / "a" / "log.jsonl")
    for number in range(3):
        lines.append({"n": number, "text": "第一行\nsecond\u2028third\x85"})
    assert [line["n"] for line in lines.lines()] == [0, 1, 2]
    assert len((tmp_path / "a" / "log.jsonl").read_text("utf-8").splitlines()) == 3
    assert "第一行" in (tmp_path / "a" / "log.jsonl").read_text("utf-8")


def test_lone_surrogates_do_not_stop_it(tmp_path):
    lines = JsonLines(tmp_path / "log.jsonl")
    lines.append({"text": "a\udc80"})
    assert list(lines.lines()) == [{"text": "a\udc80"}]


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_only_its_owner_may_read_it(tmp_path):
    before = os.umask(0)
    try:
        JsonLines(tmp_path / "new" / "log.jsonl").append({})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new" / "log.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_nothing_there_yet(tmp_path):
    assert list(JsonLines(tmp_path / "no" / "log.jsonl").lines()) == []
    assert not (tmp_path / "no").exists()


def test_a_torn_line_is_passed_over_and_spoils_no_other(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"n": 0}\n{"n": 1, "te')
    lines = JsonLines(path)
    lines.append({"n": 2})
    lines.append({"n": 3})
    assert [line["n"] for line in lines.lines()] == [0, 2, 3]


WRITER = """
import sys
from toolhand.observability.jsonl import JsonLines
lines = JsonLines(sys.argv[1], most_bytes=int(sys.argv[3]))
for number in range(300):
    lines.append({"writer": sys.argv[2], "n": number, "text": "x" * 700})
"""


@pytest.mark.parametrize("most_bytes", [10**9, 20_000], ids=["one file", "set aside meanwhile"])
def test_several_processes_write_whole_lines(tmp_path, most_bytes):
    path = tmp_path / "log.jsonl"
    words = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*words, str(number), str(most_bytes)]) for number in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    found = {}
    for file in tmp_path.iterdir():
        for line in filter(None, file.read_text("utf-8").splitlines()):
            value = json.loads(line)
            found.setdefault(value["writer"], set()).add(value["n"])
    assert found == {str(number): set(range(300)) for number in range(3)}
    assert len(list(JsonLines(path).lines())) == 900


def test_threads_share_one(tmp_path):
    lines = JsonLines(tmp_path / "log.jsonl", most_bytes=5_000)
    threads = [
        threading.Thread(target=lambda: [lines.append({"n": n}) for n in range(200)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(lines.lines())) == 800


def test_a_large_file_is_set_aside_and_still_read(tmp_path):
    moment = START
    lines = JsonLines(tmp_path / "log.jsonl", most_bytes=200, now=lambda: moment)
    for number in range(30):
        lines.append({"n": number, "text": "x" * 20})
        moment += 1
    files = sorted(tmp_path.iterdir())
    assert len(files) > 3
    assert all(file.stat().st_size < 300 for file in files)
    assert [line["n"] for line in lines.lines()] == list(range(30))


def test_old_lines_go(tmp_path):
    moment = START
    lines = JsonLines(tmp_path / "log.jsonl", keep_days=3, now=lambda: moment)
    for day in range(10):
        lines.append({"day": day})
        moment += DAY
    kept = [line["day"] for line in lines.lines()]
    assert kept == [6, 7, 8, 9]


def test_a_new_process_knows_the_age_of_the_file(tmp_path):
    from_time = "2023-11-14T22:13:20+00:00"  # START
    JsonLines(tmp_path / "log.jsonl", now=lambda: START).append({"time": from_time, "n": 1})
    later = JsonLines(tmp_path / "log.jsonl", keep_days=2, now=lambda: START + 1.5 * DAY)
    later.append({"n": 2})
    assert [line["n"] for line in later.lines()] == [1, 2]
    assert len(list(tmp_path.iterdir())) == 2


def test_other_files_beside_it_stay(tmp_path):
    other = tmp_path / "log.jsonl.backup-1"
    other.write_text("mine")
    moment = START
    lines = JsonLines(tmp_path / "log.jsonl", keep_days=0.5, most_bytes=10, now=lambda: moment)
    for number in range(5):
        lines.append({"n": number})
        moment += DAY
    assert other.read_text() == "mine"
    assert len(list(lines.lines())) <= 2


def test_a_file_that_was_moved_away_is_made_anew(tmp_path):
    path = tmp_path / "log.jsonl"
    lines = JsonLines(path)
    lines.append({"n": 1})
    path.rename(tmp_path / "elsewhere")
    lines.append({"n": 2})
    assert json.loads(path.read_text()) == {"n": 2}


def test_after_closing_it_goes_on(tmp_path):
    lines = JsonLines(tmp_path / "log.jsonl")
    lines.append({"n": 1})
    lines.close()
    lines.close()
    lines.append({"n": 2})
    assert [line["n"] for line in lines.lines()] == [1, 2]


def test_anything_can_be_a_line():
    assert json.loads(line_of({"a": {1}, "b": object}))
