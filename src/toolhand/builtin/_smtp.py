"""Where mail is handed in, and to whom: plain values, made by the programmer or from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NotRequired, TypedDict
from urllib.parse import unquote, urlsplit

from toolhand.builtin._addresses import address_of
from toolhand.core.errors import SettingsError
from toolhand.core.language import say

ADDRESS: Final = re.compile(
    r"[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,64}(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,64}){0,8}"
    r"@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,10}[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?",
    re.IGNORECASE | re.ASCII,
)
"""One address and nothing else: the dot-atom form, without comments, quotes and routes. Source: RFC 5322, 3.4.1."""

_PORTS: Final = {"tls": 465, "starttls": 587, "none": 25}
_SCHEMES: Final[dict[str, Literal["tls", "starttls", "none"]]] = {
    "smtps": "tls", "smtp": "starttls", "smtp+plain": "none",
}  # fmt: skip
_EXAMPLE: Final = "smtps://user:password@smtp.example.com:465"


class Sent(TypedDict):
    """Who a mail was handed in for; `refused` where the server did not take some, and why."""

    sent_to: list[str]
    message_id: str
    refused: NotRequired[dict[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A mail as a model wrote it.

    Args:
        to: addresses.
        cc: addresses that get a copy.
        subject: one line.
        body: plain text.
        attachments: paths below the folder for attachments.
    """

    to: Sequence[str]
    cc: Sequence[str] = ()
    subject: str
    body: str
    attachments: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    """How mail is sent.

    Args:
        host: the server.
        sender: the address that it comes from, such as "reports@example.com".
        port: by default 465 for "tls", 587 for "starttls", 25 for "none".
        security: "tls" from the start, "starttls" (never goes on without it), or "none", for a server on this machine.
        username: to log in with, or "" for no login.
        password: the same.
        recipients: who may be written to: addresses, or "@example.com" for all of a domain; empty for anybody.
        most_recipients: of one mail.
        attachments: the folder whose files may be attached, or None for no attachments.
        approval: whether a person agrees to each mail.
        seconds: for each step with the server.

    Raises:
        SettingsError: when a part cannot be what it says.
    """

    host: str
    sender: str
    port: int = 0
    security: Literal["tls", "starttls", "none"] = "starttls"
    username: str = ""
    password: str = field(default="", repr=False)
    recipients: tuple[str, ...] = ()
    most_recipients: int = 10
    attachments: Path | None = None
    approval: bool = True
    seconds: float = 30.0

    def __post_init__(self) -> None:
        if self.security not in _PORTS:
            raise SettingsError(
                say(
                    f"mail security is 'tls', 'starttls' or 'none', not '{self.security}'",
                    f"邮件的 security 是 'tls'、'starttls' 或 'none'，而不是“{self.security}”",
                )
            )
        if not ADDRESS.fullmatch(self.sender):
            raise SettingsError(
                say(
                    f"mail sender '{self.sender[:80]}' is not an address such as reports@example.com",
                    f"发件人“{self.sender[:80]}”不是 reports@example.com 这样的地址",
                )
            )
        for one in self.recipients:
            if not ADDRESS.fullmatch(f"a{one}" if one.startswith("@") else one):
                raise SettingsError(
                    say(
                        f"mail recipient '{one[:80]}' is not an address, nor a domain such as @example.com",
                        f"收件人“{one[:80]}”既不是地址，也不是 @example.com 这样的域名",
                    )
                )
        if self.security == "none" and self.username and not _is_here(self.host):
            raise SettingsError(
                say(
                    f"the password for {self.host} would be sent unencrypted: use tls or starttls",
                    f"{self.host} 的密码会以明文发送：请使用 tls 或 starttls",
                )
            )

    @property
    def at_port(self) -> int:
        """The port, the usual one where none is given."""
        return self.port or _PORTS[self.security]

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] | None = None) -> MailSettings:
        """From `TOOLHAND_SMTP_URL`, `TOOLHAND_MAIL_FROM` and `TOOLHAND_MAIL_TO` (addresses or domains, with commas).

        Args:
            variables: the environment by default.

        Raises:
            SettingsError: when one of the first two is missing or cannot be read.
        """
        given = os.environ if variables is None else variables
        text, sender = given.get("TOOLHAND_SMTP_URL", ""), given.get("TOOLHAND_MAIL_FROM", "")
        if not text or not sender:
            missing = "TOOLHAND_MAIL_FROM" if text else "TOOLHAND_SMTP_URL"
            raise SettingsError(
                say(
                    f"mail needs {missing}: set TOOLHAND_SMTP_URL={_EXAMPLE} and TOOLHAND_MAIL_FROM=you@example.com",
                    f"发邮件需要 {missing}：请设置 TOOLHAND_SMTP_URL={_EXAMPLE} 和 TOOLHAND_MAIL_FROM=you@example.com",
                )
            )
        try:
            url = urlsplit(text)
            host, port = url.hostname or "", url.port or 0
        except ValueError:
            raise SettingsError(
                say(
                    f"TOOLHAND_SMTP_URL cannot be read: write it as {_EXAMPLE}",
                    f"无法读取 TOOLHAND_SMTP_URL：请写成 {_EXAMPLE}",
                )
            ) from None
        if url.scheme not in _SCHEMES or not host:
            raise SettingsError(
                say(
                    f"TOOLHAND_SMTP_URL begins with {', '.join(_SCHEMES)}: write it as {_EXAMPLE}",
                    f"TOOLHAND_SMTP_URL 以 {'、'.join(_SCHEMES)} 开头：请写成 {_EXAMPLE}",
                )
            )
        return cls(
            host=host,
            port=port,
            security=_SCHEMES[url.scheme],
            username=unquote(url.username or ""),
            password=unquote(url.password or ""),
            sender=sender.strip(),
            recipients=tuple(
                one.strip() for one in given.get("TOOLHAND_MAIL_TO", "").split(",") if one.strip()
            ),
        )


def _is_here(host: str) -> bool:
    address = address_of(host)
    return host.lower() == "localhost" if address is None else address.is_loopback
