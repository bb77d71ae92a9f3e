"""Settings of all tests."""

from __future__ import annotations

import gc
import itertools
import json
import logging
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, so that a change is judged by what it changed; TOOLHAND_FUZZ=1 looks for new ones.
# How long an example takes says something about the machine and its other users, and nothing about the code: not judged.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", PATIENT, derandomize=True)
settings.register_profile("new", PATIENT, derandomize=False)
settings.load_profile("new" if os.environ.get("TOOLHAND_FUZZ") else "same")

# A shell starts what runs in the background with Ctrl-C ignored, and what the tests start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)

COUNTS = os.environ.pop("TOOLHAND_TEST_COUNTS", "")  # of this process alone


@pytest.fixture(scope="session")
def _stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    return (str(folder / f"{number}.db") for number in itertools.count())


@pytest.fixture(autouse=True)
def _a_store_of_its_own(_stores, monkeypatch):
    """No test writes where the user's sessions are kept, or sees another test's."""
    monkeypatch.setenv("TOOLHAND_STORE", next(_stores))


@pytest.fixture
def own_package(tmp_path):
    """Installs packages of a stranger for one test: `own_package(source, protocols="own")`."""
    from tests.own_package import installing  # noqa: PLC0415 - few tests need it

    with installing(tmp_path) as install:
        yield install


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """What was logged of half a character stands in the report, and could not be sent from one test process to the other."""
    report = yield
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    try:
        str(report.longrepr).encode()
    except UnicodeEncodeError:
        report.longrepr = str(report.longrepr).encode(errors="backslashreplace").decode()
    return report


@pytest.fixture(autouse=True)
def _no_handler_is_left():
    """Log lines of one test never reach another's captured streams: whoever adds a handler takes it away."""
    loggers = [logging.getLogger(name) for name in ("", "toolhand", "toolhand.runs", "toolhand.stores")]
    before = [list(logger.handlers) for logger in loggers]
    yield
    for logger, handlers in zip(loggers, before, strict=True):
        left = [handler for handler in logger.handlers if handler not in handlers]
        left = [
            one
            for one in left
            if "pytest" not in type(one).__module__ and not isinstance(one, logging.NullHandler)
        ]
        for handler in left:
            logger.removeHandler(handler)
        assert not left, f"{logger.name} has a handler more than before: {left}"


def pytest_collection_modifyitems(config, items):
    """What a model answers in seconds here takes minutes on a machine with less to give."""
    long = set()
    for item in items:
        if item.get_closest_marker("model") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(900))
        if item.get_closest_marker("model") or item.get_closest_marker("slow"):
            long.add(item.path)
    if hasattr(
        config, "workerinput"
    ):  # side by side, the longest files come first, so that no process is left with one
        items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish():
    """Modules and thousands of tests stay to the end: the garbage collector need not go through them again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    """How many passed and so on, for `scripts/test.py`, which adds up several runs."""
    if COUNTS:
        words = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
        stats = terminalreporter.stats
        counts = {word: len(stats[word]) for word in words if stats.get(word)}
        Path(COUNTS).write_text(json.dumps(counts), encoding="utf-8")
