"""Where a gateway's settings come from: a TOML file, over it the environment, over that the command line."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, TypeVar

from toolhand.arguments.suggest import closest
from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.gateway.settings import SETTINGS, ClientKey, GatewaySettings, Setting, Upstream, check_setting
from toolhand.models.facts import config_folder

PREFIX: Final = "TOOLHAND_SERVE_"
FILE_VARIABLE: Final = f"{PREFIX}CONFIG"
FROM_ENVIRONMENT: Final = "env:"

_YES: Final = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
_TABLES: Final = ("models", "keys", "toolsets")
_SECRET: Final = ("key", "token")

_Row = TypeVar("_Row", Upstream, ClientKey)


def read_settings(
    file: str | None = None,
    given: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> GatewaySettings:
    """The settings from everywhere.

    Args:
        file: the TOML file; by default what `TOOLHAND_SERVE_CONFIG` names, or `serve.toml` in the configuration folder where
            there is one.
        given: what the command line says, by name; None for what it does not say. `models` are "NAME=MODEL" or "MODEL".
        environment: the variables; the process's own by default.

    Raises:
        SettingsError: when something cannot be read or used; it says where it stands.
    """
    environment = os.environ if environment is None else environment
    path = _path(file, environment)
    rows = _file(path, environment) if path else {}
    rows |= _environment(environment)
    flags = {name: value for name, value in (given or {}).items() if value is not None}
    for row in SETTINGS:
        if row.name in flags:
            check_setting(row, flags[row.name], row.flag)
    models = flags.pop("models", ()) or environment.get(f"{PREFIX}MODELS", "").split(",")
    rows |= flags
    if named := {name: model for text in models if text.strip() for name, model in (_named(text.strip()),)}:
        rows["models"] = named
        rows.setdefault("default_model", next(iter(named)))
    return GatewaySettings(**rows)


def _path(file: str | None, environment: Mapping[str, str]) -> Path | None:
    if named := file or environment.get(FILE_VARIABLE, "").strip():
        return Path(named).expanduser()
    usual = config_folder() / "serve.toml"
    return usual if usual.is_file() else None


def _named(text: str) -> tuple[str, Upstream]:
    name, equals, model = text.partition("=")
    if equals and name and "://" not in name:
        return name.strip(), Upstream(model=model.strip())
    return text, Upstream(model=text)


def _environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in SETTINGS:
        variable = f"{PREFIX}{row.name.upper()}"
        if (text := environment.get(variable)) is not None:
            value = _value(row, text.strip())
            check_setting(row, value, variable)
            found[row.name] = value
    return found


def _value(row: Setting, text: str) -> Any:
    if row.kind == "yes":
        return _YES.get(text.lower(), text)
    try:
        return text if row.kind == "text" else int(text) if row.kind == "whole" else float(text)
    except ValueError:
        return text


def _file(path: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    try:
        rows = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(
            say(f"{path} cannot be read: {error.strerror}", f"无法读取 {path}：{error.strerror}")
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(say(f"{path} is not TOML: {error}", f"{path} 不是 TOML：{error}")) from None
    known = {row.name: row for row in SETTINGS}
    for name in rows:
        _check_name(str(path), name, [*known, *_TABLES])
    found: dict[str, Any] = {}
    for name, value in rows.items():
        if name in known:
            found[name] = _secret(value, environment, f"{path}: {name}") if name in _SECRET else value
            check_setting(known[name], found[name], str(path))
    found |= _tables(path, rows, environment)
    return found


def _tables(path: Path, rows: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "models" in rows:
        found["models"] = {
            name: Upstream(model=row)
            if isinstance(row, str)
            else _row(Upstream, row, f"{path}: models.{name}", environment)
            for name, row in _mapping(rows["models"], f"{path}: models").items()
        }
    if "keys" in rows:
        entries = rows["keys"]
        if not isinstance(entries, list):
            raise _wrong(f"{path}: keys", "written as [[keys]]", "应写作 [[keys]]")
        found["keys"] = tuple(
            _row(ClientKey, row, f"{path}: keys[{number}]", environment) for number, row in enumerate(entries)
        )
    if "toolsets" in rows:
        found["toolsets"] = _mapping(rows["toolsets"], f"{path}: toolsets")
        for name, sources in found["toolsets"].items():
            if not isinstance(sources, str):
                raise _wrong(
                    f"{path}: toolsets.{name}", "a text such as 'builtin'", "应为文本，例如 'builtin'"
                )
    return found


def _row(make: Callable[..., _Row], row: Any, where: str, environment: Mapping[str, str]) -> _Row:
    kinds = {one.name: str(one.type) for one in fields(make)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, sent in _mapping(row, where).items():
        _check_name(where, name, list(kinds))
        value = _secret(sent, environment, f"{where}.{name}") if name in _SECRET else sent
        values[name] = _typed(value, kinds[name], f"{where}.{name}")
    try:
        return make(**values)
    except TypeError as error:
        missing = str(error).rpartition(": ")[2]
        raise SettingsError(say(f"{where} lacks {missing}", f"{where} 缺少 {missing}")) from None
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from None


def _typed(value: Any, kind: str, where: str) -> Any:
    if kind.startswith("tuple"):
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise _wrong(where, "a list of texts", "应为文本列表")
        return tuple(value)
    is_yes = kind.startswith("bool")
    if not isinstance(value, bool if is_yes else str):
        raise _wrong(
            where, "true or false" if is_yes else "a text", "应为 true 或 false" if is_yes else "应为文本"
        )
    return value


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(where, "a table", "应为表")
    return value


def _secret(value: Any, environment: Mapping[str, str], where: str) -> Any:
    """A secret, which may stand in a variable of the environment and not in the file."""
    if not isinstance(value, str) or not value.startswith(FROM_ENVIRONMENT):
        return value
    variable = value.removeprefix(FROM_ENVIRONMENT)
    found = environment.get(variable, "").strip()
    if not found:
        raise SettingsError(
            say(
                f"{where} is taken from {variable}, which is not set",
                f"{where} 取自环境变量 {variable}，但它没有设置",
            )
        )
    return found


def _wrong(where: str, english: str, chinese: str) -> SettingsError:
    return SettingsError(say(f"{where} is {english}", f"{where} {chinese}"))


def _check_name(where: str, name: str, known: list[str]) -> None:
    if name not in known:
        near, there = closest(name, known), ", ".join(known)
        raise SettingsError(
            say(
                f"{where}: there is no setting '{name}'; "
                + (f"did you mean '{near}'?" if near else f"there is: {there}"),
                f"{where}：没有设置“{name}”；" + (f"是不是想写“{near}”？" if near else f"可用：{there}"),
            )
        )
