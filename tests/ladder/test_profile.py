"""Which profile a model has, and what a profile's file may hold."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolhand.core.errors import SettingsError
from toolhand.ladder import Ladder, Profile, profile_of
from toolhand.ladder.profile import bare_name, profile_path, write_profile


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLHAND_CONFIG", str(tmp_path))
    return tmp_path


def model(name, file=None):
    return SimpleNamespace(name=name, settings=SimpleNamespace(path=Path(file) if file else None))


@pytest.mark.parametrize(
    ("name", "file", "bare"),
    [
        ("local", "/m/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "qwen2.5-coder-1.5b-instruct-q4-k-m"),
        ("ollama:qwen2.5-coder:1.5b", None, "qwen2.5-coder-1.5b"),
        ("siliconflow:Qwen/Qwen2.5-Coder-1.5B-Instruct", None, "qwen2.5-coder-1.5b-instruct"),
        ("http://h:1/v1#Qwen/Qwen3-4B", None, "qwen3-4b"),
        ("scripted", None, "scripted"),
    ],
)
def test_a_models_own_name(name, file, bare):
    assert bare_name(model(name, file)) == bare


def test_a_known_family_a_known_server_and_an_unknown_model():
    assert profile_of(model("ollama:qwen2.5-coder:1.5b")).rungs[0] == "constrained_first"
    assert profile_of(model("ollama:qwen2.5-coder:1.5b")).least_sure > 0
    assert profile_of(model("ollama:qwen2.5-coder:14b")).least_sure == 0
    assert profile_of(model("openai:gpt-9")) == Profile(origin="the default")


def test_what_a_probe_wrote_wins_and_another_server_is_another_model():
    here, there = model("http://a/v1#qwen2.5-coder-1.5b"), model("http://b/v1#qwen2.5-coder-1.5b")
    written = Profile(rungs=("json", "template"), failures=3, least_sure=0.25, checks_values=False)
    path = write_profile(here, written, remark="two\nlines")
    assert path.read_text("utf-8").startswith("# two\n# lines\n")
    found = profile_of(here)
    assert found == Profile(
        rungs=("json", "template"), failures=3, least_sure=0.25, checks_values=False, origin=str(path)
    )
    assert profile_of(there).rungs[0] == "constrained_first"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rungs = [", "not TOML"),
        ("rung = ['json']", "has no 'rung'"),
        ("failures = 'two'", "failures cannot be 'two'"),
        ("failures = 1.5", "failures cannot be 1.5"),
        ("failures = 0", "at least 1"),
        ("rungs = []", "at least one rung"),
        ("least_sure = 3", "least_sure"),
        ("checks_values = 1", "checks_values cannot be 1"),
        ("drops_idle = 0", "drops_idle cannot be 0"),
    ],
)
def test_a_damaged_profile_is_named_with_its_file(text, told):
    path = profile_path(model("x:y"))
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(SettingsError, match=told) as error:
        profile_of(model("x:y"))
    assert str(path) in str(error.value)


def test_a_profile_that_cannot_be_written_is_one_sentence(config):
    (config / "profiles").write_text("a file where the folder should be")
    with pytest.raises(SettingsError, match="cannot be written"):
        write_profile(model("x:y"), Profile())


def test_every_profile_of_the_package_names_protocols_that_exist():
    for name, rows in tomllib.loads(
        files("toolhand.ladder").joinpath("profiles.toml").read_text("utf-8")
    ).items():
        Ladder(profile_of(model(f"x:{name}")))
        assert set(rows["rungs"]) <= {
            "native",
            "constrained_first",
            "calls_first",
            "json",
            "template",
            "react",
        }


def test_no_path_leads_out_of_the_folder():
    path = profile_path(model("x:../../etc/passwd"))
    assert path.parent.name == "profiles"
    assert profile_path(model("x:..")).name == "model.toml"
