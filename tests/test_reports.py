"""What went wrong for people elsewhere, after public bug reports: each case is a line in tests/cases/reports."""

from __future__ import annotations

import asyncio
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from toolhand import Agent, Toolset, parse, reader, tool
from toolhand.core.jsonable import result_text
from toolhand.core.messages import ModelOutput, RawCall, Reply
from toolhand.core.tools import Tool
from toolhand.models.deltas import StreamedOutput
from toolhand.testing import ScriptedModel

FOLDER = Path(__file__).parent / "cases" / "reports"


def cases(kind: str):
    lines = (FOLDER / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines)]


def calls_of(reply: Reply) -> list[dict[str, Any]]:
    return [{"name": call.name, "args": dict(call.arguments)} for call in reply.calls]


def pointer(document: Any, path: str) -> Any:
    for step in path.strip("/").split("/"):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def recording(parameters: dict[str, Any], name: str, **options: Any) -> tuple[Toolset, list[dict[str, Any]]]:
    """A toolset of one tool that keeps what it was called with."""
    seen: list[dict[str, Any]] = []

    def function(**arguments: Any) -> str:
        seen.append(arguments)
        return "done"

    return Toolset([Tool(name=name, parameters=parameters, function=function, **options)]), seen


def called(case: dict[str, Any], raw: Any) -> tuple[list[dict[str, Any]], Any, str]:
    """What a structured call with these arguments did: what ran, its error, the text that the model sees."""
    given = case["input"]
    name = given.get("tool", "do")
    parameters = dict(given["parameters"])
    aliases = {alias: key for key, names in given.get("mapping", {}).items() for alias in names}
    if "enum_names" in given:
        parameters["properties"] = {
            key: {**schema, "x-enum-names": given["enum_names"]} if "enum" in schema else schema
            for key, schema in parameters["properties"].items()
        }
    toolset, seen = recording(parameters, name, aliases=aliases)
    output = ModelOutput(
        calls=(RawCall(id="c1", name=name, arguments=raw),),
        finish_reason=given.get("finish_reason", "tool_calls"),
    )
    run = asyncio.run(Agent(ScriptedModel([output, "ok"]), tools=toolset).run("?"))
    result = run.results[0]
    notes = " ".join(f"{fix.path} {fix.before}" for call in run.calls for fix in call.fixes)
    return seen, result.error, result_text(result) + notes


@pytest.mark.parametrize("case", cases("args"))
def test_arguments(case):
    given, expect = case["input"], case["expect"]
    raws = given["raws"] if "raws" in given else [given["raw"]]
    wanted = expect.get("args_list") or expect.get("outcomes") or expect.get("errors")
    for raw, want in zip(raws, wanted or [expect] * len(raws), strict=True):
        seen, error, text = called(case, raw)
        if "any_of" in want:  # two outcomes are right; ours is the one that asks
            want = want["any_of"][-1]  # noqa: PLW2901
        mentions = (
            want.get("mentions") or want.get("error_mentions") or want.get("error", {}).get("mentions") or []
        )
        if mentions or want.get("executed") is False or "code_any" in want:
            assert seen == []
            assert error is not None
            assert all(word in text for word in mentions), text
            codes = want.get("code_any") or want.get("error", {}).get("code_any")
            assert not codes or error.code in [
                code.replace("invalid_arguments", "invalid_argument") for code in codes
            ]
            if want.get("error", {}).get("retryable"):
                assert error.retryable
        else:
            expected = want if wanted else want["args"]
            assert seen == [expected]
            assert all(word in text for word in want.get("notes_mention", []))
    if "bad" in given:
        seen, error, text = called(case, given["bad"])
        assert seen == []
        assert expect["bad_is_error"] in text


