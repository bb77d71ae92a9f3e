"""From a user's spelling to a model, and the choice where there is none."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from toolhand.core.errors import SettingsError
from toolhand.models import Model, ollama
from toolhand.models.resolve import default_model, providers, resolve, spellings
from toolhand.testing import ScriptedModel

VARIABLES = [
    "TOOLHAND_MODEL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "OLLAMA_HOST",
    "TOOLHAND_API_KEY",
]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in [*VARIABLES, *(p["key_variable"] for p in providers().values())]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    with socket.socket() as probe:  # an address where no Ollama is
        probe.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{probe.getsockname()[1]}")
    return monkeypatch


def test_spellings(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OPENAI_API_KEY", "sk-x")
    environment.setenv("DEEPSEEK_API_KEY", "sk-y")
    for spec, address in {
        "openai:gpt-x": "https://api.openai.com/v1",
        "deepseek:deepseek-chat": "https://api.deepseek.com/v1",
        "http://127.0.0.1:8000/v1#qwen3": "http://127.0.0.1:8000/v1",
        "https://host/v1#org/name": "https://host/v1",
        "ollama:qwen3:4b": f"{ollama.root_url()}/v1",
    }.items():
        model = resolve(spec)
        assert isinstance(model, Model)
        assert model.name == spec
        assert address in repr(model)
    assert resolve("ollama:qwen3:4b").model == "qwen3:4b"


def test_a_model_is_itself() -> None:
    model = ScriptedModel(["x"])
    assert resolve(model) is model
    with pytest.raises(SettingsError, match="threads"):
        resolve(model, threads=1)


@pytest.mark.parametrize(
    "spec", ["", "gpt-5", "nobody:x", "wire:x", "weights", "../x", "openai", "resolve:x", "_x:y"]
)
def test_unknown_names_list_what_there_is(spec: str) -> None:
    with pytest.raises(SettingsError) as caught:
        resolve(spec)
    assert "\n" not in str(caught.value)
    if spec != "openai":
        assert all(
            word in str(caught.value)
            for word in ("local:small", "<provider>:<model>", "openai", "ollama", "http://<host>")
        )


def test_a_family_of_models_leads_to_its_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    with pytest.raises(SettingsError, match="did you mean 'dashscope:qwen-plus'"):
        resolve("Qwen:qwen-plus")


def test_spellings_name_adapters_only() -> None:
    assert not any(spelling.startswith(("wire", "deltas", "resolve", "runtime")) for spelling in spellings())


def test_an_option_that_the_adapter_does_not_have() -> None:
    with pytest.raises(SettingsError, match="'local'.*base_url"):
        resolve("local", base_url="http://x/v1")


def test_an_address_without_a_model() -> None:
    with pytest.raises(SettingsError, match="behind a '#'"):
        resolve("http://127.0.0.1:8000/v1")


def test_a_providers_key_is_asked_for_by_its_name() -> None:
    with pytest.raises(SettingsError, match="set DEEPSEEK_API_KEY"):
        resolve("deepseek:deepseek-chat")


def test_the_openai_key_is_not_sent_to_any_address(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OPENAI_API_KEY", "sk-openai")
    assert "Authorization" not in resolve("http://127.0.0.1:8000/v1#m")._headers
    environment.setenv("TOOLHAND_API_KEY", "own")
    assert resolve("http://127.0.0.1:8000/v1#m")._headers["Authorization"] == "Bearer own"


class Tags(BaseHTTPRequestHandler):
    models: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"models": self.models}).encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def ollama_server(environment: pytest.MonkeyPatch) -> Iterator[type[Tags]]:
    server = HTTPServer(("127.0.0.1", 0), Tags)
    environment.setenv("OLLAMA_HOST", f"127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    Tags.models = [{"name": "qwen3:4b"}, {"name": "other"}]
    yield Tags
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_default_goes_down_the_list(environment: pytest.MonkeyPatch, ollama_server: type[Tags]) -> None:
    assert default_model()[0] == "ollama:qwen3:4b"
    assert "an Ollama answers" in default_model()[1]
    ollama_server.models = []
    assert default_model()[0] == "local"
    environment.setenv("MOONSHOT_API_KEY", "x")  # a key without a model that is known decides nothing
    assert default_model()[0] == "local"
    environment.setenv("DASHSCOPE_API_KEY", "x")
    assert default_model() == ("dashscope:qwen-plus", "DASHSCOPE_API_KEY is set")
    environment.setenv("OPENAI_API_KEY", "x")
    assert default_model() == ("openai:gpt-5-mini", "OPENAI_API_KEY is set")
    environment.setenv("TOOLHAND_MODEL", "local:small")
    assert default_model() == ("local:small", "TOOLHAND_MODEL names it")
    assert default_model("zh") == ("local:small", "TOOLHAND_MODEL 指定了它")


def test_no_ollama_costs_no_time() -> None:
    started = time.monotonic()
    assert default_model()[0] == "local"
    assert time.monotonic() - started < 10


def test_an_ollama_that_hangs_is_given_up(environment: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        environment.setenv("OLLAMA_HOST", f"127.0.0.1:{server.getsockname()[1]}")
        started = time.monotonic()
        assert ollama.first_model() is None
        assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:8000", "http://box:8000"),
        ("0.0.0.0:1234", "http://127.0.0.1:1234"),
        ("http://box:8080/", "http://box:8080"),
        ("https://box", "https://box"),
    ],
)
def test_ollama_host(environment: pytest.MonkeyPatch, value: str, expected: str) -> None:
    environment.setenv("OLLAMA_HOST", value)
    assert ollama.root_url() == expected
