"""Network namespaces as hosts: each has a cable to this machine that can be pulled. Needs root and Linux.

The server listens on a socket in a folder, which any namespace reaches; so a relay on this machine's end of each cable stands for
the server's own port.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import subprocess
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

PORT: Final = 5439
_NEW_NET: Final = 0x40000000
"""The kind of namespace, for `setns`. Source: setns(2)."""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def are_possible() -> bool:
    """Whether this process may make namespaces."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        name = f"thx{os.getpid()}"
        ip("netns", "add", name)
        ip("netns", "del", name)
        return True
    return False


class Hosts:
    """A row of hosts, from 0.

    Args:
        url: the server's, with its socket's folder as `host`.
        count: how many hosts.
    """

    def __init__(self, url: str, count: int) -> None:
        parts = urlsplit(url)
        self._socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._database, self._mark = parts.path, f"th{os.getpid() % 100_000}"
        self._net = os.getpid() % 200
        self.count = count
        for place in range(count):
            space, cable = f"{self._mark}n{place}", self._cable(place)
            ip("netns", "add", space)
            ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("addr", "add", f"{self._address(place)}/24", "dev", cable)
            ip("link", "set", cable, "up")
            ip("-n", space, "addr", "add", f"10.{self._net}.{place}.2/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "link", "set", "lo", "up")

    def _cable(self, place: int) -> str:
        return f"{self._mark}c{place}"

    def _address(self, place: int) -> str:
        return f"10.{self._net}.{place}.1"

    def url(self, place: int) -> str:
        """Where the server is for a host."""
        return f"postgresql://postgres:x@{self._address(place)}:{PORT}{self._database}"

    def enter(self, place: int) -> None:
        """Puts this process onto a host, for good."""
        with Path(f"/run/netns/{self._mark}n{place}").open() as space:
            if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), _NEW_NET):
                raise OSError(ctypes.get_errno(), "setns")

    def pull(self, place: int) -> None:
        """Pulls a host's cable: what was sent is lost, and nobody is told."""
        ip("link", "set", self._cable(place), "down")

    def plug(self, place: int) -> None:
        """Puts it in again."""
        ip("link", "set", self._cable(place), "up")

    async def relay(self) -> None:
        """Carries what comes by the cables to the server, until it is cancelled."""

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                while data := await reader.read(65_536):
                    writer.write(data)
                    await writer.drain()
            writer.close()

        async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                inner, outer = await asyncio.open_unix_connection(self._socket)
            except OSError:
                writer.close()
                return
            await asyncio.gather(carry(reader, outer), carry(inner, writer))

        servers = [await asyncio.start_server(meet, self._address(n), PORT) for n in range(self.count)]
        await asyncio.gather(*(server.serve_forever() for server in servers))

    def close(self) -> None:
        """Takes all away."""
        for place in range(self.count):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip(
                    "netns", "del", f"{self._mark}n{place}"
                )  # its end of the cable goes with it, and so does the other
