"""Where settings come from, which one counts, and what is said about a wrong one."""

import hashlib
import re
from pathlib import Path

import pytest

from toolhand.core.errors import SettingsError
from toolhand.gateway import ClientKey, GatewaySettings, Upstream
from toolhand.gateway.settings import DEFAULTS, SETTINGS
from toolhand.gateway.sources import read_settings

WHOLE = """
port = 9001
rounds = 1
token = "env:PAGE_TOKEN"

[models]
small = "http://127.0.0.1:8000/v1#qwen"

[models.big]
model = "openai:gpt-5-mini"
key = "env:BIG_KEY"
fallbacks = ["local"]

[[keys]]
name = "team"
key = "a-key-of-the-team-1"
models = ["small"]
rate_limit = "2/minute"

[toolsets]
mine = "builtin"
"""


def test_flags_win_over_the_environment_and_the_environment_over_the_file(tmp_path):
    file = tmp_path / "serve.toml"
    file.write_text(WHOLE)
    variables = {
        "PAGE_TOKEN": "a-token-that-is-long",
        "BIG_KEY": "k",
        "TOOLHAND_SERVE_PORT": "9002",
        "TOOLHAND_SERVE_ROUNDS": "2",
    }
    found = read_settings(str(file), {"rounds": 5, "host": None}, variables)
    assert (found.port, found.rounds, found.host) == (9002, 5, "127.0.0.1")
    assert found.token == "a-token-that-is-long"
    assert found.models["big"] == Upstream(model="openai:gpt-5-mini", key="k", fallbacks=("local",))
    assert found.keys[0].models == ("small",)
    assert found.toolsets == {"mine": "builtin"}


def test_models_of_the_command_line_serve_every_name():
    found = read_settings(None, {"models": ["gpt=openai:x", "http://127.0.0.1:1/v1#a=b"]}, {})
    assert found.models == {
        "gpt": Upstream(model="openai:x"),
        "http://127.0.0.1:1/v1#a=b": Upstream(model="http://127.0.0.1:1/v1#a=b"),
    }
    assert found.default_model == "gpt"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot = 1", "did you mean 'port'"),
        ("port = true", "port"),
        ("port = 70000", "70000"),
        ("rounds = -1", "at least 0"),
        ("host = '0.0.0.0'", "anybody could use"),
        ("host = '0.0.0.0'\nopen = false\npass_keys = true", "page"),
        ("token = 'short'", "16"),
        ("[models.a]\nkey = 'x'", "lacks"),
        ("[models.a]\nmodel = 1", "models.a.model"),
        ("[[keys]]\nname = 'a'\nkey = 'env:NOT_THERE'", "NOT_THERE"),
        ("[[keys]]\nname = 'a'\nkey = 'short'", "16"),
        ("[[keys]]\nname = 'a'\nkey = 'long-enough-for-a-key'\nrate_limit = 'often'", "often"),
        ("default_model = 'b'\n[models]\na = 'local'", "none of the models"),
        ("toolsets = 3", "table"),
        ("port = ", "TOML"),
    ],
)
def test_what_is_wrong_is_said_and_where(tmp_path, text, says):
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=says):
        read_settings(str(file), None, {})


def test_the_environment_is_checked_too():
    with pytest.raises(SettingsError, match="TOOLHAND_SERVE_PORT"):
        read_settings(None, None, {"TOOLHAND_SERVE_PORT": "many"})


def test_secrets_are_not_in_what_is_printed():
    key = ClientKey(name="a", key="a-key-of-the-team-1")
    found = GatewaySettings(
        token="a-token-that-is-long", keys=(key,), models={"a": Upstream(model="local", key="sk-upstream")}
    )
    for secret in ("a-key-of", "a-token", "sk-upstream"):
        assert secret not in repr(found)


def test_a_key_may_be_kept_as_its_hash():
    key = ClientKey(name="a", key="sha256:" + hashlib.sha256(b"the key itself").hexdigest())
    assert key.fits("the key itself")
    assert not key.fits("another")


def test_each_plain_setting_is_a_row_of_the_table():
    assert set(DEFAULTS) == {row.name for row in SETTINGS}
    assert {"models", "keys", "toolsets"}.isdisjoint(DEFAULTS)


@pytest.mark.parametrize("name", ["gateway.md", "gateway.zh.md"])
def test_each_plain_setting_is_in_the_documented_table(name):
    text = (Path(__file__).parents[2] / "docs" / "how-to" / name).read_text("utf-8")
    for row in SETTINGS:
        line = next(line for line in text.splitlines() if line.startswith(f"| `{row.name}` |"))
        assert f"`TOOLHAND_SERVE_{row.name.upper()}`" in line
        assert not row.flag or f"`{row.flag}`" in line
        default = DEFAULTS[row.name]
        if not isinstance(default, bool) and default != "":
            assert f"{default:g}" in line if isinstance(default, float) else str(default) in line


@pytest.mark.parametrize("name", ["gateway.md", "gateway.zh.md"])
def test_the_documented_file_is_read(name, tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "how-to" / name).read_text("utf-8")
    file = tmp_path / "serve.toml"
    file.write_text(re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1])
    found = read_settings(str(file), None, {"OPENAI_API_KEY": "sk-x"})
    assert set(found.models) == {"small", "gpt", "vllm/*"}
    assert found.keys[0].toolsets == ("shop",)
