"""How well and how quickly passages are found by their words: the index's own against SQLite's tokenizers.

The passages are this project's documents, in English and Chinese, among as many others as there are in the installed packages. A
question is made of pieces of one passage: three pieces of two to four characters, or four words, some without their "s", with a
question's words around them. So it favours what does not need words to begin where a dictionary says. Right is that passage.
"""

from __future__ import annotations

import random
import re
import sqlite3
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from toolhand.builtin._document_words import asked, indexed

ROOT = Path(__file__).parents[1]
CHINESE = re.compile(r"[\u3400-\u9fff]")
QUESTIONS = 150


def passages() -> list[str]:
    texts = [
        path.read_text(encoding="utf-8")
        for path in sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("README*.md")])
    ]
    parts = [part for text in texts for part in re.split(r"\n(?=#)|\n\n\n", text)]
    return [
        part[i : i + 600] for part in parts for i in range(0, len(part), 600) if len(part[i : i + 600]) > 60
    ]


def others(chinese: list[str]) -> list[str]:
    found: list[str] = []
    for path in sorted(Path(sysconfig.get_path("purelib")).rglob("*.py"))[:2_000]:
        text = path.read_text(encoding="utf-8", errors="ignore")
        found += [doc[:700] for doc in re.findall(r'"""(.{200,2000}?)"""', text, re.DOTALL)[:6]]
    runs = [run for text in chinese for run in re.findall(r"[\u3400-\u9fff]{2,}", text)]
    return found[:4_500] + ["，".join(random.sample(runs, 40)) for _ in range(4_000)]


def question(text: str) -> str:
    if CHINESE.search(text):
        runs = re.findall(r"[\u3400-\u9fff]{4,}", text)
        pieces = []
        for run in random.sample(runs, min(3, len(runs))):
            size = random.choice([2, 3, 4])
            start = random.randrange(len(run) - size + 1)
            pieces.append(run[start : start + size])
        return f"请问{'的'.join(pieces)}是怎么样的"
    words = re.findall(r"[A-Za-z]{4,}", text)
    chosen = random.sample(words, min(4, len(words)))
    return f"how does {' '.join(word.removesuffix('s') if random.random() < 0.5 else word for word in chosen)} work"


def trigrams(text: str) -> list[str]:
    runs = re.findall(r"[\u3400-\u9fff]+|[A-Za-z0-9]+", text)
    return [run[i : i + 3] for run in runs for i in range(len(run) - 2)]


Ask = Callable[[str], list[int]]
STEMS = "porter unicode61 remove_diacritics 2"
KINDS: dict[str, tuple[str, Callable[[str], str], Callable[[str], list[str]]]] = {
    "own words": (STEMS, indexed, asked),
    "trigram": ("trigram", str, trigrams),
    "unicode61": (STEMS, str, lambda text: re.findall(r"\w+", text)),
}


def made(texts: list[str], kind: str) -> tuple[Ask, float]:
    tokenize, index, ask = KINDS[kind]
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE w USING fts5(body, content='', tokenize='{tokenize}')")
    started = time.perf_counter()
    connection.executemany(
        "INSERT INTO w (rowid, body) VALUES (?, ?)", ((i, index(t)) for i, t in enumerate(texts))
    )
    seconds = time.perf_counter() - started

    def found(text: str) -> list[int]:
        query = " OR ".join(f'"{word}"' for word in dict.fromkeys(ask(text)))
        if not query:
            return []
        rows = connection.execute("SELECT rowid FROM w WHERE w MATCH ? ORDER BY rank LIMIT 5", (query,))
        return [row[0] for row in rows]

    return found, seconds


def main() -> int:
    random.seed(7)
    known = passages()
    chinese = [i for i, text in enumerate(known) if len(CHINESE.findall(text)) > 100]
    english = [i for i, text in enumerate(known) if not CHINESE.search(text) and len(text) > 200]
    texts = known + others([known[i] for i in chinese])
    asks = {
        name: [(i, question(known[i])) for i in random.sample(there, min(QUESTIONS, len(there)))]
        for name, there in (("zh", chinese), ("en", english))
    }
    print(f"{len(texts):,} passages, {len(asks['zh'])} questions in Chinese, {len(asks['en'])} in English")
    best = 0.0
    for kind in KINDS:
        ask, seconds = made(texts, kind)
        times, told = [], []
        for name, rows in asks.items():
            first = among = 0
            for right, text in rows:
                started = time.perf_counter()
                found = ask(text)
                times.append((time.perf_counter() - started) * 1_000)
                first += found[:1] == [right]
                among += right in found
            told.append(f"{name} first {first / len(rows):.0%}, of five {among / len(rows):.0%}")
            best = max(best, among / len(rows)) if kind == "own words" else best
        print(
            f"{kind:10} {'; '.join(told)}; built in {seconds:.1f} s, {statistics.median(times):.1f} ms a question"
        )
    return 0 if best > 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
