"""Other people's HTTP services that a model may ask: plain values, made by the programmer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NotRequired, TypedDict
from urllib.parse import urlsplit

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

READS: Final = ("GET",)
SENDS: Final = ("POST", "PUT", "PATCH")
DELETES: Final = ("DELETE",)
METHODS: Final = (*READS, *SENDS, *DELETES)

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of a header. Source: RFC 9110, 5.6.2."""


class Answered(TypedDict):
    """What a service answered: `json` where it is JSON, else `text`."""

    status: int
    json: NotRequired[Any]
    text: NotRequired[str]
    note: NotRequired[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service that may be asked, by its address.

    Args:
        url: where it begins, such as "https://api.example.com/v2": nothing outside of it can be asked.
        about: what it is and which paths it has, for the model.
        headers: sent with every request, such as `{"Authorization": "Bearer …"}`; no model ever sees their values.
        methods: the HTTP methods that may be used.
        is_internal: whether it may be at an address that is not public, such as a service in one's own network.

    Raises:
        SettingsError: when the address or a header cannot be one.
    """

    url: str
    about: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    methods: tuple[str, ...] = READS
    is_internal: bool = False

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_fit = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            is_fit, parts = False, urlsplit("")
        if not is_fit or parts.query or parts.fragment or parts.username is not None:
            raise SettingsError(
                say(
                    f"service '{_shown(self.url)}': write its address as https://host/path, without a query or a password",
                    f"服务“{_shown(self.url)}”：地址请写成 https://host/path，不带查询参数和密码",
                )
            )
        unknown = [method for method in self.methods if method not in METHODS]
        if unknown or not self.methods:
            raise SettingsError(
                say(
                    f"service '{self.url}' has the method '{', '.join(unknown)}': there is {', '.join(METHODS)}",
                    f"服务“{self.url}”的方法是“{'、'.join(unknown)}”：可用的有 {'、'.join(METHODS)}",
                )
            )
        for name, value in self.headers.items():
            if not _TOKEN.fullmatch(name) or re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value):
                raise SettingsError(
                    say(
                        f"service '{self.url}': the header {name[:40]!r} holds a character that none may",
                        f"服务“{self.url}”：请求头 {name[:40]!r} 里有不允许的字符",
                    )
                )
        if self.headers and parts.scheme == "http" and not self.is_internal:
            raise SettingsError(
                say(
                    f"service '{self.url}' would send its headers unencrypted: use https",
                    f"服务“{self.url}”会以明文发送请求头：请使用 https",
                )
            )


def _shown(url: str) -> str:
    """An address for an error, without what might be a password in it."""
    return re.sub(r"//[^/@]*@", "//…@", url)[:80]
