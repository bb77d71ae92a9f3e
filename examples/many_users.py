"""One agent for many users, as a small web service: permissions, rate limits, and bounds for every run.

`POST /ask` takes {"text": …}; the bearer token says who asks. Each user has a session of their own, sees their own
orders (the tool is told who asks, the model is not asked), and is held to so many calls a minute. The service asks
itself as three users, and ends.

    python examples/many_users.py [--model NAME]
"""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import chosen
from aiohttp import web

from toolhand import Agent, Limits, RunContext, tool
from toolhand.core.errors import ModelError
from toolhand.models import Model

USERS = {
    "token-of-ann": ("ann", ["orders:read"]),
    "token-of-bo": ("bo", ["orders:read"]),
    "token-of-cy": ("cy", []),
}
ORDERS = {"ann": ["A7: 3 wrenches, on its way"], "bo": ["B2: 1 hammer, delivered"]}
QUESTION = "Where are my orders?"


@tool(permission="orders:read", rate_limit="10/minute")
def my_orders(context: RunContext) -> list[str]:
    """The orders of the user who asks, and where they are."""
    return ORDERS.get(context.user, [])


def service(model: str | Model) -> web.Application:
    """The web application."""
    agent = Agent(model, [my_orders], store="memory", limits=Limits(turns=5, calls=10, seconds=300))

    async def ask(request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in USERS:
            return web.json_response({"error": "a token is missing or unknown"}, status=401)
        user, permissions = USERS[token]
        try:
            run = await agent.run(
                (await request.json())["text"], session=user, user=user, permissions=permissions
            )
        except ModelError as error:
            return web.json_response({"error": str(error)}, status=503)
        return web.json_response(
            {"answer": run.text, "stopped": run.stopped, "tokens": run.usage.output_tokens}
        )

    app = web.Application()
    app.router.add_post("/ask", ask)
    return app


async def serve_and_ask(model: str | Model) -> dict[str, Any]:
    """Serves on a free port, asks as each user, and gives the answers by user."""
    runner = web.AppRunner(service(model))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/ask"
    answers: dict[str, Any] = {}
    async with aiohttp.ClientSession() as client:
        for token in [*USERS, "stolen"]:
            headers = {"Authorization": f"Bearer {token}"}
            async with client.post(url, json={"text": QUESTION}, headers=headers) as response:
                answers[token] = await response.json()
                print(f"{token}: {answers[token]}")
    await runner.cleanup()
    return answers


if __name__ == "__main__":
    asyncio.run(serve_and_ask(chosen.model(__doc__)))
