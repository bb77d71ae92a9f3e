"""The openai package, unchanged, in front of any model: a program that already uses it needs another address and nothing else.

It starts a gateway on a free port and runs the usual loop of an OpenAI client against it: ask, run the calls, send
the results. In earnest the gateway is `toolhand serve --model local`, in a process of its own.

    python examples/gateway_client.py [--model NAME]      (needs the extra "server" and `pip install openai`)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue
from typing import Any

import chosen
from openai import OpenAI

from toolhand.gateway import GatewaySettings, Upstream
from toolhand.gateway.app import build_app
from toolhand.gateway.serving import server_of

QUESTION = "How warm is it in Paris?"
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "get_temperature",
        "description": "How warm it is in a city, in degrees Celsius.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@contextmanager
def gateway(model: str) -> Iterator[str]:
    """A gateway in a thread, while the block runs; gives its address."""
    settings = GatewaySettings(models={"any": Upstream(model=model)}, port=0, page=False)
    ports: Queue[int] = Queue()
    server = server_of(build_app(settings), settings, ports.put)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{ports.get(timeout=60)}/v1"
    finally:
        server.should_exit = True
        thread.join()


def main(model: str) -> str:
    """Asks the question, and gives the answer."""
    with gateway(model) as url, OpenAI(base_url=url, api_key="any") as client:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        for _ in range(5):
            said = (
                client.chat.completions.create(model="any", messages=messages, tools=[TOOL])
                .choices[0]
                .message
            )
            if not said.tool_calls:
                break
            messages.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls:
                city = json.loads(call.function.arguments)["city"]  # always JSON that fits the schema
                print(f"{call.function.name}({city!r})")
                messages.append({"role": "tool", "tool_call_id": call.id, "content": f"21 degrees in {city}"})
    print(f"> {QUESTION}\n{said.content}")
    return said.content or ""


if __name__ == "__main__":
    main(chosen.model(__doc__))
