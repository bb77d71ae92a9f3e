"""What a person is told about models, stores and sessions is in the person's language."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from toolhand import Agent, ErrorCode, RunContext, ToolCall, ToolError, ToolResult, Toolset
from toolhand.cli.show import Show
from toolhand.core.errors import (
    ModelError,
    ModelFault,
    SessionError,
    SettingsError,
    StoreError,
    ToolhandError,
)
from toolhand.core.events import CallFinished
from toolhand.models.resolve import resolve
from toolhand.sessions import Archive, MemoryStore, open_store
from toolhand.testing import ScriptedModel

CHINESE = re.compile(r"[\u4e00-\u9fff]")


async def of_another(tmp_path):
    store = MemoryStore()
    await Agent(ScriptedModel(["a"]), store=store).run("x", session="s", user="ann")
    await Agent(ScriptedModel(["a"]), store=store).run("x", session="s", user="bob")


async def unknown_session(tmp_path):
    await Archive(MemoryStore()).messages("s")


async def a_folder(tmp_path):
    await open_store(tmp_path).find("s")


async def no_folder(tmp_path):
    await open_store(tmp_path / "no" / "s.db").find("s")


async def no_store(tmp_path):
    open_store("ftp://x")


async def no_database(tmp_path):
    (tmp_path / "x").write_text("no database " * 100)
    await open_store(tmp_path / "x").find("s")


async def no_model(tmp_path):
    resolve("nonsense:x")


async def no_server(tmp_path):
    await Agent("http://127.0.0.1:9/v1#none", store="memory").run("x")


async def no_protocol(tmp_path):
    Agent(ScriptedModel(["a"]), protocol="smoke")


async def nothing_to_resume(tmp_path):
    agent = Agent(ScriptedModel(["a"]), store="memory")
    await agent.run("x", session="s")
    await agent.resume("s")


async def long_name(tmp_path):
    await Agent(ScriptedModel(["a"]), store="memory").run("x", session="s" * 300)


CASES = [
    (of_another, SessionError), (unknown_session, SessionError), (a_folder, StoreError), (no_folder, StoreError),
    (no_store, SettingsError), (no_database, StoreError), (no_model, SettingsError), (no_server, ModelError),
    (no_protocol, SettingsError), (nothing_to_resume, SettingsError), (long_name, SettingsError),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "kind"), CASES)
async def test_a_sentence_in_either_language(mistake, kind, tmp_path, monkeypatch):
    said = {}
    for language in ("en", "zh"):
        monkeypatch.setenv("TOOLHAND_LANG", language)
        with pytest.raises(ToolhandError) as raised:
            await mistake(tmp_path)
        assert isinstance(raised.value, kind)
        said[language] = str(raised.value)
    assert not CHINESE.search(said["en"]), said
    assert len(CHINESE.findall(said["zh"])) > 5, said


def test_the_kind_of_failure_does_not_depend_on_the_language(monkeypatch):
    from yarl import URL  # noqa: PLC0415 - only here

    from toolhand.models.refusals import refusal  # noqa: PLC0415 - with the network's library

    for fault, status in (
        (ModelFault.KEY, 401),
        (ModelFault.RATE_LIMITED, 429),
        (ModelFault.FAILED, 500),
    ):
        for language in ("en", "zh"):
            monkeypatch.setenv("TOOLHAND_LANG", language)
            error = refusal(
                url=URL("http://x.test"),
                model="m",
                status=status,
                headers={},
                raw=b"{}",
                api_key="k",
                key_variable="K",
            )
            assert error.fault is fault
            assert bool(CHINESE.search(str(error))) is (language == "zh")


@pytest.mark.parametrize(
    ("chosen", "word"), [("zh", "没有名为"), ("en", "no tool named"), (None, "no tool named")]
)
async def test_a_context_without_a_language_is_in_the_chosen_one(monkeypatch, chosen, word):
    if chosen is None:
        monkeypatch.delenv("TOOLHAND_LANG", raising=False)
    else:
        monkeypatch.setenv("TOOLHAND_LANG", chosen)
    for result in (
        await Toolset().call("nothing"),
        await Toolset().call("nothing", context=RunContext(user="ann")),
    ):
        assert word in result.error.message
    told = await Toolset().call("nothing", context=RunContext(language="en"))
    assert "no tool named" in told.error.message


@pytest.mark.parametrize(("chosen", "word"), [("zh", "错误 ("), ("en", "Error (")])
def test_a_failed_call_is_shown_in_the_language_of_the_person(monkeypatch, chosen, word):
    monkeypatch.setenv("TOOLHAND_LANG", chosen)
    out, err = Console(file=io.StringIO()), Console(file=io.StringIO(), width=200)
    error = ToolError(code=ErrorCode.APPROVAL_REQUIRED, message="?")
    result = ToolResult(call_id="c", name="x", outcome=error)
    Show(out, err)(CallFinished(call=ToolCall(id="c", name="x"), result=result, seconds=0.1, tool=None))
    assert f"← {word}approval_required)" in err.file.getvalue()
