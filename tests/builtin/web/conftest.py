from __future__ import annotations

import pytest

from tests.builtin.web.places import OUTSIDE, Names, Server


@pytest.fixture
async def outside():
    """A server on the stand-in for the internet."""
    server = Server(OUTSIDE)
    try:
        await server.start()
    except OSError:
        pytest.skip("127.0.0.0/8 is not this machine here")
    yield server
    await server.stop()


@pytest.fixture
async def inner():
    """A server that nobody from outside may reach."""
    server = Server("127.0.0.1")
    await server.start()
    server.on("/secret", "内网秘密")
    yield server
    await server.stop()


@pytest.fixture
def names(outside):
    """`public.test` is outside, at the right port."""
    return Names({"public.test": [[(OUTSIDE, outside.port)]], "other.test": [[(OUTSIDE, outside.port)]]})
