"""What is known about a model: how much it reads and writes, and what it costs. Data, which a user can override.

The package's own data is `facts.toml`. A file of the same form wins over it: the one that `TOOLHAND_FACTS` names, or else
`facts.toml` in the user's configuration folder.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.core.messages import Usage
from toolhand.models import Model

Rows = Mapping[str, Mapping[str, Any]]
"""The sections of a file: provider → its settings, and its rows by model name."""

MILLION: Final = 1_000_000

_JOINTS: Final = frozenset("-:@_.")

# What may follow a priced name: a date, a revision, a channel. Anything else may be another model at another price.
_VERSION: Final = re.compile(
    r"(?:[-:@_.](?:\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{4,8}|v\d+|latest|preview|exp|beta|instruct|it))*"
    r"(?::.*)?"  # an account's own suffix, as in "ft:gpt-4o:team::id"
)

_PRICES: Final = ("input", "output", "cached", "cache_write", "long_prompt", "currency")
_SIZES: Final = ("context_tokens", "max_output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a million tokens cost.

    Args:
        currency: an ISO 4217 code.
        input: of the prompt.
        output: of the reply, its reasoning included.
        cached: of the part of the prompt that the server had in its cache; as `input` where None.
        cache_write: of the part that it put there; as `input` where None.
        long_prompt: (tokens, input factor, output factor): a request with a longer prompt costs so much more.
    """

    currency: str = "USD"
    input: float = 0.0
    output: float = 0.0
    cached: float | None = None
    cache_write: float | None = None
    long_prompt: tuple[float, float, float] | None = None

    def cost(self, usage: Usage) -> float:
        """What one request cost, in the price's currency.

        Args:
            usage: of one request: with `long_prompt` the sum of several costs something else.
        """
        cached = min(usage.cached_tokens, usage.input_tokens)
        written = min(usage.cache_write_tokens, usage.input_tokens - cached)
        prompt = (
            (usage.input_tokens - cached - written) * self.input
            + cached * (self.input if self.cached is None else self.cached)
            + written * (self.input if self.cache_write is None else self.cache_write)
        )
        reply = usage.output_tokens * self.output
        if self.long_prompt is not None and usage.input_tokens > self.long_prompt[0]:
            prompt, reply = prompt * self.long_prompt[1], reply * self.long_prompt[2]
        return (prompt + reply) / MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is known about a model; None where nothing is.

    Args:
        context_tokens: how many tokens prompt and reply may have together.
        max_output: how many tokens a reply may have.
        price: what it costs.
    """

    context_tokens: int | None = None
    max_output: int | None = None
    price: Price | None = None

    def cost(self, usage: Usage) -> float | None:
        """What one request cost, in `price.currency`; None where the price is not known."""
        return None if self.price is None else self.price.cost(usage)


def facts(model: str | Model, **known: Any) -> ModelFacts:
    """What is known about a model.

    Args:
        model: its name as for `Agent`, such as "openai:gpt-5-mini" or "http://host/v1#qwen3", or a `Model`, whose own
            `context_tokens` counts more than any table.
        known: what the caller knows better: context_tokens, max_output, input, output, cached, cache_write, currency.

    Raises:
        SettingsError: when a file cannot be read, or nothing has such a name.
    """
    name = model if isinstance(model, str) else model.name
    own = None if isinstance(model, str) else getattr(model, "context_tokens", None)
    found = _facts(name, os.environ.get("TOOLHAND_FACTS"), os.environ.get("TOOLHAND_CONFIG"))
    if isinstance(own, int):
        found = replace(found, context_tokens=own)
    return _with(found, known) if known else found


def _with(found: ModelFacts, known: Mapping[str, Any]) -> ModelFacts:
    if unknown := known.keys() - {*_PRICES, *_SIZES}:
        names, there = ", ".join(sorted(unknown)), ", ".join((*_SIZES, *_PRICES))
        raise SettingsError(
            say(
                f"nothing about a model is called {names}; there is: {there}",
                f"模型数据里没有 {names}；可用：{there}",
            )
        )
    old = {} if found.price is None else {f.name: getattr(found.price, f.name) for f in fields(Price)}
    row = {name: getattr(found, name) for name in _SIZES} | old | dict(known)
    return _made({key: value for key, value in row.items() if value is not None})


@lru_cache(maxsize=512)
def _facts(name: str, file: str | None, folder: str | None) -> ModelFacts:
    """The facts for a name; a process reads each file once."""
    provider, bare = _split(name)
    row = _sizes(_package(), _places(provider), provider, bare) | _prices(_package(), provider, bare)
    own = _users(file, folder)
    row |= _sizes(own, (provider, "any"), provider, bare)
    if prices := _prices(own, provider, bare):
        row = {key: value for key, value in row.items() if key in _SIZES} | prices
    return _made(row)


def _split(name: str) -> tuple[str, str]:
    """Provider and model name: "azure:My/GPT-5" → ("azure", "gpt-5")."""
    if "://" in name:
        return "http", name.partition("#")[2].rpartition("/")[2].lower()
    provider, _, bare = name.strip().partition(":")
    return provider.lower(), bare.rpartition("/")[2].lower()


def _places(provider: str) -> tuple[str, ...]:
    """The sections that may tell a model's sizes. What it can read is not what a server of one's own was told to give it."""
    section = _package().get(provider, {})
    if section.get("own"):
        return (provider,)
    others = (name for name, other in _package().items() if not other.get("own"))
    return tuple(dict.fromkeys((provider, str(section.get("like", "")), *others)))


def _sizes(rows: Rows, places: Iterable[str], provider: str, bare: str) -> dict[str, Any]:
    settings = {key: value for key, value in rows.get(provider, {}).items() if key in _SIZES}
    for place in places:
        key = _best(rows.get(place, {}), bare)
        if key is not None:
            found = {name: value for name, value in rows[place][key].items() if name in _SIZES}
            if found:
                return settings | found
    return settings


def _prices(rows: Rows, provider: str, bare: str) -> dict[str, Any]:
    section = rows.get(provider, {})
    for place in (provider, str(section.get("like", "")), "any"):
        key = _best(rows.get(place, {}), bare)
        if key is not None and "input" in rows[place][key] and _VERSION.fullmatch(bare[len(key) :]):
            found = {name: value for name, value in rows[place][key].items() if name in _PRICES}
            return {"currency": rows[place].get("currency", "USD")} | found
    return {"input": 0.0, "output": 0.0} if section.get("free") else {}


def _best(section: Mapping[str, Any], bare: str) -> str | None:
    """The longest row of a section that a name begins with, up to a joint."""
    for key in _beginnings(bare):
        if isinstance(section.get(key), Mapping):
            return key
    return None


def _beginnings(bare: str) -> Iterator[str]:
    yield bare
    for end in range(len(bare) - 1, 0, -1):
        if bare[end] in _JOINTS:
            yield bare[:end]


def _made(row: Mapping[str, Any]) -> ModelFacts:
    price = None
    if "input" in row:
        given = {key: row[key] for key in _PRICES if key in row}
        if "long_prompt" in given:
            given["long_prompt"] = tuple(given["long_prompt"])
        price = Price(**given)
    return ModelFacts(context_tokens=row.get("context_tokens"), max_output=row.get("max_output"), price=price)


@cache
def _package() -> Rows:
    return tomllib.loads(files("toolhand.models").joinpath("facts.toml").read_text("utf-8"))


def config_folder() -> Path:
    """`TOOLHAND_CONFIG`, or else the folder `toolhand` in the platform's configuration folder for the user."""
    if chosen := os.environ.get("TOOLHAND_CONFIG"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "toolhand"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "toolhand"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "toolhand"


@lru_cache(maxsize=8)
def _users(file: str | None, folder: str | None) -> Rows:
    """The user's own rows, from the file that is named or the one in the configuration folder."""
    del folder  # `config_folder` reads it
    if file:
        return _read(Path(file).expanduser())
    usual = config_folder() / "facts.toml"
    return _read(usual) if usual.exists() else {}


def _read(file: Path) -> Rows:
    try:
        found = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(
            say(
                f"the facts about models in {file} cannot be read: {error.strerror}",
                f"无法读取 {file} 里的模型数据：{error.strerror}",
            )
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            say(
                f"the facts about models in {file} are not TOML: {error}",
                f"{file} 里的模型数据不是 TOML：{error}",
            )
        ) from None
    for section, rows in found.items():
        if not isinstance(rows, dict):
            raise SettingsError(
                say(
                    f"{file}: '{section}' stands outside a provider's section: write [openai] above it",
                    f"{file}：“{section}”不在任何服务商的小节里：请在它上面写 [openai]",
                )
            )
        found[section] = {str(key).lower(): value for key, value in rows.items()}
        for name, row in rows.items():
            _check(file, section, name, row)
    return found


def _check(file: Path, section: str, name: str, row: Any) -> None:
    """Refuses a row with a word or a value that nobody would read."""
    where = say(f"{file}: {section}, '{name}'", f"{file}：{section}，“{name}”")
    if not isinstance(row, dict):
        if name not in ("like", "own", "free", "currency", *_SIZES):
            row_there = f'"{name}" = {{ input = 1.0, output = 2.0 }}'
            raise SettingsError(
                say(f"{where} is not a row: write {row_there}", f"{where}不是一行数据：请写 {row_there}")
            )
        return
    for key, value in row.items():
        if key not in (*_PRICES, *_SIZES):
            there = ", ".join((*_SIZES, *_PRICES))
            raise SettingsError(
                say(f"{where} has '{key}'; there is: {there}", f"{where}有“{key}”；可用：{there}")
            )
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        is_whole = isinstance(value, int) and is_number and value > 0
        is_long = (
            isinstance(value, list) and len(value) == 3 and all(isinstance(v, int | float) for v in value)
        )
        fits = {"currency": isinstance(value, str), "long_prompt": is_long}
        if not fits.get(key, is_whole if key in _SIZES else is_number):
            raise SettingsError(
                say(f"{where}: {key} cannot be {value!r}", f"{where}：{key} 不能是 {value!r}")
            )
