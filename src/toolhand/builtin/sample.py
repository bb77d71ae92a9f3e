"""A small shop with a warehouse as a SQLite file, to try the SQL tools on: the same rows every time, in Chinese and English."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

APPLICATION_ID: Final = 0x7468_7368
"""Marks the file as a sample, so that making it again replaces a sample and never another database."""

CUSTOMER_COUNT: Final = 60
ORDER_COUNT: Final = 400
_FIRST_DAY: Final = dt.date(2026, 1, 1)

_SCHEMA: Final = """
CREATE TABLE products (id INTEGER PRIMARY KEY,
    name TEXT NOT NULL, name_en TEXT NOT NULL, category TEXT NOT NULL, price REAL NOT NULL);
CREATE TABLE stock (product_id INTEGER NOT NULL REFERENCES products(id), warehouse TEXT NOT NULL, quantity INTEGER NOT NULL,
    PRIMARY KEY (product_id, warehouse));
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, city_zh TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(id),
    product_id INTEGER NOT NULL REFERENCES products(id), quantity INTEGER NOT NULL,
    order_date TEXT NOT NULL, status TEXT NOT NULL);
"""
_PRODUCTS: Final = (
    ("扳手", "wrench", "tools", 35.0),
    ("锤子", "hammer", "tools", 28.5),
    ("螺丝刀", "screwdriver", "tools", 12.9),
    ("钳子", "pliers", "tools", 24.0),
    ("电钻", "power drill", "tools", 299.0),
    ("卷尺", "tape measure", "tools", 9.8),
    ("水平仪", "spirit level", "tools", 45.0),
    ("锯子", "saw", "tools", 32.0),
    ("螺丝", "screws", "parts", 6.5),
    ("螺母", "nuts", "parts", 5.2),
    ("轴承", "bearing", "parts", 18.0),
    ("弹簧", "spring", "parts", 3.6),
    ("灯泡", "light bulb", "electrical", 8.9),
    ("插座", "socket", "electrical", 15.0),
    ("电线", "cable", "electrical", 56.0),
    ("开关", "switch", "electrical", 11.5),
    ("手套", "gloves", "safety", 7.9),
    ("护目镜", "safety goggles", "safety", 22.0),
    ("安全帽", "hard hat", "safety", 38.0),
    ("口罩", "mask", "safety", 1.5),
    ("油漆", "paint", "supplies", 88.0),
    ("刷子", "brush", "supplies", 6.0),
    ("胶带", "tape", "supplies", 4.5),
    ("砂纸", "sandpaper", "supplies", 2.2),
)
_WAREHOUSES: Final = ("main", "east", "south")
_CITIES: Final = (
    ("Shanghai", "上海"),
    ("Beijing", "北京"),
    ("Hangzhou", "杭州"),
    ("Shenzhen", "深圳"),
    ("Chengdu", "成都"),
    ("London", "伦敦"),
    ("Berlin", "柏林"),
)
_CHINESE_SURNAMES: Final = "王李张刘陈杨赵黄周吴"
_CHINESE_NAMES: Final = ("伟", "芳", "娜", "敏", "静", "磊", "洋", "艳", "勇", "杰", "晓明", "建国")
_ENGLISH_NAMES: Final = ("Alice", "Ben", "Clara", "David", "Emma", "Frank", "Grace", "Henry")
_ENGLISH_SURNAMES: Final = ("Smith", "Brown", "Miller", "Taylor", "Wilson", "Fischer", "Weber")
_STATUSES: Final = ("paid", "shipped", "paid", "shipped", "paid", "cancelled", "shipped", "open")


def make_sample(path: str | os.PathLike[str]) -> Path:
    """Makes the sample database: 24 products, 72 stock rows, 60 customers, 400 orders of the year 2026.

    The file appears whole or not at all.

    Args:
        path: where to; a sample that is there already is replaced.

    Returns:
        The path.

    Raises:
        SettingsError: when something else is at that path, or it cannot be written.
    """
    target = Path(path)
    if target.exists() and not _is_sample(target):
        raise SettingsError(
            say(
                f"{target} exists and is not a sample database: give another path",
                f"{target} 已存在，且不是示例数据库：请换一个路径",
            )
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".toolhand-") as folder:
            made = Path(folder) / "sample.db"
            with closing(sqlite3.connect(made)) as connection:
                _fill(connection)
            made.replace(target)
    except (OSError, sqlite3.Error) as error:
        raise SettingsError(
            say(
                f"the sample database cannot be written to {target}: {error}",
                f"无法把示例数据库写到 {target}：{error}",
            )
        ) from None
    return target


def _is_sample(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        header = file.read(100)
    # The application id stands at byte 68: https://www.sqlite.org/fileformat2.html#the_database_header
    return header.startswith(b"SQLite format 3\0") and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _fill(connection: sqlite3.Connection) -> None:
    connection.executescript(_SCHEMA)
    connection.executemany(
        "INSERT INTO products VALUES (?, ?, ?, ?, ?)",
        ((i, *product) for i, product in enumerate(_PRODUCTS, start=1)),
    )
    connection.executemany(
        "INSERT INTO stock VALUES (?, ?, ?)",
        (
            (product, warehouse, _spread(product * 31 + place, 180))
            for product in range(1, len(_PRODUCTS) + 1)
            for place, warehouse in enumerate(_WAREHOUSES)
        ),
    )
    connection.executemany(
        "INSERT INTO customers VALUES (?, ?, ?, ?)", (_customer(i) for i in range(1, CUSTOMER_COUNT + 1))
    )
    connection.executemany(
        "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", (_order(i) for i in range(1, ORDER_COUNT + 1))
    )
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.commit()


def _spread(seed: int, below: int) -> int:
    """A number that looks random and is the same everywhere, also in later versions of Python."""
    return seed * 2_654_435_761 % 2**32 * below >> 32


def _customer(i: int) -> tuple[int, str, str, str]:
    city, city_zh = _CITIES[_spread(i * 7 + 1, len(_CITIES))]
    if city in ("London", "Berlin"):
        name = f"{_ENGLISH_NAMES[_spread(i * 13, len(_ENGLISH_NAMES))]} {_ENGLISH_SURNAMES[i % len(_ENGLISH_SURNAMES)]}"
    else:
        name = (
            _CHINESE_SURNAMES[i % len(_CHINESE_SURNAMES)]
            + _CHINESE_NAMES[_spread(i * 17, len(_CHINESE_NAMES))]
        )
    return i, name, city, city_zh


def _order(i: int) -> tuple[int, int, int, int, str, str]:
    day = _FIRST_DAY + dt.timedelta(days=(i - 1) * 330 // ORDER_COUNT)
    return (
        i,
        1 + _spread(i * 3 + 5, CUSTOMER_COUNT),
        1 + _spread(i * 11 + 2, len(_PRODUCTS)),
        1 + _spread(i * 19 + 7, 12),
        day.isoformat(),
        _STATUSES[_spread(i * 23 + 3, len(_STATUSES))],
    )
