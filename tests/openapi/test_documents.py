"""Two documents with every feature: what the model sees, and what goes over the wire."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.openapi.conftest import Echo
from toolhand import Toolset
from toolhand.core.errors import SettingsError, ToolDefinitionError
from toolhand.openapi import fetch_document, read_document

CASES = Path(__file__).parents[1] / "cases" / "openapi"
LIBRARY, OFFICE = CASES / "library-3.0.yaml", CASES / "office-3.1.json"
SECRETS = {"key": "the-key-1234", "session": "the-session-5678"}


@pytest.fixture
def library(echo):
    port = echo.url.rpartition(":")[2]
    return Toolset.from_openapi(LIBRARY, secrets=SECRETS, variables={"port": port})


@pytest.fixture
def office(echo):
    return Toolset.from_openapi(OFFICE, base_url=echo.url + "/base/")


def test_names_are_valid_and_told_apart(library, office, caplog):
    assert library.names == (
        "books_get_get_books_isbn", "books_get_patch_books_isbn", "search", "post_points_a_b_c_x_d_json", "sendForm", "half",
    )  # fmt: skip
    assert len(set(office.names)) == 5
    assert office.names[:3] == ("新建任务_put_任务", "新建任务_post_任务", "get_notes")
    assert all(len(name) <= 64 for name in office.names)


def test_an_operation_that_cannot_be_read_is_left_out_with_a_warning(caplog):
    Toolset.from_openapi(LIBRARY)
    assert "GET /broken" in caplog.text
    assert "Nowhere" in caplog.text


def test_parameters_of_the_path_are_overridden_and_secrets_hidden(library):
    tool = library["books_get_get_books_isbn"]
    assert list(tool.properties) == ["isbn", "lang", "query_isbn", "header_isbn"]
    assert tool.required == ("isbn",)
    assert tool.properties["lang"] == {
        "type": "string",
        "enum": ["en", "zh"],
        "description": "of the operation",
    }
    assert tool.description == "One book.\nReturns: The book with its authors and its copies."


def test_the_body_of_several_parts_is_laid_out_without_what_only_the_server_says(library):
    tool = library["books_get_patch_books_isbn"]
    assert list(tool.properties) == ["isbn", "lang", "title", "body_isbn", "next"]
    assert tool.required == ("isbn", "title")
    assert tool.properties["title"]["type"] == ["string", "null"]
    assert tool.properties["next"] == {"$ref": "#/$defs/Book"}


def test_words_of_3_0_become_json_schema(library):
    size = library["search"].properties["page[size]"]
    assert size == {"type": "integer", "exclusiveMinimum": 0, "examples": [20]}


def test_words_that_only_cost_are_left_out_of_3_1(office):
    task = office["新建任务_post_任务"]
    assert task.required == ("标题",)
    assert task.properties["title"] == {"type": "integer"}
    assert task.properties["sub"]["items"] == {"$ref": "#/$defs/Task"}
    assert task.description == "新建一个任务\n返回: 返回 新建任务 的 编号"
    assert list(office["新建任务_put_任务"].properties) == ["body"]


async def test_every_place_gets_its_value_and_the_secret_its_own(library, echo):
    result = await library.call(
        "books_get_get_books_isbn",
        {"isbn": "a/b?c", "lang": "zh", "query_isbn": True, "header_isbn": [1, 2], "api_key": "forged"},
    )
    assert result.data == "ok"
    assert echo.last["target"] == "/v1/books/a%2Fb%3Fc?lang=zh&isbn=true&api_key=the-key-1234"
    assert echo.last["headers"]["isbn"] == "1,2"
    assert "Authorization" not in echo.last["headers"]


async def test_an_alternative_whose_secrets_are_there_is_taken_and_none_where_none_is_needed(library, echo):
    await library.call("books_get_patch_books_isbn", {"isbn": "1", "title": None, "next": {"title": "二"}})
    assert echo.last["method"] == "PATCH"
    assert "api_key=the-key-1234" in echo.last["target"]
    assert echo.last["headers"]["Cookie"] == "sid=the-session-5678"
    assert json.loads(echo.last["body"]) == {"title": None, "next": {"title": "二"}}
    await library.call("search", {})
    assert echo.last["target"] == "/v1/search"


async def test_every_style_of_a_query(library, echo):
    pair = ["a b", "c,d"]
    await library.call(
        "search",
        {
            "plain": pair, "many": pair, "spaced": pair, "piped": pair, "filter": {"age": {"min": 3}, "tag": ["x", "y"]},
            "spread": {"u": 1, "w": "é"}, "where": {"a": [1]}, "raw": "a/b:c?d&e=f", "is_new": True, "page[size]": 5,
        },
    )  # fmt: skip
    query = urlsplit(echo.last["target"]).query
    for piece in (
        "plain=a%20b,c%2Cd", "many=a%20b&many=c%2Cd", "spaced=a%20b%20c%2Cd", "piped=a%20b%7Cc%2Cd", "filter[age][min]=3",
        "filter[tag]=x&filter[tag]=y", "u=1", "w=%C3%A9", "raw=a/b:c?d%26e%3Df", "is_new=true", "page[size]=5",
    ):  # fmt: skip
        assert f"&{piece}&" in f"&{query}&", piece
    assert json.loads(parse_qs(query)["where"][0]) == {"a": [1]}
    await library.call("search", {"is_new": None, "plain": []})
    assert echo.last["target"] == "/v1/search"


async def test_every_style_of_a_path_and_a_body_of_text(library, echo):
    arguments = {"a": [3, 4], "b": {"r": 1, "g": "x/y"}, "c": ["p", "q;"], "d": "9", "body": "<a/>"}
    await library.call("post_points_a_b_c_x_d_json", arguments)
    assert echo.last["target"].partition("?")[0] == "/v1/points/.3,4/;r=1;g=x%2Fy/p,q%3B/x9.json"
    assert (echo.last["headers"]["Content-Type"], echo.last["body"]) == ("application/xml", b"<a/>")


async def test_a_form_writes_its_fields_as_it_is_told(library, echo):
    arguments = {"name": "王&芳", "card": {"number": "42"}, "tags": ["a", "b"], "meta": {"k": 1}}
    await library.call("sendForm", arguments)
    assert echo.last["body"].decode() == (
        "name=%E7%8E%8B%26%E8%8A%B3&card[number]=42&tags=a,b&meta=%7B%22k%22%3A%201%7D"
    )


async def test_bodies_of_other_media_types(office, echo):
    await office.call("新建任务_post_任务", {"标题": "买菜", "due": None, "kind": "task"})
    assert echo.last["target"] == "/base/%E4%BB%BB%E5%8A%A1"
    assert echo.last["headers"]["Content-Type"] == "application/vnd.office+json"
    assert json.loads(echo.last["body"]) == {"标题": "买菜", "due": None, "kind": "task"}
    await office.call("post_notes", {"body": "一句话"})
    assert echo.last["body"].decode() == "一句话"
    await office.call("新建任务_put_任务", {"body": [{"标题": "a"}]})
    assert json.loads(echo.last["body"]) == [{"标题": "a"}]


async def test_redirects_stay_on_their_server(office, echo):
    echo.answers += [(307, {"Location": "/other?x=1"}, b"")]
    assert (await office.call("post_notes", {"body": "a"})).data == "ok"
    assert (echo.last["method"], echo.last["target"], echo.last["body"]) == ("POST", "/other?x=1", b"a")
    echo.answers += [(302, {"Location": "http://127.0.0.2:1/steal"}, b"")]
    result = await office.call("get_notes")
    assert not result.ok
    assert "127.0.0.2" in result.error.message
    echo.answers += [(302, {"Location": "/again"}, b"")] * 9
    assert not (await office.call("get_notes")).ok


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        ((204, {}, b""), None),
        ((201, {"Location": "/notes/7"}, b""), {"status": 201, "location": "/notes/7"}),
        ((200, {"Content-Type": "application/problem+json"}, b'{"a": 1}'), {"a": 1}),
        ((200, {"Content-Type": "text/plain; charset=gb18030"}, "价格".encode("gb18030")), "价格"),
        ((200, {"Content-Type": "text/plain; charset=nonsense"}, "价格".encode()), "价格"),
        ((200, {"Content-Type": "application/octet-stream"}, bytes(range(200))), "(binary content, 200 bytes)"),
    ],
)  # fmt: skip
async def test_answers(office, echo, answer, want):
    echo.answers.append(answer)
    assert (await office.call("get_notes")).data == want


@pytest.mark.parametrize(
    ("name", "status", "code", "retryable"),
    [
        ("get_notes", 400, "invalid_argument", True), ("get_notes", 401, "not_permitted", False),
        ("get_notes", 404, "upstream", False), ("get_notes", 429, "rate_limited", True),
        ("get_notes", 500, "upstream", True), ("post_notes", 500, "upstream", False), ("post_notes", 503, "upstream", True),
        ("get_notes", 504, "timeout", True), ("post_notes", 504, "outcome_unknown", False),
        ("新建任务_put_任务", 502, "upstream", True), ("get_notes", 418, "upstream", False),
    ],
)  # fmt: skip
async def test_what_a_status_means(office, echo, name, status, code, retryable):
    echo.answers.append((status, {"Content-Type": "text/plain"}, "为什么".encode()))
    error = (await office.call(name, {"body": "a"} if name == "post_notes" else {})).error
    assert (error.code, error.retryable) == (code, retryable)
    assert "为什么" in error.message
    assert str(status) in error.message


async def test_a_page_for_an_error_and_a_broken_answer_are_not_shown(office, echo):
    echo.answers.append((502, {"Content-Type": "text/html"}, b"<!DOCTYPE html><html>trace</html>"))
    assert "trace" not in (await office.call("get_notes")).error.sentence
    echo.answers.append((200, {"Content-Type": "application/json"}, b'{"a": '))
    assert (await office.call("get_notes")).error.code == "upstream"


async def test_an_answer_of_any_size_does_not_fill_the_memory(office, echo, monkeypatch):
    monkeypatch.setattr("toolhand.openapi.calling.MOST_BYTES", 1_000_000)
    echo.answers.append((200, {"Content-Type": "text/plain"}, b"x" * 1_100_000))
    assert (await office.call("get_notes")).error.code == "result_too_large"


def test_an_option_that_is_misspelt_is_named():
    with pytest.raises(SettingsError, match="no option 'tag'; there is: base_url"):
        Toolset.from_openapi(OFFICE, tag="x")


def test_servers(echo):
    with pytest.raises(SettingsError, match="no whole address"):
        Toolset.from_openapi(OFFICE)
    with pytest.raises(SettingsError, match=r"variable 'stage' cannot be 'v9'.*v1, v2"):
        Toolset.from_openapi(LIBRARY, variables={"stage": "v9"})


async def test_an_address_is_fetched_with_its_other_files_from_the_same_server_only(echo):
    plain = {"Content-Type": "text/yaml"}
    echo.answers += [
        (200, plain, LIBRARY.read_bytes()),
        (200, plain, (CASES / "schemas.yaml").read_bytes()),
    ]
    document = await fetch_document(f"{echo.url}/docs/library.yaml")
    assert [request["target"] for request in echo.requests] == ["/docs/library.yaml", "/docs/schemas.yaml"]
    assert document.root["info"]["version"] == "2024-05-01"
    elsewhere = {"openapi": "3.0.0", "paths": {"/a": {"$ref": "http://127.0.0.2:1/x.json#/a"}}}
    echo.answers.append((200, plain, json.dumps(elsewhere).encode()))
    with pytest.raises(SettingsError, match="outside its own place"):
        await fetch_document(f"{echo.url}/docs/library.yaml")
    echo.answers.append((404, plain, b""))
    with pytest.raises(SettingsError, match="HTTP 404"):
        await fetch_document(f"{echo.url}/none")


def test_files_outside_the_documents_folder_are_refused(tmp_path):
    (tmp_path / "secret.yaml").write_text("password: hunter2")
    folder = tmp_path / "docs"
    folder.mkdir()
    for reference in ("../secret.yaml", str(tmp_path / "secret.yaml"), "http://127.0.0.1:1/x"):
        document = {"openapi": "3.0.0", "paths": {"/a": {"$ref": f"{reference}#/x"}}}
        (folder / "a.json").write_text(json.dumps(document))
        with pytest.raises(SettingsError, match="outside its own place"):
            read_document(folder / "a.json")
    with pytest.raises(SettingsError, match="another file"):
        read_document(document)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('{"swagger": "2.0"}', "Swagger 2.0"),
        ('{"openapi": "4.0.0"}', "no OpenAPI 3 document"),
        ('{"openapi": ', "not valid JSON"),
        ("openapi: [", "not valid YAML"),
        ("[]", "holds no OpenAPI document"),
        ('{"openapi": "3.0.0", "paths": {}}', None),
    ],
)
def test_what_is_no_document_is_refused_in_a_sentence(tmp_path, text, want):
    file = tmp_path / "a.txt"
    file.write_text(text)
    with pytest.raises(ToolDefinitionError if want is None else SettingsError, match=want or "no operation"):
        Toolset.from_openapi(file)
    with pytest.raises(SettingsError, match="cannot be read"):
        Toolset.from_openapi(tmp_path / "absent.json")


@pytest.mark.parametrize(
    "text",
    [
        "x: &a [1]\n" + "".join(f"x{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 15)),
        "x: &a\n  b: *a\n",
        "x: " + "[" * 300 + "]" * 300,
    ],
    ids=["repeats itself", "holds itself", "deep"],
)
def test_a_document_that_nobody_could_walk_is_refused(tmp_path, text):
    file = tmp_path / "a.yaml"
    file.write_text("openapi: 3.1.0\npaths: {}\n" + text.replace("*a0", "*a"))
    with pytest.raises(SettingsError, match="holds itself, or more levels"):
        read_document(file)


def test_schemas_that_refer_on_and_on_leave_out_their_operation_alone(caplog):
    chain = {f"S{i}": {"$ref": f"#/components/schemas/S{i + 1}"} for i in range(2_000)}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    document = {
        "openapi": "3.1.0",
        "servers": [{"url": "http://localhost:1"}],
        "components": {"schemas": {**chain, "S2000": {"type": "string"}}},
        "paths": {
            "/a": {"post": {"operationId": "bad", "requestBody": body}, "get": {"operationId": "good"}}
        },
    }
    assert Toolset.from_openapi(document).names == ("good",)
    assert "nested too deep" in caplog.text


async def test_what_the_program_sends_no_argument_replaces(echo):
    named = ("x-tenant", "Host", "Transfer-Encoding", "Content-Length", "X-Other")
    parameters = [{"name": name, "in": "header", "schema": {"type": "string"}} for name in named]
    document = {
        "openapi": "3.1.0",
        "servers": [{"url": echo.url}],
        "paths": {"/a": {"get": {"operationId": "a", "parameters": parameters}}},
    }
    tools = Toolset.from_openapi(document, headers={"X-Tenant": "mine"})
    assert list(tools["a"].properties) == ["X-Other"]
    assert (await tools.call("a", {**dict.fromkeys(named, "other")})).ok
    sent = {name.lower(): value for name, value in echo.last["headers"].items()}
    assert (sent["x-tenant"], sent["x-other"]) == ("mine", "other")
    assert sent["host"] == echo.url.removeprefix("http://")
    assert "transfer-encoding" not in sent


async def test_a_secret_that_comes_back_escaped_is_masked(echo):
    key = "abc/def+ghi=="
    document = {
        "openapi": "3.1.0",
        "servers": [{"url": echo.url}],
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
        "paths": {"/a": {"get": {"operationId": "a", "security": [{"key": []}]}}},
    }
    tools = Toolset.from_openapi(document, secrets={"key": key})
    escaped = key.replace("/", "\\/").replace("+", "\\u002B")
    echo.answers.append((200, {"Content-Type": "application/json"}, f'{{"k": "{escaped}"}}'.encode()))
    assert (await tools.call("a")).data == {"k": "***"}


async def test_headers_for_a_document_are_not_sent_on_to_another_server(echo):
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(contextlib.closing(Echo()))
        other.start()
        echo.answers.append((302, {"Location": "/inside"}, b""))
        echo.answers.append((302, {"Location": f"{other.url}/doc"}, b""))
        other.answers.append((200, {"Content-Type": "application/json"}, OFFICE.read_bytes()))
        await fetch_document(f"{echo.url}/doc", headers={"X-Api-Token": "the-token"})
        assert [request["headers"].get("X-Api-Token") for request in echo.requests] == ["the-token"] * 2
        assert "X-Api-Token" not in other.last["headers"]
    echo.answers += [(302, {"Location": "/round"}, b"")] * 9
    with pytest.raises(SettingsError, match="too often"):
        await fetch_document(f"{echo.url}/doc")
