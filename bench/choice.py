"""How often the right tools are among the ten that are found of a thousand, and how long that takes.

    pip download --no-deps bfcl-eval && export TOOLHAND_BFCL=$(ls bfcl_eval-*.whl)
    python -m bench.choice                    words alone, beside a plain BM25; English (BFCL v4) and Chinese
    python -m bench.choice --vectors          and with vectors: `pip install wordllama` first (17 MB, its vectors are inside)
    python -m bench.choice --embeddings URL   and with those of a server, such as http://host/v1#model

Each pool is a thousand tools drawn at random of the ~1,850 names in the data, one version of each name, as a toolset can hold a
name once; and, harder than what can happen, a thousand of the 2,700 versions. A question counts as found when all tools that its
answer calls are among the first ten. Weights were fitted on the tools with an even hash; the figures are of the odd ones.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import random
import re
import statistics
import time
from collections import Counter, defaultdict
from pathlib import Path

from aiohttp import web

from toolhand.choosing.index import ToolIndex
from toolhand.choosing.vectors import ToolVectors, together
from toolhand.core.tools import Rules, Tool
from toolhand.evals.bfcl import CATEGORIES, _Data
from toolhand.models.embeddings import Embeddings

CHINESE = Path(__file__).parents[1] / "tests" / "cases" / "choice" / "chinese.json"
OTHERS = ("simple_java", "simple_javascript")
SEEDS = range(101, 107)
POOL = 1000


class PlainBM25:
    """BM25 as it is usually written: lower-case words of name and description (k1 = 1.5, b = 0.75)."""

    def __init__(self, tools):
        documents = [Counter(self.words(f"{tool.name} {tool.description}")) for tool in tools]
        lengths = [sum(document.values()) for document in documents]
        mean = sum(lengths) / len(lengths)
        found = Counter(word for document in documents for word in document)
        self.names, self.gains = [tool.name for tool in tools], defaultdict(list)
        for place, document in enumerate(documents):
            for word, count in document.items():
                rarity = math.log(1 + (len(tools) - found[word] + 0.5) / (found[word] + 0.5))
                gain = rarity * count * 2.5 / (count + 1.5 * (0.25 + 0.75 * lengths[place] / mean))
                self.gains[word].append((place, gain))

    def words(self, text):
        return re.findall(r"\w+", text.lower())

    def best(self, question):
        scores = defaultdict(float)
        for word in self.words(question):
            for place, gain in self.gains.get(word, ()):
                scores[place] += gain
        return [self.names[place] for place in sorted(scores, key=lambda place: -scores[place])[:10]]


class Berkeley:
    """The functions of the data, by name and version, and the questions with the functions that they need."""

    def __init__(self):
        self.versions, self.questions = defaultdict(dict), []
        data = _Data(None)
        for category in (*CATEGORIES, *OTHERS):
            answers = {
                row["id"]: row["ground_truth"]
                for row in data.rows(f"possible_answer/BFCL_v4_{category}.json")
            }
            for row in data.rows(f"BFCL_v4_{category}.json"):
                functions = row["function"] if isinstance(row["function"], list) else [row["function"]]
                keys = {}
                for function in functions:
                    told = function.get("description", "")
                    keys[function["name"]] = (function["name"], told)
                    self.versions[function["name"]].setdefault(told, function)
                if row["id"] in answers and category in CATEGORIES:
                    text = "\n".join(said["content"] for said in row["question"][0] if said["role"] == "user")
                    needed = {next(iter(call)) for call in answers[row["id"]]}
                    self.questions.append((text, frozenset(keys[name] for name in needed if name in keys)))

    def pool(self, seed, *, by_name):
        """Keys of a thousand functions, and the questions that can be answered with them."""
        chance = random.Random(seed)
        keys = [
            (name, told)
            for name in sorted(self.versions)
            for told in (
                [chance.choice(sorted(self.versions[name]))] if by_name else sorted(self.versions[name])
            )
        ]
        chance.shuffle(keys)
        keys = sorted(keys[:POOL])
        there = set(keys)
        asked = [
            (text, needed)
            for text, needed in self.questions
            if needed and needed <= there and is_judged(min(needed)[0])
        ]
        return keys, asked

    def tools(self, keys):
        """The functions as tools; where versions share a name, each gets a number that is not looked at."""
        return [
            Tool(name=name, description=told, parameters=self.versions[name][told].get("parameters") or {})
            for name, told in keys
        ]


def is_judged(name):
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 == 1


class Vectors:
    """Nearness of many questions, asked of a server at once."""

    def __init__(self, tools, embeddings):
        self.vectors = ToolVectors(tools, embeddings)

    async def best(self, index, question):
        scores = together(index.scores(question), await self.vectors.nearness(question))
        return sorted(scores, key=lambda place: -scores[place])[:10]


async def english(embeddings):
    data = Berkeley()
    for by_name, title in ((True, "one version of a name"), (False, "versions of one name side by side")):
        found, asked, seconds = Counter(), 0, []
        for seed in SEEDS if by_name else list(SEEDS)[:3]:
            keys, questions = data.pool(seed, by_name=by_name)
            tools = data.tools(keys)
            index, plain = ToolIndex(tools), PlainBM25(tools)
            place = {key: number for number, key in enumerate(keys)}
            plain.names = index.names = tuple(range(len(keys)))  # versions of one name are told apart
            vectors = Vectors(tools, embeddings) if embeddings else None
            for text, needed in questions:
                wanted = {place[key] for key in needed}
                asked += 1
                begun = time.thread_time()
                hits = index.search(text)
                seconds.append(time.thread_time() - begun)
                found["words"] += wanted <= {hit.name for hit in hits}
                found["plain BM25"] += wanted <= set(plain.best(text))
                if vectors is not None:
                    found["words and vectors"] += wanted <= set(await vectors.best(index, text))
        print(f"English, {POOL} tools, {title}: {asked} questions")
        for way, count in sorted(found.items(), key=lambda item: item[1]):
            print(f"  {way:20} {count / asked:6.1%}")
        if by_name:
            told(f"a question among {POOL}", seconds)
    large(data)


def large(data):
    """Ten thousand tools: every version, four times over under other names."""
    keys = [(name, told) for name in sorted(data.versions) for told in sorted(data.versions[name])]
    tools = [
        Tool(name=f"{tool.name}_{copy}", description=tool.description, parameters=tool.parameters)
        for copy in range(4)
        for tool in data.tools(keys)
    ][:10_000]
    begun = time.thread_time()
    index = ToolIndex(tools)
    print(f"  index of {len(index):,} made in {time.thread_time() - begun:.1f} s")
    seconds = []
    for text, _ in random.Random(1).sample(data.questions, 300):
        begun = time.thread_time()
        index.search(text)
        seconds.append(time.thread_time() - begun)
    told(f"a question among {len(index):,}", seconds)


def told(what, seconds):
    ordered = sorted(seconds)
    high = ordered[int(0.95 * len(ordered))]
    mean = statistics.mean(ordered)
    print(
        f"  {what}: {mean * 1e3:.2f} ms, 95 % under {high * 1e3:.2f} ms, at most {ordered[-1] * 1e3:.1f} ms"
    )


def chinese():
    cases = json.loads(CHINESE.read_text("utf-8"))
    tools = [
        Tool(
            name=row["name"],
            description=row["description"],
            parameters=row["parameters"],
            rules=Rules(category=row["category"]),
        )
        for row in cases["tools"]
    ]
    data = Berkeley()
    keys, _ = data.pool(7, by_name=True)
    own = {tool.name for tool in tools}
    others = [tool for tool in data.tools(keys) if tool.name not in own][: POOL - len(tools)]
    index = ToolIndex([*tools, *others])
    print(f"Chinese, {len(tools)} tools in Chinese among {len(index)}: {len(cases['questions'])} questions")
    for k in (1, 3, 10):
        found = sum(
            row["tool"] in {hit.name for hit in index.search(row["question"], k)}
            for row in cases["questions"]
        )
        print(f"  among the first {k:2}       {found}")


async def own_server():
    """A server for wordllama's vectors, of words averaged: small, old-fashioned, and there without a download of weights."""
    import numpy as np  # noqa: PLC0415 - only with --vectors
    import wordllama  # noqa: PLC0415
    from safetensors.numpy import load_file  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    root = Path(wordllama.__file__).parent
    rows = next(iter(load_file(next(root.glob("weights/*.safetensors"))).values())).astype(np.float32)
    tokens = Tokenizer.from_file(str(next(root.glob("tokenizers/*.json"))))
    tokens.no_padding()
    tokens.no_truncation()

    async def answered(request):
        body = await request.json()
        ids = [tokens.encode(text, add_special_tokens=False).ids for text in body["input"]]
        made = [rows[one].mean(0) if one else rows[0] for one in ids]
        return web.json_response(
            {"data": [{"index": n, "embedding": vector.tolist()} for n, vector in enumerate(made)]}
        )

    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/embeddings", answered)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/v1#wordllama"


async def main():
    words = argparse.ArgumentParser()
    words.add_argument("--vectors", action="store_true")
    words.add_argument("--embeddings", default="")
    options = words.parse_args()
    runner, url = await own_server() if options.vectors else (None, options.embeddings)
    embeddings = Embeddings(url) if url else None
    await english(embeddings)
    chinese()
    if embeddings is not None:
        await embeddings.close()
    if runner is not None:
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
