"""Schemas that are large or hostile stay of a size that can be shown."""

from __future__ import annotations

import json

from tests.timing import cpu_seconds
from toolhand import Toolset


def tools_of(schemas, schema, **more):
    return Toolset.from_openapi({
        "openapi": "3.0.0",
        "servers": [{"url": "http://a.test"}],
        "paths": {"/a": {"post": {"operationId": "a", "requestBody": {
            "required": True, "content": {"application/json": {"schema": schema}}}, **more}}},
        "components": {"schemas": schemas},
    })  # fmt: skip


def reference(name):
    return {"$ref": f"#/components/schemas/{name}"}


def test_references_that_double_at_each_level_do_not_explode():
    schemas = {
        f"S{n}": {"type": "object", "properties": {"a": reference(f"S{n + 1}"), "b": reference(f"S{n + 1}")}}
        for n in range(60)
    }
    schemas["S60"] = {"type": "string"}
    tools = tools_of(schemas, reference("S0"))
    text = json.dumps(tools["a"].parameters)
    assert len(text) < 20_000
    assert tools["a"].parameters["$defs"]["S60"] == {"type": "string"}


def test_two_schemas_of_one_name_are_told_apart_and_a_circle_of_references_ends():
    schemas = {
        "A": {"type": "object", "properties": {"x": {"$ref": "#/components/schemas/B/properties/A"}, "me": reference("A")}},
        "B": {"type": "object", "properties": {"A": {"type": "object", "properties": {
            "me": {"$ref": "#/components/schemas/B/properties/A"}}}}},
        "Loop": reference("Loop"),
    }  # fmt: skip
    tools = tools_of(
        schemas, {"type": "object", "properties": {"a": reference("A"), "loop": reference("Loop")}}
    )
    found = tools["a"].parameters["$defs"]
    assert {"A", "A_2", "Loop"} == found.keys()


async def test_arguments_of_a_schema_that_refers_are_bound(echo):
    schemas = {"Node": {"type": "object", "required": ["v"], "properties": {
        "v": {"type": "integer"}, "kids": {"type": "array", "items": reference("Node")}}}}  # fmt: skip
    tools = tools_of(schemas, {"type": "array", "items": reference("Node")}, servers=[{"url": echo.url}])
    result = await tools.call("a", {"body": [{"v": "1", "kids": [{"v": "2"}]}]})
    assert result.ok, result.error
    assert json.loads(echo.last["body"]) == [{"v": 1, "kids": [{"v": 2}]}]
    refused = await tools.call("a", {"body": [{"v": 1, "kids": [{}]}]})
    assert "kids" in refused.error.path


def test_a_long_document_takes_time_by_its_length():
    def seconds(count):
        schemas = {
            f"S{n}": {"type": "object", "properties": {"a": reference(f"S{n // 2}")}} for n in range(1, count)
        }
        schemas["S0"] = {"type": "string"}
        paths = {
            f"/p{n}": {"get": {"parameters": [{"name": "q", "in": "query", "schema": reference(f"S{n}")}]}}
            for n in range(count)
        }
        document = {"openapi": "3.0.0", "servers": [{"url": "http://a.test"}], "paths": paths,
                    "components": {"schemas": schemas}}  # fmt: skip
        assert len(Toolset.from_openapi(document)) == count
        return cpu_seconds(lambda: Toolset.from_openapi(document))

    assert seconds(800) < 8 * max(seconds(200), 0.01)


def test_what_is_far_too_long_is_described_down_to_a_level_with_a_warning(caplog):
    def level(n):
        members = {f"m{n}_{k}": {"type": "string", "description": "word " * 50} for k in range(12)}
        return {"type": "object", "properties": {**members, "deeper": level(n + 1)} if n < 15 else members}

    tool = tools_of({}, level(0))["a"]
    assert len(json.dumps(tool.parameters)) < 30_000
    assert "m0_0" in tool.properties
    assert "POST /a" in caplog.text
    assert "level" in caplog.text
