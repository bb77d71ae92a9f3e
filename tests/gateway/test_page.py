"""The page at the gateway: it shows what came by, and what is decided on it goes on at the gateway."""

from __future__ import annotations

import re

from tests.gateway.test_hosted import HERE, ORDER, plain


async def test_a_call_that_came_by_the_gateway_is_approved_on_its_page(start, tmp_path):
    gate = await start(ORDER, "It is ordered.", tools=HERE, store=str(tmp_path / "sessions.db"), page=True)
    html = {"headers": {"accept": "text/html"}}
    assert "No sessions yet" in (await gate.get("/", **html)).body
    await gate.post(plain("Order a wrench."), headers={"toolhand-session": "s"})
    page = (await gate.get("/approvals", **html)).body
    fields = dict(re.findall(r'name="(stamp|session|approval|decision)" value="(.*?)"', page)[:4])
    assert fields["decision"] == "approve"
    async with gate.session.post(gate.url + "/decide", data=fields) as answer:
        assert answer.status == 200
        shown = await answer.text()
    for _ in range(200):
        if "It is ordered." in shown:
            break
        shown = (await gate.get("/session?id=s", **html)).body
    assert "It is ordered." in shown
    assert (await gate.get("/healthz")).body == {"status": "ok"}


async def test_with_a_token_the_page_asks_for_it_and_the_models_do_not(start):
    gate = await start("Well.", page=True, token="a-token-of-some-length")
    assert (await gate.get("/approvals")).status == 401
    assert "Log in" in (await gate.get("/", headers={"accept": "text/html"})).body
    assert (await gate.post(plain())).status == 200
