"""The code on the page about many machines, run as it stands there: on a real server, with a worker and a script as its model."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.test_agent import asks
from toolhand.durable import Worker
from toolhand.testing import ScriptedModel

PAGES = sorted((Path(__file__).parents[2] / "docs" / "how-to").glob("many-machines*.md"))
PLACE = "postgresql://user:password@host/database"


def reply(request):
    last = request.messages[-1]
    if last.results:
        return f"{last.results[0].data}."
    return asks(("c", "refund", '{"order": "A7", "amount": 30}'))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_on_the_page_runs(page, postgres, capsys):
    url = postgres.database()
    blocks = re.findall(r"^```py\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 4
    names = {"scripted": ScriptedModel(reply)}

    def run(block: str) -> None:
        code = block.replace('"local"', "scripted").replace(PLACE, url)
        exec(compile(code, str(page), "exec", dont_inherit=True), names)

    run(blocks[0])

    async def working() -> None:
        worker = Worker(names["agent"])
        task = asyncio.ensure_future(worker.run())
        await asyncio.to_thread(lambda: [run(block) for block in blocks[1:]])
        worker.stop()
        await task
        await names["agent"].store.close()

    asyncio.run(working())
    said = capsys.readouterr().out
    assert "approval ['refund']" in said
    assert "30" in said.splitlines()[-1]
