"""Pages over TLS: the certificate is that of the name, though the connection goes to an address that was looked up before."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
import trustme

from tests.builtin.web.places import OUTSIDE, Names, Server, guard
from toolhand.builtin._guarded_http import fetch, url_of
from toolhand.builtin._web_words import told
from toolhand.core.errors import ErrorCode, ToolFailure

AUTHORITY = trustme.CA()

# In a process of its own, as a client reads the trusted certificates when it is loaded.
SCRIPT = """
import asyncio, sys
from tests.builtin.web.places import OUTSIDE, Names, guard
from toolhand.builtin._guarded_http import fetch, url_of
names = Names({"public.test": [[(OUTSIDE, int(sys.argv[1]))]]})
print(asyncio.run(fetch(url_of("https://public.test/", guard(names)), guard=guard(names))).content.decode())
"""


@pytest.fixture(params=["public.test", "other.test"])
async def served(request):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert(request.param).configure_cert(context)
    server = Server(OUTSIDE)
    try:
        await server.start(context)
    except OSError:
        pytest.skip("127.0.0.0/8 is not this machine here")
    server.on("/", "over TLS")
    yield request.param, server
    await server.stop()


async def test_a_page_over_tls(served, tmp_path):
    import asyncio  # noqa: PLC0415

    name, server = served
    AUTHORITY.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    root = Path(__file__).parents[3]
    environment = {
        **os.environ,
        "SSL_CERT_FILE": str(tmp_path / "ca.pem"),
        "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)]),
    }
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", SCRIPT, str(server.port)],
        text=True,
        capture_output=True,
        env=environment,
        check=False,
    )
    if name == "public.test":
        assert done.stdout.strip() == "over TLS", done.stderr
    else:  # trusted, but another's
        assert "CertificateError" in done.stderr


async def test_a_certificate_of_nobody_is_refused(served):
    _, server = served
    names = Names({"public.test": [[(OUTSIDE, server.port)]]})
    with pytest.raises(ToolFailure, match="certificate") as caught, told("public.test", "en"):
        await fetch(url_of("https://public.test/", guard(names)), guard=guard(names))
    assert caught.value.error.code is ErrorCode.NETWORK
    assert server.requests == []
