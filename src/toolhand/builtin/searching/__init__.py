"""Who searches the web for `search_web`, one file each: its `connect(address, variables)` gives a `SearchEngine`.

Another one is a new file here or another package's entry point in `toolhand.builtin.searching`; it is named by its file's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from toolhand.core.errors import SettingsError
from toolhand.core.language import Language, say
from toolhand.core.plugins import member

__all__ = ["Hit", "Recency", "SearchEngine", "address_of", "entries", "key_of", "search_engine"]

Recency = Literal["any", "day", "week", "month", "year"]
"""How old a page may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A page that was found.

    Args:
        title: its title.
        url: its address.
        snippet: what of it fits the question.
        date: when it was published, as the service says it, or "".
    """

    title: str
    url: str
    snippet: str
    date: str = ""


@runtime_checkable
class SearchEngine(Protocol):
    """Searches the web."""

    async def search(self, query: str, *, count: int, recency: Recency, language: Language) -> Sequence[Hit]:
        """The pages that fit best, the best first.

        Args:
            query: what is looked for, as a person would write it.
            count: how many at most.
            recency: how old they may be.
            language: of what the model is told when it fails.

        Raises:
            ToolFailure: when the search does not work.
        """
        ...


def search_engine(name: str, variables: Mapping[str, str]) -> SearchEngine:
    """The engine of a name.

    Args:
        name: such as "ddgs", or with an address behind a colon, "searxng:http://localhost:8888".
        variables: where keys and addresses are.

    Raises:
        SettingsError: when there is none of that name, or it lacks a key or an address.
        MissingExtraError: when it needs a package that is not installed.
    """
    kind, _, address = name.partition(":")
    engine = member("builtin.searching", kind, "connect")(address, variables)
    if not isinstance(engine, SearchEngine):
        raise SettingsError(
            say(
                f"'{kind}' is no search engine: its connect must give an object with a search method",
                f"“{kind}”不是搜索引擎：它的 connect 必须返回带 search 方法的对象",
            )
        )
    return engine


def key_of(variables: Mapping[str, str], variable: str, service: str, where: str) -> str:
    """A service's key.

    Raises:
        SettingsError: when it is not set.
    """
    key = variables.get(variable, "").strip()
    if not key:
        raise SettingsError(
            say(
                f"searching with {service} needs a key: set {variable} (from {where})",
                f"用 {service} 搜索需要密钥：请设置 {variable}（在 {where} 获取）",
            )
        )
    return key


def address_of(address: str, default: str, service: str) -> str:
    """A service's address, without a slash at its end.

    Raises:
        SettingsError: when it is none.
    """
    found = (address or default).strip().rstrip("/")
    if not found.startswith(("http://", "https://")):
        raise SettingsError(
            say(
                f"the address of {service} is '{found[:80]}': write it as https://host",
                f"{service} 的地址是“{found[:80]}”：请写成 https://主机",
            )
        )
    return found


def entries(answer: Any, *path: str) -> list[Mapping[str, Any]]:
    """The objects in a list somewhere in an answer; none where it is not there."""
    for key in path:
        answer = answer.get(key) if isinstance(answer, Mapping) else None
    return [one for one in answer if isinstance(one, Mapping)] if isinstance(answer, list) else []
