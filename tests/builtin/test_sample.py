from __future__ import annotations

import runpy
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from toolhand.builtin.sample import make_sample
from toolhand.core.errors import SettingsError


def rows(path, sql):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_the_rows_are_the_same_every_time(tmp_path):
    first, second = make_sample(tmp_path / "a.db"), make_sample(tmp_path / "deep" / "b.db")
    for table in ("products", "stock", "customers", "orders"):
        assert rows(first, f"SELECT * FROM {table}") == rows(second, f"SELECT * FROM {table}")
    # Figures that docs and demonstrations state: they must not drift.
    assert rows(first, "SELECT sum(quantity) FROM stock WHERE product_id = 1") == [(238,)]
    assert rows(first, "SELECT count(*) FROM customers WHERE city = 'Hangzhou'") == [(7,)]
    assert rows(first, "SELECT count(*), min(order_date), max(order_date) FROM orders") == [
        (400, "2026-01-01", "2026-11-26")
    ]


def test_every_reference_has_its_row(tmp_path):
    path = make_sample(tmp_path / "a.db")
    assert rows(path, "PRAGMA foreign_key_check") == []
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_sample_is_replaced_and_nothing_else(tmp_path):
    path = make_sample(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM orders")
        connection.commit()
    make_sample(path)
    assert rows(path, "SELECT count(*) FROM orders") == [(400,)]
    own = tmp_path / "own.db"
    with closing(sqlite3.connect(own)) as connection:
        connection.execute("CREATE TABLE mine (a)")
    (tmp_path / "text").write_text("x")
    for other in (own, tmp_path / "text", tmp_path):
        with pytest.raises(SettingsError, match="not a sample"):
            make_sample(other)
    assert rows(own, "SELECT count(*) FROM mine") == [(0,)]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.db", "own.db", "text"]


def test_where_it_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="cannot be written"):
        make_sample(tmp_path / "file" / "a.db")


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    script = Path(__file__).parents[2] / "examples" / "sample_shop.py"
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path / "shop.db")])
    runpy.run_path(str(script))
    assert "orders: 400 rows" in capsys.readouterr().out
