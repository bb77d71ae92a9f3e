"""What each provider takes of a tool's schema, and the way back for what a call brings."""

from __future__ import annotations

import asyncio
import copy
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand import Agent, Toolset
from toolhand.core.errors import SettingsError
from toolhand.core.messages import ModelOutput, RawCall
from toolhand.core.tools import Tool
from toolhand.testing import ScriptedModel
from toolhand.tools.export import exported, wire_name
from toolhand.tools.forms import _forms, form

CASES = Path(__file__).parents[1] / "cases" / "reports" / "provider.jsonl"
WIRE_NAME = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$")


def cases():
    lines = CASES.read_text(encoding="utf-8").splitlines()
    return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines)]


def parameters_of(schema):
    inner = schema.get("function", schema)
    return next((inner[key] for key in ("parameters", "input_schema", "inputSchema") if key in inner), {})


def pointer(document: Any, path: str) -> Any:
    for step in path.strip("/").split("/"):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def objects_of(node: Any):
    """Every object schema in a schema; under "properties" and "$defs" the keys are names."""
    if isinstance(node, list):
        for item in node:
            yield from objects_of(item)
    elif isinstance(node, dict):
        if "properties" in node:
            yield node
        for key, part in node.items():
            named = key in ("properties", "$defs") and isinstance(part, dict)
            yield from objects_of(
                list(part.values()) if named else part if isinstance(part, dict | list) else []
            )


def words_of(node: Any, *, is_schema: bool = True):
    if isinstance(node, list):
        for item in node:
            yield from words_of(item)
    elif isinstance(node, dict):
        for key, part in node.items():
            if is_schema:
                yield key
            if key not in ("enum", "default", "const", "required"):
                yield from words_of(part, is_schema=not (is_schema and key in ("properties", "$defs")))


@pytest.mark.parametrize("case", cases())
def test_reports(case):
    seen: list[dict[str, Any]] = []
    source = copy.deepcopy(case["tools"])
    functions = {tool["name"]: lambda **sent: seen.append(sent) for tool in case["tools"]}
    toolset, expect = Toolset.from_openai(case["tools"], functions), case["expect"]
    found = {one.tool.name: one for one in toolset.exported(case["form"])}
    assert case["tools"] == source, "the tools' own schemas are not touched"
    names = [one.name for one in found.values()]
    assert len(set(names)) == len(names)
    assert all(WIRE_NAME.fullmatch(name) for name in names)
    first = next(iter(found.values()))
    parameters = parameters_of(first.schema)
    for path, value in expect.get("pointers", {}).items():
        assert pointer(parameters, path) == value
    for word in expect.get("absent", []):
        assert word not in set(words_of(parameters)) | set(first.schema)
    for name, is_strict in expect.get("strict", {}).items():
        assert found[name].schema["function"]["strict"] is is_strict is found[name].is_strict
    if expect.get("closed"):
        for node in objects_of(parameters):
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
    notes = " ".join(note for one in found.values() for note in one.notes)
    assert all(word in notes for word in expect.get("notes", [])), notes
    if "keys" in expect:
        for node in objects_of(parameters):
            assert all(re.fullmatch(expect["keys"], key) for key in node["properties"])
    if "args" in expect:
        sent = case["call"] if "call" in case else first.wire_arguments(case["wire_call"])
        for arguments in (sent, json.dumps(sent, ensure_ascii=False)):
            raw = RawCall(id="c", name=first.tool.name, arguments=first.own_arguments(arguments))
            asyncio.run(Agent(ScriptedModel([ModelOutput(calls=(raw,)), "ok"]), toolset).run("?"))
            assert seen.pop() == expect["args"]


@pytest.mark.parametrize("case", cases())
@pytest.mark.parametrize("provider", sorted(_forms()))
def test_every_tool_has_every_form(case, provider):
    for one in Toolset.from_openai(case["tools"]).exported(provider):
        json.dumps(one.schema)
        allowed = form(provider).keywords
        if allowed is not None and (one.is_strict or not form(provider).strict):
            assert set(words_of(parameters_of(one.schema))) <= allowed


