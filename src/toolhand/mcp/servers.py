"""Which servers a user means: a command, an address, a file in the form that other clients use, or several of these by name."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from toolhand.core.errors import ErrorCode, SettingsError
from toolhand.core.language import say

Transport = Literal["stdio", "http", "sse", "here"]

Named: TypeAlias = "str | os.PathLike[str] | Sequence[str] | Mapping[str, Any] | Server | Any"
"""What a user may name."""

_VARIABLE: Final = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")
_RUNNERS: Final = frozenset(
    {"npx", "uvx", "node", "python", "python3", "uv", "run", "docker", "bunx", "deno", "toolhand", "mcp"}
)


class ServerStartError(SettingsError):
    """A server did not start, could not be reached, or is not one of MCP.

    Args:
        message: what was wrong, where, and what to do.
        code: which kind of failure it is: `timeout`, `network` or `upstream`.
    """

    def __init__(self, message: str, *, code: ErrorCode) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One MCP server and how it is reached.

    Args:
        name: what it is called in logs, in errors, and before names that clash.
        command: what starts it, for one that speaks over its standard streams.
        url: its address, for one that speaks HTTP.
        headers: sent with every request; secrets among them are never logged.
        env: variables that it gets beside the few that every program needs. It gets no other: a secret in the environment goes to
            the server that it is named for.
        cwd: the folder that it starts in.
        transport: how it is spoken to; "sse" is the older form of HTTP, "here" an SDK's server object in this process.
        target: that object.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    transport: Transport = "stdio"
    target: Any = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that only this server is told, to be masked where it repeats them."""
        bare = (
            re.sub(r"^(?:Bearer|Basic|Token)\s+", "", value, flags=re.IGNORECASE)
            for value in self.headers.values()
        )
        return tuple(value for value in (*self.env.values(), *bare) if len(value) >= 8)


