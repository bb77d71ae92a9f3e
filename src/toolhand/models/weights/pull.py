"""Fetching an entry's weights: each source in order, one writer at a time, nothing used that is not whole."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from toolhand.core import language, plugins
from toolhand.core.errors import MissingExtraError, WeightsError
from toolhand.models.weights.cache import is_present, path_of
from toolhand.models.weights.catalogue import Entry
from toolhand.models.weights.partial import DamagedError, PartialFile, Progress
from toolhand.models.weights.ranged import UnavailableError

_POLL_SECONDS: Final = 0.5


def _silent(*_: Any) -> None:
    """The default listener."""


def pull(entry: Entry, progress: Progress = _silent, *, say: Callable[[str], None] = _silent) -> Path:
    """Fetches an entry's weights, or finds them here already.

    May be interrupted at any point, also by Ctrl-C or a power cut, and goes on from there when it is called again.

    Args:
        entry: which.
        progress: called with the bytes that are here and those that will be (None where nobody knows).
        say: called with one sentence for each thing that a person may want to know, such as a source that was given up.

    Returns:
        Where they lie.

    Raises:
        WeightsError: when no source has them, or there is no room for them; the message says why for each.
        MissingExtraError: when the extra 'local' is not installed.
    """
    path = path_of(entry)
    if is_present(entry):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WeightsError(
            language.say(
                f"{path.parent} cannot be made ({error.strerror}): set TOOLHAND_CACHE to a folder that can be written",
                f"无法创建 {path.parent}（{error.strerror}）：请把 TOOLHAND_CACHE 设为可写的目录",
            )
        ) from error
    with _only_writer(entry, progress, say):
        if is_present(entry):
            return path
        if path.exists():
            say(f"{path} is damaged and is fetched again")
        _fetch(entry, path, progress, say)
    return path


def _fetch(entry: Entry, path: Path, progress: Progress, say: Callable[[str], None]) -> None:
    reasons = []
    for source in entry.sources:
        kind = plugins.load("models.weights.sources", source["kind"])
        title = kind.title(source)
        with PartialFile(path, progress) as part:
            try:
                sha256, size = kind.fetch(entry, source, part)
                part.finish(sha256, size_bytes=size)
            except (UnavailableError, DamagedError) as error:
                reasons.append(f"{title}: {error}")
                say(f"{title} is given up: {error}")
            except OSError as error:
                raise WeightsError(
                    language.say(
                        f"{path} cannot be written: {error.strerror or error}",
                        f"无法写入 {path}：{error.strerror or error}",
                    )
                ) from error
            else:
                return
    raise WeightsError(
        language.say(
            f"the weights of {entry.name} can be had from none of their sources: check the network, or put the file at {path} "
            f"({'; '.join(reasons)})",
            f"{entry.name} 的权重从所有来源都无法取得：请检查网络，或把文件放到 {path}（{'; '.join(reasons)}）",
        )
    )


@contextlib.contextmanager
def _only_writer(entry: Entry, progress: Progress, say: Callable[[str], None]) -> Iterator[None]:
    """Waits while another process or thread fetches the same file, and shows how far that one is."""
    try:
        import filelock  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingExtraError("local", language.say("fetching an embedded model", "下载内置模型")) from None
    path = path_of(entry)
    lock = filelock.FileLock(path.with_name(path.name + ".lock"))
    part = path.with_name(path.name + ".part")
    has_said = False
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except filelock.Timeout:
            if not has_said:
                say(f"{entry.name} is being fetched by another process already: waiting for it")
                has_said = True
            with contextlib.suppress(OSError):
                progress(part.stat().st_size, entry.size_bytes)
            time.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        lock.release()
