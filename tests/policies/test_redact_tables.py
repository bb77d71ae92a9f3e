"""Written tables and elements are masked by the names of their columns; ordinary ones stay as they are."""

from __future__ import annotations

import random

import pytest

from tests.timing import cpu_seconds
from toolhand.policies.redaction import redacted, redacted_text

NAMES = frozenset({"phone", "手机号"})


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('name,phone,city\nAnn,010-66,Rome\nBob,"12,3",Oslo\n\nphone is down, sorry',
         'name,phone,city\nAnn,[masked],Rome\nBob,"[masked]",Oslo\n\nphone is down, sorry'),
        ("Found:\n| 姓名 | 手机号 |\n|---|:--|\n| 王 | 0571-88 |\n\n完", "Found:\n| 姓名 | 手机号 |\n|---|:--|\n| 王 | [masked] |\n\n完"),
        ("id\tPhone\n1\t2234\n", "id\tPhone\n1\t[masked]\n"),
        ("+----+-------+\n| id | phone |\n+----+-------+\n| 1  | 223   |\n+----+-------+\n",
         "+----+-------+\n| id | phone |\n+----+-------+\n| 1  | [masked]   |\n+----+-------+\n"),
        ('note;phone\n"a\nb";123\n', 'note;phone\n"a\nb";[masked]\n'),
        ("name,phone\nSmith, Ann,123\n", "name,phone\nSmith, [masked],[masked]\n"),
        ("<r><phone type='x'>0571-8</phone><city>Rome</city></r>", "<r><phone type='x'>[masked]</phone><city>Rome</city></r>"),
        ("<c:Phone><part>05</part><part>71</part></c:Phone> ok", "<c:Phone>[masked]</c:Phone> ok"),
        ("<phone/><city>Rome</city>", "<phone/><city>Rome</city>"),
    ],
)  # fmt: skip
def test_declared_columns(text, seen):
    assert redacted_text(text, sensitive=NAMES) == seen
    assert redacted_text(seen, sensitive=NAMES) == seen


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("user,password\nbob,hunter2\n", "user,password\nbob,[masked:secret]\n"),
        ("| id | api_key |\n|--|--|\n| 1 | abcdef123 |", "| id | api_key |\n|--|--|\n| 1 | [masked:secret] |"),
        ("<password>hunter2</password>", "<password>[masked:secret]</password>"),
        ("model,total_tokens\nm,1200\n", "model,total_tokens\nm,1200\n"),
        ("Forgot your password, or locked out?\nCall us, we help", "Forgot your password, or locked out?\nCall us, we help"),
        ("密钥管理, 说明\n如何保存, 见下文", "密钥管理, 说明\n如何保存, 见下文"),
    ],
)  # fmt: skip
def test_columns_of_secrets(text, seen):
    assert redacted_text(text) == seen


def ordinary_table(choose: random.Random) -> str:
    heads = [
        "id",
        "name",
        "city",
        "count",
        "price",
        "date",
        "token_count",
        "sort_key",
        "status",
        "订单号",
        "数量",
        "备注",
        "version",
    ]
    columns = choose.sample(heads, choose.randint(2, 6))
    cell = {
        "name": lambda: choose.choice(["Ann", "Bob", "Zhu Li"]), "city": lambda: choose.choice(["Rome", "上海"]),
        "date": lambda: f"2025-{choose.randint(1, 12):02d}-03", "price": lambda: f"{choose.random() * 900:.2f}",
        "订单号": lambda: f"DD{choose.randint(10**9, 10**10)}", "备注": lambda: choose.choice(["加急", "无", "ok, later"]),
        "sort_key": lambda: choose.choice(["price", "name"]), "version": lambda: "1.20.3",
    }  # fmt: skip
    rows = [[cell.get(name, lambda: str(choose.randint(0, 999999)))() for name in columns] for _ in range(6)]
    if choose.random() < 0.5:
        rule = "|" + "---|" * len(columns)
        return "\n".join([f"| {' | '.join(columns)} |", rule, *(f"| {' | '.join(row)} |" for row in rows)])
    quoted = [[f'"{value}"' if "," in value else value for value in row] for row in rows]
    return "\n".join(",".join(row) for row in (columns, *quoted))


def test_ordinary_tables_stay_as_they_are():
    choose = random.Random(5)
    tables = [ordinary_table(choose) for _ in range(1000)]
    wrong = [table for table in tables if redacted_text(table, sensitive=NAMES) != table]
    assert len(wrong) <= 5, wrong[:3]


@pytest.mark.parametrize(
    "text",
    ['phone,"' * 60_000, "<phone>" * 60_000 + "</", "phone|" * 60_000 + "\n", "phone\n" * 60_000, "phone,x\n" + '"' * 300_000],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_time_grows_with_length(text):
    def seconds(length: int) -> float:
        return cpu_seconds(lambda: redacted_text(text[:length], sensitive=NAMES))

    # Eight times the length may take more than eight times as long; quadratic would be 64 times.
    assert seconds(len(text)) < max(0.5, 30 * seconds(len(text) // 8))


@pytest.mark.parametrize(
    "table",
    [
        [["name", "phone", "password"], ["Bo", "ext-9981", "hunter2Qx"]],
        {"data": [["name", "phone", "password"], ["Bo", "ext-9981", "hunter2Qx"]]},
        {"header": ["name", "phone", "password"], "rows": [["Bo", "ext-9981", "hunter2Qx"]]},
        {"columns": ["name", "phone", "password"], "index": [0], "data": [["Bo", "ext-9981", "hunter2Qx"]]},
        {"fields": [{"name": "phone"}, {"name": "password"}], "values": [["ext-9981", "hunter2Qx"]]},
    ],
    ids=["first row", "in a field", "header", "split", "fields"],
)
def test_tables_of_lists(table):
    masked = str(redacted(table, sensitive={"phone"}))
    assert "9981" not in masked
    assert "hunter2" not in masked
    assert "Bo" in masked or "fields" in masked


@pytest.mark.parametrize(
    "rows", [[["name", "city"], ["Bo", "Rome"]], [["phone"]], [[1, 2], [3, 4]], [["phone"], "x"]]
)
def test_lists_without_such_columns_stay(rows):
    assert redacted(rows, sensitive={"phone"}) is rows
