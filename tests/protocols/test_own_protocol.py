"""A protocol of another package, as `parse` and `reader` take it."""

from __future__ import annotations

import pytest

from toolhand import tool
from toolhand.core.errors import SettingsError
from toolhand.protocols.parse import parse, reader

OWN = """
from toolhand.protocols.reading.stream import TextReader

class Loud:
    name = "own"

    def reader(self, tools, new_id, settings):
        return Backwards(tools, new_id, settings)

class Backwards(TextReader):
    def read(self, text, calls=(), finish_reason="stop"):
        return super().read(text[::-1], calls, finish_reason)

class Mute:
    name = "mute"

PROTOCOL, MUTE = Loud(), Mute()
"""


@tool
def find_lamp(where: str) -> str:
    """Finds a lamp."""
    return where


def test_an_own_protocol_reads_with_its_own_reader(own_package):
    own_package(OWN, protocols="own")
    text = '{"tool": "find_lamp", "args": {"where": "attic"}}'[::-1]
    streaming = reader([find_lamp], "own")
    streaming.feed(text)
    for reply in (parse(text, [find_lamp], "own"), streaming.finish()):
        assert dict(reply.calls[0].arguments) == {"where": "attic"}


def test_a_protocol_without_a_reader_is_told_so(own_package):
    own_package(OWN, protocols="mute:MUTE")
    with pytest.raises(SettingsError, match=r"'mute' has no reader\(tools, new_id, settings\)"):
        parse("hello", [find_lamp], "mute")