@pytest.mark.parametrize("case", cases("text"))
def test_text(case):
    given, expect = case["input"], case["expect"]
    texts = given.get("texts") or list(given.get("texts_by_protocol", {}).values()) or [given["text"]]
    toolset = Toolset.from_openai(given["tools"])
    for text in texts:
        reply = parse(text, toolset)
        want = expect.get("each", expect)
        if "any_of" in want:  # a call in the reasoning alone: never silent
            assert reply.calls == ()
            assert reply.problems
        elif want.get("executed") is False:
            assert reply.calls == ()
            assert all(word in reply.problems[0].message for word in want["error"]["mentions"])
        else:
            optional = want.get("args_may_omit", [])
            wanted = [
                {"name": call["name"], "args": {k: v for k, v in call["args"].items() if k not in optional}}
                for call in want["calls"]
            ]
            assert calls_of(reply) == wanted
            assert all(word in (reply.text or "") for word in want.get("text_contains", []))
            assert not any(word in (reply.text or "") for word in want.get("text_excludes", []))


@pytest.mark.parametrize("case", cases("native"))
def test_structured_calls(case):
    toolset = Toolset.from_openai(case["input"]["tools"])
    raw = tuple(RawCall(**call) for call in case["input"]["tool_calls"])
    assert calls_of(reader(toolset).finish(raw)) == case["expect"]["calls"]


@pytest.mark.parametrize("case", cases("deltas"))
def test_streamed_calls(case):
    streamed = StreamedOutput(())
    for chunk in case["input"]:
        streamed.feed(chunk)
    output = streamed.finish()
    got = [{"id": call.id, "name": call.name, "args": json.loads(call.arguments)} for call in output.calls]
    assert got == case["expect"]["calls"]


@pytest.mark.parametrize("case", cases("chunked"))
def test_chunked_text(case):
    given, expect = case["input"], case["expect"]
    toolset = Toolset.from_openai(given["tools"])
    for text in given["texts"]:
        whole = parse(text, toolset)
        for size in given["chunk_sizes"]:
            reading = reader(toolset)
            shown = "".join(reading.feed(text[i : i + size]) for i in range(0, len(text), size))
            reply = reading.finish()
            assert calls_of(reply) == calls_of(whole)
            assert reply.text == whole.text
            assert (reply.text or "").startswith(shown)
        if "calls" in expect:
            assert calls_of(whole) == expect["calls"]


@pytest.mark.parametrize("case", cases("result"))
def test_results(case):
    expect = case["expect"]
    namespace: dict[str, Any] = {}
    exec(case["input"], namespace)
    value = namespace["value"]

    def give() -> Any:
        return value

    if "each_nonempty_text" in expect:
        texts = [result_text(item) for item in value]
        assert all(texts)
        assert len(set(texts)) == len(texts)
        return
    data = Toolset([tool(give)]).call_sync("give").data
    text = result_text(data)
    json.loads(text, parse_constant=pytest.fail)
    assert all(word in text for word in expect.get("contains", []))
    assert not any(word in text for word in expect.get("excludes", []))
    assert len(text) <= expect.get("max_chars", 500)


@pytest.mark.parametrize("case", cases("schema"))
def test_schemas(case):
    given, expect = case["input"], case["expect"]
    namespace: dict[str, Any] = {"tool": tool}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(compile(given["source"], "<case>", "exec", dont_inherit=True), namespace)
        if "factory" in given:
            found = {given["factory"]: namespace[given["factory"]](tool)}
        else:
            spellings = given.get("callables") or given.get("functions") or [given["function"]]
            found = {spelling: eval(spelling, namespace) for spelling in spellings}
        made = {spelling: tool(function) for spelling, function in found.items()}
    for spelling, one in made.items():
        check_schema(one, expect, spelling)
    if "warns_about" in expect:
        assert any(expect["warns_about"] in str(warning.message) for warning in caught)


def check_schema(made: Tool, expect: dict[str, Any], spelling: str) -> None:
    values = expect.get("schema", {})
    for path, value in {**values.get(spelling, values), **expect.get("types", {})}.items():
        if path.startswith("/"):
            assert pointer(made.parameters, path) == value
    for path, value in expect.get("enum", {}).items():
        assert pointer(made.parameters, path)["enum"] == value
    for path in expect.get("absent", []):
        with pytest.raises(KeyError):
            pointer(made.parameters, path)
    assert all(word in made.description for word in expect.get("description_contains", []))
    calls = expect.get("calls", [])
    for arguments, result in [calls[spelling]] if isinstance(calls, dict) else calls:
        assert Toolset([made]).call_sync(made.name, arguments).data == result
