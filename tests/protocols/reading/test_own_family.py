"""A family of markup that nothing but its own file knows of."""

from __future__ import annotations

import pytest

from tests.timing import cpu_seconds
from toolhand import tool
from toolhand.protocols.parse import parse, reader

FAMILY = """
import re
from toolhand.protocols.reading.asked import Asked, Candidate
from toolhand.protocols.reading.family import Family

def read(scan, match):
    loose = scan.value_at(match.end())
    if loose is None:
        return None
    end = scan.text.find(CLOSE, loose.end)
    end = loose.end if end < 0 else end + len(CLOSE)
    return Candidate(match.start(), end, "marked", [Asked(match["name"], loose.value)])

FIRST, OPEN, CLOSE = {first!r}, {opening!r}, {close!r}
FAMILY = Family(name="own", first=FIRST, opening=re.compile(OPEN), read=read)
"""
KINDS = {
    "a sign of its own": ("⟦", r"⟦(?P<name>\w+)\s*(?=\{)", "⟧", '⟦find_lamp {"where": "attic"}⟧'),
    "a tag": ("<", r"<do (?P<name>\w+)>", "</do>", '<do find_lamp>{"where": "attic"}</do>'),
    "what no tag begins with": ("<", r"<\+(?P<name>\w+) ", "+>", '<+find_lamp {"where": "attic"} +>'),
    "a line": ("\n", r"@@ (?P<name>\w+) ", "@@", '@@ find_lamp {"where": "attic"} @@'),
    "a line that begins with a bracket": (
        "\n",
        r"\(\((?P<name>\w+) ",
        "))",
        '((find_lamp {"where": "attic"} ))',
    ),
}


@tool
def find_lamp(where: str) -> str:
    """Finds a lamp."""
    return where


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_is_read_and_nothing_of_it_is_shown_however_it_is_cut(own_package, kind):
    first, opening, close, call = KINDS[kind]
    own_package(
        FAMILY.format(first=first, opening=opening, close=close), protocols__reading__families="own_family"
    )
    before = (
        f"I shall look, as {first.strip() or '@'} says, and 1 < 2 holds for everybody who is here today.\n"
    )
    for text in (call, before + call, before * 3 + "\n" + call):
        whole = parse(text, [find_lamp])
        assert dict(whole.calls[0].arguments) == {"where": "attic"}
        shown_before = None
        for size in (1, 3, 7, len(text)):
            streaming = reader([find_lamp])
            shown = "".join(streaming.feed(text[at : at + size]) for at in range(0, len(text), size))
            assert shown_before in (None, shown)
            shown_before = shown
            assert call[:2] not in shown
            assert "attic" not in shown
            reply = streaming.finish()
            assert (reply.text or "").startswith(shown)
            assert dict(reply.calls[0].arguments) == {"where": "attic"}
        assert len(shown_before) >= len(before) - 64 or not text.startswith(before)


def test_prose_with_its_sign_is_shown_and_costs_what_it_is_long(own_package):
    own_package(
        FAMILY.format(first="⟦", opening=r"⟦(?P<name>\w+)\s*(?=\{)", close="⟧"),
        protocols__reading__families="own_family",
    )

    def read(count):
        text = "the interval ⟦0, 1) and what follows; " * count
        streaming = reader([find_lamp])
        shown = "".join(streaming.feed(text[at : at + 20]) for at in range(0, len(text), 20))
        assert len(shown) > len(text) - 80
        return streaming.finish()

    short = cpu_seconds(lambda: read(400))
    assert cpu_seconds(lambda: read(1600)) < 12 * short + 0.2
