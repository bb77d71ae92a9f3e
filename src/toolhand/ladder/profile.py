"""What is known about how a model takes its tools: on which rung it starts and how it is helped. Data, which a probe can replace.

The package knows some families (`profiles.toml`). A profile that `toolhand probe` wrote for a model wins over it: a TOML file in
the folder `profiles` of the user's configuration folder.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.models import Model
from toolhand.models.facts import config_folder

_JOINTS: Final = re.compile(r"[:@_\s]+")
_UNSAFE: Final = re.compile(r"[^a-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How a model is spoken to.

    Args:
        rungs: protocols by name, the one to start with first, each next one looser.
        failures: how many replies in a row that cannot be used make it step down.
        recovery: after how many good replies in a row the rung above is tried again; doubled whenever that fails.
        least_sure: how sure it must be on the constrained rung that a call is meant (0 to 1, see `protocols/doubts.py`); less
            makes the model answer instead. 0 doubts nothing and asks for no odds.
        checks_values: whether ids that nobody gave are sent back to the model instead of run.
        checks_steps: whether values that only describe what another tool would find are sent back too, and what a result told is
            put in the place of its name. For small models, which skip steps.
        plans_chains: whether a task in which a call lacks what only a chain of other tools would tell is planned as a whole
            (`protocols/plan.py`; needs the extra "plan").
        drops_idle: whether optional values that say nothing and that nobody said are left out of calls.
        origin: where this was learnt.
    """

    rungs: tuple[str, ...] = ("native", "constrained", "json", "template")
    failures: int = 2
    recovery: int = 8
    least_sure: float = 0.0
    checks_values: bool = True
    checks_steps: bool = False
    plans_chains: bool = False
    drops_idle: bool = False
    origin: str = ""

    def __post_init__(self) -> None:
        if not self.rungs or self.failures < 1 or self.recovery < 1 or not 0 <= self.least_sure < 1:
            raise SettingsError(
                say(
                    f"a profile{f' ({self.origin})' if self.origin else ''} needs at least one rung, failures and recovery "
                    "of at least 1, and a least_sure from 0 to below 1",
                    f"配置{f'（{self.origin}）' if self.origin else ''}的 rungs 至少要有一个，failures 和 recovery 至少为 1，"
                    "least_sure 从 0 到 1（不含 1）",
                )
            )


_FIELDS: Final = {field.name: field.type for field in fields(Profile) if field.name != "origin"}


def profile_of(model: Model) -> Profile:
    """The profile of a model: what a probe found, else what the package knows of its family, else the default.

    Raises:
        SettingsError: when the user's file for it cannot be read.
    """
    own = profile_path(model)
    if own.is_file():
        return _read(own)
    table = _package()
    for beginning in _beginnings(bare_name(model)):
        if beginning in table:
            return _made(table[beginning], origin=f"the package, {beginning}")
    return _made(table.get("default", {}), origin="the default")


def bare_name(model: Model) -> str:
    """A model's own name, without its provider, its organisation and its server: "qwen2.5-coder-1.5b-instruct"."""
    path = getattr(getattr(model, "settings", None), "path", None)
    if isinstance(path, Path):
        return _JOINTS.sub("-", path.stem.lower())
    name = model.name.lower()
    name = name.partition("#")[2] if "://" in name else name.partition(":")[2] or name
    return _JOINTS.sub("-", name.rpartition("/")[2])


def profile_path(model: Model) -> Path:
    """Where the profile that a probe writes for a model lies. A model on another server is another one."""
    where = _UNSAFE.sub("-", model.name.partition("#")[0].lower()) if "://" in model.name else ""
    name = "-".join(filter(None, (where, bare_name(model))))
    return config_folder() / "profiles" / f"{_UNSAFE.sub('-', name).strip('-.') or 'model'}.toml"


def write_profile(model: Model, profile: Profile, *, remark: str = "") -> Path:
    """Writes a model's profile, which every later agent with that model uses.

    Args:
        model: the model.
        profile: what was found.
        remark: a line on how it was found.

    Returns:
        The file.

    Raises:
        SettingsError: when it cannot be written.
    """
    path = profile_path(model)
    rows = asdict(profile)
    rows.pop("origin")
    lines = [f"# {line}" for line in remark.splitlines()]
    lines += [f"{key} = {_toml(value)}" for key, value in rows.items()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}.tmp")
        fresh.write_text("\n".join(lines) + "\n", encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise SettingsError(
            say(
                f"the profile {path} cannot be written: {error.strerror}",
                f"无法写入配置 {path}：{error.strerror}",
            )
        ) from None
    return path


def _toml(value: Any) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _beginnings(name: str) -> Iterator[str]:
    """The name and its beginnings up to a joint, the longest first."""
    yield name
    for end in range(len(name) - 1, 0, -1):
        if name[end] in "-.":
            yield name[:end]


@cache
def _package() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(files("toolhand.ladder").joinpath("profiles.toml").read_text("utf-8"))


def _read(path: Path) -> Profile:
    try:
        rows = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(
            say(
                f"the profile {path} cannot be read: {error.strerror}",
                f"无法读取配置 {path}：{error.strerror}",
            )
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            say(
                f"the profile {path} is not TOML: {error}; probe the model again",
                f"配置 {path} 不是 TOML：{error}；请重新用 probe 测量该模型",
            )
        ) from None
    return _made(rows, origin=str(path))


def _made(rows: Mapping[str, Any], *, origin: str) -> Profile:
    known: dict[str, Any] = {}
    for key, value in rows.items():
        if key not in _FIELDS:
            there = ", ".join(_FIELDS)
            raise SettingsError(
                say(
                    f"{origin}: a profile has no '{key}'; there is: {there}",
                    f"{origin}：配置里没有“{key}”；可用：{there}",
                )
            )
        if not _fits(key, value):
            raise SettingsError(
                say(f"{origin}: {key} cannot be {value!r}", f"{origin}：{key} 不能是 {value!r}")
            )
        known[key] = tuple(value) if key == "rungs" else value
    return Profile(**known, origin=origin)


def _fits(key: str, value: Any) -> bool:
    if key == "rungs":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    if key in ("checks_values", "checks_steps", "plans_chains", "drops_idle"):
        return isinstance(value, bool)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (key == "least_sure" or isinstance(value, int))
