"""The catalogue is consistent, and names find their entries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolhand.core import plugins
from toolhand.core.errors import SettingsError
from toolhand.models.weights import cache_folder, catalogue, find, path_of


def test_every_entry_is_whole() -> None:
    names = [name for entry in catalogue() for name in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))
    assert len({entry.file for entry in catalogue()}) == len(catalogue())
    for entry in catalogue():
        assert entry.about
        assert entry.about_zh
        assert entry.license
        assert entry.sources
        assert (entry.sha256 is None) == (entry.size_bytes is None)
        assert entry.sha256 is None or re.fullmatch("[0-9a-f]{64}", entry.sha256)
        for source in entry.sources:
            kind = plugins.load("models.weights.sources", source["kind"])
            assert kind.title(source)
            assert source["kind"] != "wheels" or entry.sha256


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("local", "qwen2.5-coder-1.5b"),
        ("local:small", "qwen2.5-coder-0.5b"),
        ("small", "qwen2.5-coder-0.5b"),
        ("Qwen3-4B", "qwen3-4b"),
        ("local:qwen3-0.6b", "qwen3-0.6b"),
        ("functiongemma-270m", "functiongemma-270m"),
    ],
)
def test_names(name: str, expected: str) -> None:
    assert find(name).name == expected


@pytest.mark.parametrize("name", ["", "gpt", "local:", "local:huge"])
def test_an_unknown_name_lists_what_there_is(name: str) -> None:
    with pytest.raises(SettingsError, match=r"there is: qwen2\.5-coder-1\.5b, qwen2\.5-coder-0\.5b"):
        find(name)


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOOLHAND_CACHE", str(tmp_path))
    assert path_of(find("local")) == tmp_path / "models" / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    monkeypatch.delenv("TOOLHAND_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "toolhand"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder().parts[-3:] == ("Library", "Caches", "toolhand")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "appdata"))
    assert cache_folder() == tmp_path / "appdata" / "toolhand" / "Cache"