def test_names_are_the_same_in_every_process_and_calls_by_them_find_their_tools():
    names = ["查询天气", "查询汇率", "cal.add", "cal_add", "cal/add", "x" * 65, "x" * 66, "3d", "-a", ".", ""]
    code = f"from toolhand.tools.names import wire_name\nprint([wire_name(name) for name in {names!r}])"
    other = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    wires = [wire_name(name) for name in names]
    assert repr(wires) == other.strip()
    assert len(set(wires)) == len(names)
    assert all(WIRE_NAME.fullmatch(wire) for wire in wires)
    toolset = Toolset([Tool(name=name) for name in names if name])
    for name in names[:-1]:
        assert toolset.lookup(wire_name(name)) is toolset[name]


def test_a_renamed_tool_says_its_own_name():
    (schema,) = Toolset([Tool(name="查询天气", description="看天气")]).schemas("openai")
    assert schema["function"]["description"] == "查询天气: 看天气"


def test_a_long_description_goes_on_in_the_parameters():
    text = "".join(f"Sentence number {number}. " for number in range(100)).strip()
    (schema,) = Toolset([Tool(name="f", description=text)]).schemas("openai")
    function = schema["function"]
    assert len(function["description"]) <= 1024
    assert function["description"].endswith(".")
    assert f"{function['description']} {function['parameters']['description']}" == text
    assert Toolset([Tool(name="f", description=text)]).schemas("anthropic")[0]["description"] == text


def test_schemas_are_copies():
    toolset = Toolset(
        [Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "string"}}})]
    )
    toolset.schemas("openai")[0]["function"]["parameters"]["properties"].clear()
    assert toolset.schemas("openai")[0]["function"]["parameters"]["properties"]


def test_an_unknown_form_lists_what_there_is():
    with pytest.raises(SettingsError, match="no schema form 'open'; there is: openai, openai-strict"):
        Toolset([Tool(name="f")]).schemas("open")


def test_references_that_multiply_stay_small_and_quick():
    """Each definition refers twice to the next: written out, the last stands there 2**40 times."""
    definitions = {
        f"D{n}": {
            "type": "object",
            "properties": {"a": {"$ref": f"#/$defs/D{n + 1}"}, "b": {"$ref": f"#/$defs/D{n + 1}"}},
        }
        for n in range(40)
    }
    definitions["D40"] = {"type": "string"}
    tool = Tool(
        name="f",
        parameters={"type": "object", "properties": {"x": {"$ref": "#/$defs/D0"}}, "$defs": definitions},
    )
    for provider in ("gemini", "plain"):
        started = time.process_time()
        one = exported(tool, provider)
        assert time.process_time() - started < 2
        assert len(json.dumps(one.schema)) < 2_000_000
        assert any("refers to very much" in note for note in one.notes)


@pytest.mark.parametrize("broken", ['{"level": "4"', "", "null", "[1]", '"4"', "level=4", None, [1]])
def test_what_cannot_be_undone_is_handed_on(broken):
    tool = Tool(name="f", parameters={"type": "object", "properties": {"level": {"enum": [1, 4]}}})
    assert exported(tool, "gemini").own_arguments(broken) == broken


# ------------------------------------------------------------------ any schema, any of its values

NAMES = st.sampled_from(["a", "b", "城市", "x.y", "type", "$ref", "3d", "p" * 70])
SCALARS = [
    ({"type": "string"}, st.text(max_size=5)),
    ({"type": "integer", "minimum": 0}, st.integers(0, 9)),
    ({"type": "number"}, st.floats(-9, 9).map(lambda x: round(x, 2))),
    ({"type": "boolean"}, st.booleans()),
    ({"type": "integer", "enum": [1, 2, 4]}, st.sampled_from([1, 2, 4])),
    ({"enum": ["x", 3, None, ""]}, st.sampled_from(["x", 3, None, ""])),
    ({"const": 5}, st.just(5)),
    ({"type": ["string", "null"]}, st.none() | st.text(max_size=3)),
    ({"type": "string", "format": "date"}, st.just("2026-01-02")),
    ({"type": "object"}, st.dictionaries(st.text(max_size=3), st.integers(0, 5), max_size=2)),
    ({}, st.integers(0, 5) | st.booleans() | st.lists(st.integers(0, 5), max_size=2)),
]


