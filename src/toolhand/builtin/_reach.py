"""How far a tool may reach that a model steers, as plain values: no network library is loaded for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from toolhand.builtin._addresses import Address, Network, is_public
from toolhand.core.context import RunContext
from toolhand.core.errors import SettingsError
from toolhand.core.language import say

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

PORTS: Final = frozenset({80, 443, 8000, 8080, 8443})


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Where requests may go.

    Args:
        networks: networks that may be reached although they are not public, such as "10.20.0.0/16" for an intranet.
        ports: the ports that may be reached; None for all.
        resolver: makes what turns names into addresses, the system's by default. What it says is checked all the same.

    Raises:
        SettingsError: when a network is none.
    """

    networks: tuple[str, ...] = ()
    ports: frozenset[int] | None = PORTS
    resolver: Callable[[], AbstractResolver] | None = None

    def __post_init__(self) -> None:
        self.opened()

    def opened(self) -> tuple[Network, ...]:
        """The networks that are open besides the public ones."""
        try:
            return tuple(map(ip_network, self.networks))
        except ValueError as error:
            raise SettingsError(
                say(
                    f"a guard's networks: {error}: write one such as 10.20.0.0/16 or fd00:1::/32",
                    f"guard 的 networks：{error}：请写成 10.20.0.0/16 或 fd00:1::/32 这样",
                )
            ) from None

    def allows(self, address: Address | None) -> bool:
        """Whether a connection to an address may be opened."""
        if address is None:
            return False
        return is_public(address) or any(address in network for network in self.opened())

    def allows_port(self, port: int | None) -> bool:
        """Whether a port may be reached."""
        return self.ports is None or port in self.ports


PUBLIC: Final = Guard()
"""The public internet, at the usual ports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """What one request may take.

    Args:
        seconds: for all hops together.
        size_bytes: of the body as it is after decompression.
        hops: redirects that are followed.
    """

    seconds: float = 20.0
    size_bytes: int = 5_000_000
    hops: int = 5


USUAL: Final = HttpLimits()

BY_HAND: Final = RunContext()
"""What a tool knows of a run when a program calls it as a function."""
