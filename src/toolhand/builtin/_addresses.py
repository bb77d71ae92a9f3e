"""Which addresses of the internet protocol are public: what a tool that a model steers may connect to.

Everything that is not known to be public is not. The tables are ours, since what Python's `is_global` says differs between its
releases; addresses that hold another one (IPv4 in IPv6) are judged by the other one, or refused.

Source: https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry; RFC 6052 (NAT64).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_NOT_PUBLIC: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
            "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
            "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
            "168.63.129.16/32",  # Azure's own service inside of every virtual machine, at a public address
        ),
    )
)  # fmt: skip
_UNICAST: Final = IPv6Network("2000::/3")
"""What has been given out to the public; loopback, local, multicast and the addresses that hold IPv4 ones lie outside."""
_NOT_PUBLIC_6: Final = tuple(
    map(
        IPv6Network,
        ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "3ffe::/16"),
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
"""How networks without IPv4 write an IPv4 address; the last four bytes are it."""


def address_of(text: str) -> Address | None:
    """An address as text, with or without a zone, or None where it is none."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether an address leads to the public internet and nowhere else."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    if address not in _UNICAST or any(address in network for network in _NOT_PUBLIC_6):
        return False
    # ISATAP: an interface identifier that holds an IPv4 address and is delivered to it by a router of the site.
    return (int(address) >> 32) & 0xFDFF_FFFF != 0x0000_5EFE
