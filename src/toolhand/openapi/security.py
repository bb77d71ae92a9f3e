"""Secrets for an API: kept by the program, added to a request on its way out, shown to nobody.

Source: https://spec.openapis.org/oas/v3.1.1#security-scheme-object.
"""

from __future__ import annotations

import base64
import inspect
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from toolhand.arguments.masking import masked
from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.openapi.document import Document

SecretSource: TypeAlias = (
    str | tuple[str, str] | Callable[[], str | tuple[str, str] | Awaitable[str | tuple[str, str]]]
)
"""A key or token (user and password for HTTP's basic scheme), or what gives one at each call, as for a token that is renewed."""

VARIABLE: Final = "TOOLHAND_OPENAPI_"
"""The environment variable of a scheme's secret is this and the scheme's name in capitals, other characters as `_`."""

SHORTEST_MASKED: Final = 6

_NEVER_A_PARAMETER: Final = frozenset(
    {
        "accept",
        "content-type",
        "authorization",
        "proxy-authorization",
        "host",
        "content-length",
        "transfer-encoding",
    }
    | {"connection", "te", "trailer", "upgrade", "expect"}
)
"""Header parameters that the specification has ignored, and those that say how a request is carried: they are no caller's."""


@dataclass(slots=True)
class Credentials:
    """What the secrets add to one request.

    Args:
        headers: by name.
        query: name and value.
        cookies: name and value.
        secrets: the secrets themselves, to be masked where a server echoes one.
        missing: the schemes for which there is no secret; empty where the request can go out.
    """

    headers: dict[str, str] = field(default_factory=dict)
    query: list[tuple[str, str]] = field(default_factory=list)
    cookies: list[tuple[str, str]] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    missing: tuple[str, ...] = ()


class Security:
    """A document's security schemes with the secrets that the program has for them.

    Args:
        document: where the schemes are declared.
        secrets: by scheme; one that is not given is looked up in the environment under its `VARIABLE`.
        headers: names of headers that the program adds; a model may not send another value for them.

    Raises:
        SettingsError: when a secret is given for a scheme that the document does not have.
    """

    def __init__(
        self, document: Document, secrets: Mapping[str, SecretSource], headers: Iterable[str] = ()
    ) -> None:
        self._headers = _NEVER_A_PARAMETER | {name.lower() for name in headers}
        components = document.root.get("components")
        declared = components.get("securitySchemes") if isinstance(components, Mapping) else None
        self.schemes: dict[str, Mapping[str, Any]] = {}
        for name, scheme in (declared if isinstance(declared, Mapping) else {}).items():
            try:
                self.schemes[str(name)] = document.resolved(scheme)
            except LookupError:
                continue
        for name in secrets:
            if name not in self.schemes:
                there = ", ".join(self.schemes) or say("none", "无")
                raise SettingsError(
                    say(
                        f"the document has no security scheme '{name}' to take a secret; it has: {there}",
                        f"文档里没有名为“{name}”的安全方案；有：{there}",
                    )
                )
        self._secrets = dict(secrets)

    def hides(self, parameter: Mapping[str, Any]) -> bool:
        """Whether a parameter is a secret's place, or one that no caller sets: a model must not see it."""
        name, place = str(parameter.get("name")), parameter.get("in")
        if place == "header" and name.lower() in self._headers:
            return True
        return any(
            scheme.get("type") == "apiKey"
            and scheme.get("in") == place
            and str(scheme.get("name")).lower() == name.lower()
            for scheme in self.schemes.values()
        )

    async def credentials(self, alternatives: Sequence[Mapping[str, Any]]) -> Credentials:
        """What a request needs: the first alternative for which every secret is there.

        Args:
            alternatives: an operation's; none, or an empty one among them, means that it may go out without.
        """
        named = [list(alternative) for alternative in alternatives if alternative]
        for names in named:
            if all(self._has(name) for name in names):
                found = Credentials()
                for name in names:
                    await self._add(name, found)
                return found
        if not named or len(named) < len(alternatives):
            return Credentials()
        return Credentials(missing=tuple(named[0]))

    def _has(self, name: str) -> bool:
        if self.schemes.get(name, {}).get("type") == "mutualTLS":
            return True
        return name in self._secrets or bool(os.environ.get(variable(name)))

    async def _add(self, name: str, found: Credentials) -> None:
        scheme = self.schemes.get(name, {})
        if scheme.get("type") == "mutualTLS":
            return
        source = self._secrets.get(name) or os.environ.get(variable(name), "")
        secret: Any = source() if callable(source) else source
        if inspect.isawaitable(secret):
            secret = await secret
        found.secrets += [part for part in ((secret,) if isinstance(secret, str) else secret[1:]) if part]
        if scheme.get("type") == "apiKey":
            pair = (str(scheme.get("name")), str(secret))
            match scheme.get("in"):
                case "query":
                    found.query.append(pair)
                case "cookie":
                    found.cookies.append(pair)
                case _:
                    found.headers[pair[0]] = pair[1]
        elif str(scheme.get("scheme", "")).lower() == "basic":
            user_and_password = secret if isinstance(secret, str) else ":".join(secret)
            encoded = base64.b64encode(user_and_password.encode()).decode()
            found.secrets.append(encoded)
            found.headers["Authorization"] = f"Basic {encoded}"
        else:
            kind = str(scheme.get("scheme") or "bearer").capitalize()
            bare = re.sub(rf"^{re.escape(kind)}\s+", "", str(secret), flags=re.IGNORECASE)
            found.headers["Authorization"] = f"{kind} {bare}"


def variable(scheme: str) -> str:
    """The environment variable in which a scheme's secret may stand."""
    return VARIABLE + re.sub(r"\W", "_", scheme).upper()


def without_secrets(value: Any, secrets: Sequence[str]) -> Any:
    """What a server has said, without the secrets that it was sent."""
    return masked(value, [secret for secret in secrets if len(secret) >= SHORTEST_MASKED])