@st.composite
def pairs(draw, depth=3):
    """A schema and a value that fits it."""
    kind = draw(st.integers(0, 5)) if depth else 0
    if kind <= 1:
        schema, values = draw(st.sampled_from(SCALARS))
        return dict(schema), draw(values)
    if kind == 2:
        schema, value = draw(pairs(depth - 1))
        return {"type": "array", "items": schema}, [value] * draw(st.integers(0, 2))
    if kind == 3:
        schema, value = draw(pairs(depth - 1))
        return {"anyOf": [schema, {"type": "null"}]}, draw(st.sampled_from([value, None]))
    return draw(objects(depth))


@st.composite
def objects(draw, depth=3):
    members = draw(st.dictionaries(NAMES, pairs(depth - 1), min_size=1, max_size=4))
    required = [name for name in members if draw(st.booleans())]
    sent = {name: value for name, (_, value) in members.items() if name in required or draw(st.booleans())}
    schema = {"type": "object", "properties": {name: part for name, (part, _) in members.items()}}
    return {**schema, "required": required}, sent


def checkable(node: Any) -> Any:
    """A provider's schema as JSON Schema: `nullable` is another's word."""
    if isinstance(node, list):
        return [checkable(item) for item in node]
    if not isinstance(node, dict):
        return node
    found = {key: part if key == "enum" else checkable(part) for key, part in node.items()}
    if found.pop("nullable", None) is True:
        return {"anyOf": [found, {"type": "null"}]}
    return found


def filled(value: Any, schema: Any) -> Any:
    """What a model that is held to a strict schema sends: null for every member that it would leave out."""
    for branch in schema.get("anyOf", [schema]):
        if isinstance(value, dict) and "properties" in branch and value.keys() <= branch["properties"].keys():
            return {key: filled(value.get(key), part) for key, part in branch["properties"].items()}
        if isinstance(value, list) and "items" in branch:
            return [filled(item, branch["items"]) for item in value]
    return value


def bare(value: Any) -> Any:
    """Without nulls: where null is a value of its own, it cannot also say that a member is left out."""
    if isinstance(value, list):
        return [bare(item) for item in value]
    return (
        {key: bare(part) for key, part in value.items() if part is not None}
        if isinstance(value, dict)
        else value
    )


@pytest.mark.parametrize("provider", ["openai", "openai-strict", "anthropic", "gemini", "plain", "mcp"])
@settings(max_examples=150, deadline=None)
@given(pair=objects())
def test_a_value_goes_out_in_the_providers_form_and_comes_back(provider, pair):
    schema, value = pair
    one = exported(Tool(name="f", parameters=schema), provider)
    sent = one.wire_arguments(value)
    back = one.own_arguments(json.dumps(sent))
    assert (json.loads(back) if isinstance(back, str) else back) == value
    allowed = checkable(parameters_of(one.schema)) or {"type": "object"}
    jsonschema.Draft202012Validator.check_schema(allowed)
    if one.is_strict:
        for node in objects_of(allowed):
            assert node["required"] == list(node["properties"])
            assert node["additionalProperties"] is False
        full = filled(sent, allowed)
        assert not list(jsonschema.Draft202012Validator(allowed).iter_errors(full))
        assert bare(one.own_arguments(full)) == bare(value)
    elif provider not in ("gemini", "plain") or '""' not in json.dumps(value):
        validator = jsonschema.Draft202012Validator(allowed)
        if provider != "plain":  # which has no null
            assert not list(validator.iter_errors(sent))