def servers_of(
    source: Named,
    *,
    env: Mapping[str, str] | Iterable[str] = (),
    headers: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> list[Server]:
    """The servers behind what a user names.

    Args:
        source: a command line or its words; an "http(s)://" address; a `.py` file; a `.json` file or a dict with `mcpServers`;
            a dict of any of these by name; an SDK's server object.
        env: variables for each: values by name, or names of variables that are handed on.
        headers: for each that speaks HTTP.
        cwd: the folder for each that is started.

    Raises:
        SettingsError: when it names no server.
    """
    given = _variables(env)
    found = [
        replace(
            server,
            env={**server.env, **given} if server.command else server.env,
            headers={**server.headers, **(headers or {})} if server.url else server.headers,
            cwd=os.fspath(cwd) if cwd is not None and server.command else server.cwd,
        )
        for server in _read(source)
    ]
    if not found:
        raise SettingsError(say("no MCP server is named", "没有指定 MCP 服务器"))
    return _told_apart(found)


def _told_apart(servers: list[Server]) -> list[Server]:
    """The servers under names of which each occurs once."""
    taken: set[str] = set()
    found = []
    for server in servers:
        name, number = server.name, 2
        while name in taken:
            name, number = f"{server.name}_{number}", number + 1
        taken.add(name)
        found.append(replace(server, name=name))
    return found


def _variables(env: Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    if isinstance(env, Mapping):
        return {str(name): str(value) for name, value in env.items()}
    names = [env] if isinstance(env, str) else list(env)
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise SettingsError(
            say(
                f"the environment has no variable '{missing[0]}' to hand on to the MCP server: set it first",
                f"环境中没有要交给 MCP 服务器的变量“{missing[0]}”：请先设置",
            )
        )
    return {name: os.environ[name] for name in names}


def _read(source: Named) -> list[Server]:
    if isinstance(source, Server):
        return [source]
    if isinstance(source, str | os.PathLike):
        return _of_text(os.fspath(source))
    if isinstance(source, Mapping):
        return _of_mapping(source)
    if isinstance(source, Sequence) and source and all(isinstance(word, str) for word in source):
        return [_of_words(list(source))]
    if hasattr(source, "run") or hasattr(source, "call_tool"):
        name = str(getattr(source, "name", "") or type(source).__name__)
        return [Server(name=name, transport="here", target=source)]
    raise SettingsError(
        say(
            f"{source!r:.80} names no MCP server: give a command, an address, a .json file or a dict of these",
            f"{source!r:.80} 不是 MCP 服务器：请给出命令、地址、.json 文件或它们组成的字典",
        )
    )


def _of_text(text: str) -> list[Server]:
    if urlsplit(text).scheme in ("http", "https"):
        return [Server(name=_host_name(text), url=text, transport="http")]
    if text.endswith(".json"):
        return _of_mapping(_json(Path(text)))
    try:
        words = [text] if Path(text).is_file() else shlex.split(text)
    except (OSError, ValueError):
        words = []
    if not words:
        raise SettingsError(
            say(f"'{text[:80]}' is no command of an MCP server", f"“{text[:80]}”不是 MCP 服务器的命令")
        )
    return [_of_words(words)]


def _of_words(words: list[str]) -> Server:
    name = _command_name(words)
    if words[0].endswith(".py"):
        words = [sys.executable, *words]
    return Server(name=name, command=tuple(words))


def _command_name(words: Sequence[str]) -> str:
    """The word of a command that says what it is: a package's or a script's name."""
    telling = [
        Path(word.rstrip("/")).name
        for word in words
        if not word.startswith("-") and Path(word).name not in _RUNNERS
    ]
    name = re.sub(r"@[\w.^~-]+$|\.(?:py|js|ts|mjs|exe)$", "", telling[0] if telling else Path(words[0]).name)
    return re.sub(r"\W+", "_", name).strip("_") or "server"


def _host_name(url: str) -> str:
    return re.sub(r"\W+", "_", urlsplit(url).hostname or "server").strip("_")


def _of_mapping(source: Mapping[str, Any]) -> list[Server]:
    inner = source.get("mcpServers", source.get("servers"))
    if isinstance(inner, Mapping):
        source = inner
    if isinstance(source.get("command"), str) or isinstance(source.get("url"), str):
        return [_of_entry("", source)]
    found = []
    for name, entry in source.items():
        if isinstance(entry, Mapping):
            if entry.get("disabled") is not True:
                found.append(_of_entry(str(name), entry))
        else:
            found += [replace(server, name=str(name)) for server in _read(entry)]
    return found


def _of_entry(name: str, entry: Mapping[str, Any]) -> Server:
    if isinstance(entry.get("url"), str):
        url = _filled(entry["url"], name)
        return Server(
            name=name or _host_name(url),
            url=url,
            headers={str(k): _filled(v, name) for k, v in (entry.get("headers") or {}).items()},
            transport="sse" if entry.get("type") == "sse" else "http",
        )
    if not isinstance(entry.get("command"), str):
        raise SettingsError(
            say(
                f"the MCP server '{name}' has neither a command nor a url",
                f"MCP 服务器“{name}”既没有 command 也没有 url",
            )
        )
    words = [_filled(entry["command"], name), *(_filled(word, name) for word in entry.get("args") or ())]
    made = _of_words(words)
    env = {str(k): _filled(v, name) for k, v in (entry.get("env") or {}).items()}
    return replace(made, name=name or made.name, env=env, cwd=entry.get("cwd"))


def _filled(value: Any, name: str) -> str:
    """A value of a configuration with `${VARIABLE}` and `${VARIABLE:-default}` from the environment."""

    def variable(match: re.Match[str]) -> str:
        found = os.environ.get(match[1], match[2])
        if found is None:
            raise SettingsError(
                say(
                    f"the MCP server '{name}' asks for the variable '{match[1]}', which is not set",
                    f"MCP 服务器“{name}”需要变量“{match[1]}”，但没有设置",
                )
            )
        return found

    return _VARIABLE.sub(variable, str(value))


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or say("it is not JSON", "不是 JSON")
        raise SettingsError(
            say(
                f"the MCP servers in '{path}' cannot be read: {why}",
                f"无法读取“{path}”中的 MCP 服务器：{why}",
            )
        ) from None
    return found if isinstance(found, Mapping) else {}
