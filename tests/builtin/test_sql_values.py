"""A query that finds nothing because a column says the same in other words is told which words those are."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest

from tests.builtin.conftest import asking, refused
from toolhand.builtin._sql_values import _compared
from toolhand.builtin.sql import sql_tools
from toolhand.core.errors import ErrorCode


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("values") / "school.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE teachers (id INTEGER PRIMARY KEY, name TEXT, instrument TEXT, 城市 TEXT);
            INSERT INTO teachers (name, instrument, 城市) VALUES
              ('Lin', 'piano', '上海'), ('Zhou', 'violin', '上海'), ('Ada', 'guitar', '维也纳'), ('Tom', 'guitar', NULL);
            CREATE TABLE lessons (id INTEGER PRIMARY KEY, teacher_id INTEGER, status TEXT, minutes INTEGER);
            INSERT INTO lessons (teacher_id, status, minutes) VALUES (1, 'held', 60), (2, 'held', 45), (3, 'cancelled', 30);
        """)
        connection.executemany(
            "INSERT INTO lessons (teacher_id, status) VALUES (?, 'held')", [(9,) for _ in range(30)]
        )
        connection.commit()
    return path


@pytest.fixture(scope="module")
def query(path):
    return asking(sql_tools(path)[1])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM teachers WHERE instrument = '吉他'",
        "SELECT name FROM teachers WHERE instrument='吉他' LIMIT 1",
        "select max(name) from Teachers t where t.instrument = '吉他'",
        "SELECT sum(minutes) FROM lessons JOIN teachers ON teachers.id = teacher_id WHERE \"instrument\" = '吉他'",
    ],
)
def test_the_values_that_there_are_are_named(query, sql):
    error = refused(query(sql=sql))
    assert error.code == ErrorCode.INVALID_ARGUMENT
    assert error.retryable
    assert "no row of teachers has instrument = '吉他'" in error.message.lower()
    for value in ("guitar", "piano", "violin"):
        assert value in error.message


def test_the_case_of_letters_counts_as_the_database_counts_it(query):
    assert "guitar" in refused(query(sql="SELECT count(*) FROM teachers WHERE instrument = 'Guitar'")).message


def test_names_in_chinese_are_looked_up_too(query):
    error = refused(query(sql="SELECT count(*) FROM teachers WHERE 城市 = 'Shanghai'"))
    assert "上海" in error.message
    assert "维也纳" in error.message


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) FROM teachers WHERE instrument = 'guitar' AND name = 'Lin'", [[0]]),  # it is there
        ("SELECT count(*) FROM teachers WHERE name = 'Bo'", [[0]]),  # many names, each once
        (
            "SELECT count(*) FROM teachers WHERE instrument LIKE '吉他'",
            [[0]],
        ),  # it is looked for, not said to be
        ("SELECT count(*) FROM lessons WHERE minutes = '7'", [[0]]),  # no words
        ("SELECT 1 FROM teachers WHERE instrument = '吉他' UNION SELECT 2", [[2]]),
        ("SELECT '吉他' = instrument FROM teachers LIMIT 1", [[0]]),
    ],
)
def test_what_was_asked_in_their_words_gets_its_answer(query, sql, rows):
    assert query(sql=sql)["rows"] == rows


def test_a_table_that_is_not_certain_is_left_alone():
    overview = "Tables: a(id, status); b(id, status); c(id, kind)"
    assert list(_compared(overview, "SELECT * FROM a, b WHERE status = 'x'")) == []
    assert list(_compared(overview, "SELECT * FROM a, c WHERE status = 'x' AND kind = 'it''s'")) == [
        ("a", "status", "x"),
        ("c", "kind", "it's"),
    ]
    assert list(_compared("There are 90 tables: call list_tables first.", "SELECT status = 'x' FROM a")) == []


def test_hostile_statements_cost_no_time():
    overview = "Tables: a(id, status)"
    start = time.process_time()
    for sql in ("a='" * 6_000, "status = '" + "''" * 9_000, "a" * 20_000, "a =" * 6_000, "'" * 20_000):
        list(_compared(overview, sql))
    assert time.process_time() - start < 1
