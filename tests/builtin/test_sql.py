"""The SQL tools against real files: what must be allowed, what must be refused, and what would take too much."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.builtin.conftest import asking, refused
from toolhand import Toolset
from toolhand.builtin._sqlite_reader import QueryLimits, SqliteReader
from toolhand.builtin.sample import make_sample
from toolhand.builtin.sql import sql_tools
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError
from toolhand.core.language import language_of

BIG = 9_000_000


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("sql") / "数据 ?#%.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE 日志 (编号 INTEGER PRIMARY KEY, 文 TEXT);
            INSERT INTO 日志 VALUES (1, 'DELETE; 请求'), (2, '好');
            CREATE TABLE "odd ""name" ("a b" TEXT, blob_column BLOB, number REAL);
            CREATE TABLE items (id INTEGER PRIMARY KEY, kind TEXT, log_id INTEGER REFERENCES 日志(编号));
            CREATE VIEW good_logs AS SELECT json_extract('{"a": 1}', '$.a') AS one, 文 FROM 日志 WHERE 编号 = 2;
            CREATE VIEW broken AS SELECT * FROM missing_table;
            CREATE VIRTUAL TABLE notes USING fts5(body);
            INSERT INTO notes VALUES ('the quick brown fox');
        """)
        connection.execute(f"CREATE TABLE wide ({', '.join(f'c{i}' for i in range(300))})")
        connection.execute("INSERT INTO wide (c0, c299) VALUES (1, 2)")
        connection.execute('INSERT INTO "odd ""name" VALUES (?, ?, ?)', ("x" * 5_000, b"\x89PNG", 1e999))
        connection.execute("INSERT INTO 日志 VALUES (3, CAST(? AS TEXT))", ("国标".encode("gbk"),))
        connection.executemany(
            "INSERT INTO items VALUES (?, ?, 1)", ((i, f"kind {i % 3}") for i in range(1_000))
        )
        connection.commit()
    return path


@pytest.fixture(scope="module")
def ask(path):
    return asking(sql_tools(path, limits=QueryLimits(seconds=1.5))[1])


@pytest.fixture(autouse=True)
def _file_stays_as_it_is(path):
    before = hashlib.sha256(path.read_bytes()).digest(), sorted(path.parent.iterdir())
    yield
    assert (hashlib.sha256(path.read_bytes()).digest(), sorted(path.parent.iterdir())) == before


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 编号 FROM 日志 WHERE 文 LIKE '%DELETE;%'", [[1]]),
        ("/* 月报 */ SELECT count(*) FROM 日志", [[3]]),
        ("-- 一\nSELECT 1", [[1]]),
        ("SELECT 1;", [[1]]),
        (" SELECT 1 ; ;\n", [[1]]),
        ("SELECT 1; -- done;", [[1]]),
        ("SELECT ';' AS \"semi;colon\"", [[";"]]),
        ("SELECT 'a;'", [["a;"]]),
        ("SELECT 1；", [[1]]),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5) SELECT sum(i) FROM n",
            [[15]],
        ),
        ("WITH a AS (SELECT ')' AS p) SELECT * FROM a", [[")"]]),
        ("VALUES (1), (2)", [[1], [2]]),
        ("SELECT value FROM json_each('[1, 2]')", [[1], [2]]),
        ("SELECT name FROM pragma_table_info('items') LIMIT 1", [["id"]]),
        ("SELECT one, 文 FROM good_logs", [[1, "好"]]),
        ("SELECT body FROM notes WHERE notes MATCH 'quick'", [["the quick brown fox"]]),
        ("SELECT c299 FROM wide", [[2]]),
        ("SELECT kind, row_number() OVER (ORDER BY id) FROM items LIMIT 1", [["kind 0", 1]]),
        ("SELECT group_concat(DISTINCT kind) FROM items WHERE id < 2", [["kind 0,kind 1"]]),
        ("SELECT printf('%.2f', 1.005 * 100), round(2.5), upper('a')", [["100.50", 3.0, "A"]]),
        ("SELECT 文 FROM 日志 WHERE 编号 = 3", [["国标"]]),
        ("SELECT NULL, 1.5, 9223372036854775807", [[None, 1.5, 9223372036854775807]]),
        ('SELECT number FROM "odd ""name"', [["infinity"]]),
        ('SELECT blob_column FROM "odd ""name"', [["(binary, 4 bytes, starts with 89 50 4e 47)"]]),
    ],
)
def test_reading_is_allowed_however_it_is_written(ask, sql, rows):
    answer = ask(sql=sql)
    assert answer["rows"] == rows
    assert answer["row_count"] == len(rows)
    assert not answer["truncated"]


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN QUERY PLAN SELECT * FROM 日志",
        "EXPLAIN SELECT 1",
        "PRAGMA table_info(日志)",
        "PRAGMA user_version",
        "PRAGMA main.table_xinfo(items)",
    ],
)
def test_looking_at_the_schema_is_allowed(ask, sql):
    assert ask(sql=sql)["rows"]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM 日志",
        "INSERT INTO 日志 VALUES (9, 'x')",
        "UPDATE 日志 SET 文 = ''",
        "REPLACE INTO 日志 VALUES (1, 'x')",
        "DELETE FROM 日志 RETURNING *",
        "WITH a AS (SELECT 1) DELETE FROM 日志",
        "WITH a AS (SELECT 1) INSERT INTO 日志 SELECT 8, 'x' RETURNING 编号",
        "DROP TABLE 日志",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "CREATE TEMP TRIGGER t AFTER INSERT ON 日志 BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE t USING fts5(a)",
        "ALTER TABLE 日志 RENAME TO x",
        "ATTACH ':memory:' AS x",
        "ATTACH '{folder}/stolen.db' AS x",
        "ATTACH 'file:{folder}/stolen.db?mode=rwc' AS x",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO '{folder}/copy.db'",
        "REINDEX",
        "ANALYZE",
        "BEGIN EXCLUSIVE",
        "SAVEPOINT s",
        "COMMIT",
        "PRAGMA writable_schema = 1",
        "PRAGMA query_only = OFF",
        "PRAGMA query_only(0)",
        "PRAGMA journal_mode = WAL",
        "PRAGMA user_version = 7",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA database_list",
        "SELECT file FROM pragma_database_list",
        "SELECT * FROM pragma_user_version(7)",
        "SELECT load_extension('/tmp/x.so')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT writefile('{folder}/x', 'x')",
        "SELECT readfile('/etc/passwd')",
        "EXPLAIN DELETE FROM 日志",
        "UPDATE sqlite_schema SET sql = ''",
        "INSERT INTO notes(notes) VALUES ('optimize')",
    ],
)
def test_everything_else_is_refused(ask, path, sql):
    error = refused(ask(sql=sql.format(folder=path.parent)))
    assert error.code in (ErrorCode.NOT_PERMITTED, ErrorCode.INVALID_ARGUMENT)
    assert str(path.parent) not in error.sentence


def test_a_refusal_names_what_was_refused(ask):
    assert "DELETE" in refused(ask(sql="DELETE FROM 日志")).message
    assert "PRAGMA database_list" in refused(ask(sql="PRAGMA database_list")).message


@pytest.mark.parametrize(
    ("sql", "mentions"),
    [
        ("SELECT kin FROM items", ["kin", "kind", "items("]),
        ("SELECT i.kin FROM items i", ["kind"]),
        ("SELECT * FROM item", ["item", "Tables: items"]),
        ("SELEC 1", ["syntax error"]),
        ("SELECT 1; SELECT 2", ["one statement"]),
        ("SELECT 1; DROP TABLE 日志", ["one statement"]),
        ("-- nothing", ["no query"]),
        (";", ["no query"]),
        ("SELECT ?", ["placeholders"]),
        ("SELECT :name", ["placeholders"]),
        ("SELECT 'a\0b'", ["null character"]),
        ("SELECT * FROM wide", ["too many columns"]),
        ("SELECT nofunction(1)", ["nofunction"]),
        ("SELECT * FROM broken", ["missing_table"]),
        ("SELECT " + "+".join("1" * 3_000), ["too large"]),
    ],
)
def test_errors_teach(ask, sql, mentions):
    error = refused(ask(sql=sql))
    assert error.code == ErrorCode.INVALID_ARGUMENT
    assert error.retryable
    for words in mentions:
        assert words in error.sentence


def doubling(levels, arm):
    chain = ", ".join(f"a{i + 1} AS ({arm.format(i=i)})" for i in range(levels))
    return f"WITH a0 AS (SELECT id AS c FROM items), {chain} SELECT count(c) FROM a{levels}"


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n WHERE i < 0",
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT randomblob({BIG}) AS b FROM n ORDER BY b",
        "SELECT count(*) FROM items a, items b, items c, items d",
        doubling(40, "SELECT x.c FROM a{i} x, a{i} y"),
        doubling(60, "SELECT c + c AS c FROM a{i}"),
        f"SELECT instr(zeroblob({BIG}), zeroblob({BIG // 2}) || x'01')",
        f"SELECT length(trim(hex(zeroblob({BIG // 4})), hex(zeroblob({BIG // 4})) || 'f'))",
        "SELECT zeroblob(2000000000)",
        "SELECT hex(zeroblob(900000000))",
        f"SELECT {', '.join(f'randomblob({BIG - 1})' for _ in range(150))}",
        "SELECT replace(hex(zeroblob(1000000)), '0', hex(zeroblob(1000)))",
    ],
)
def test_what_takes_too_much_is_stopped_in_time(ask, sql):
    started = time.monotonic()
    error = refused(ask(sql=sql))
    assert time.monotonic() - started < 30  # a second and a half, and a slow machine
    assert error.code in (ErrorCode.TIMEOUT, ErrorCode.RESULT_TOO_LARGE, ErrorCode.INVALID_ARGUMENT)
    assert ask(sql="SELECT 1")["rows"] == [[1]], "the next query works"


def test_rows_and_sizes_are_cut_with_a_note(path):
    query = asking(sql_tools(path, limits=QueryLimits(rows=10, result_characters=400, cell_characters=50))[1])
    by_rows = query(sql="SELECT id FROM items")
    assert (by_rows["row_count"], by_rows["truncated"]) == (10, True)
    assert "COUNT" in by_rows["note"]
    by_size = query(sql="SELECT printf('%40d', id) FROM items LIMIT 12")
    assert by_size["truncated"]
    assert by_size["row_count"] < 10
    assert query(sql="SELECT id FROM items LIMIT 10")["truncated"] is False
    assert query(sql='SELECT "a b" FROM "odd ""name"')["rows"] == [
        ["x" * 50 + "… (cut; 5,000 characters in all)"]
    ]


def test_no_row_is_explained(ask):
    assert "list_tables" in ask(sql="SELECT * FROM items WHERE kind = 'nothing'")["note"]


def test_list_tables(path):
    answer = asking(sql_tools(path)[0])
    found = {table["table"]: table for table in answer()["tables"]}
    assert set(found) == {"日志", 'odd "name', "items", "good_logs", "broken", "notes", "wide"}
    assert found["items"]["columns"] == ["id INTEGER primary key", "kind TEXT", "log_id INTEGER → 日志.编号"]
    assert found["items"]["row_count"] == 1_000
    assert found["items"]["example"] == {"id": 0, "kind": "kind 0", "log_id": 1}
    assert found["good_logs"]["is_view"]
    assert len(found["wide"]["columns"]) == 300
    assert answer(table="ITEMS")["tables"] == [found["items"]]
    assert "items" in answer(table="nothing")["note"]


def test_a_large_schema_is_shortened(tmp_path):
    path = tmp_path / "large.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("BEGIN")
        for i in range(300):
            connection.execute(f"CREATE TABLE table_{i:03} ({', '.join(f'column_{j}' for j in range(30))})")
        connection.commit()
    tables, query = sql_tools(path)
    assert len(query.description) < 2_500
    listed = asking(tables)()
    assert len(listed["tables"]) == 300
    assert len(str(listed)) < 40_000
    assert "columns" not in listed["tables"][-1]
    assert "columns" in asking(tables)(table="table_299")["tables"][0]


def test_the_schema_stands_in_the_description_but_no_stored_value(path):
    description = sql_tools(path)[1].description
    assert "items(id, kind, log_id)" in description or "call list_tables" in description
    assert "quick brown" not in description


@pytest.mark.parametrize(
    ("content", "mentions"),
    [
        (None, "there is no database"),
        (b"just a text, and a longer one than a header of a database has", "not a SQLite database"),
        ("folder", "not a file"),
    ],
)
def test_what_is_no_database_is_refused_at_once(tmp_path, content, mentions):
    path = tmp_path / "x.db"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content * 50)
    with pytest.raises(SettingsError, match=mentions) as caught:
        sql_tools(path)
    assert "\n" not in str(caught.value)


def test_a_damaged_database_is_refused(tmp_path):
    path = make_sample(tmp_path / "shop.db")
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 8_000)
    with pytest.raises(SettingsError, match="not a SQLite database"):
        sql_tools(path)


def test_a_locked_database_is_refused_and_a_lock_in_a_run_is_retryable(tmp_path):
    path = make_sample(tmp_path / "shop.db")
    query = asking(sql_tools(path, limits=QueryLimits(lock_seconds=0.05))[1])
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        error = refused(query(sql="SELECT 1 FROM products"))
        assert error.retryable
        assert error.code == ErrorCode.UPSTREAM
        with pytest.raises(SettingsError, match="locked by another program"):
            sql_tools(path, limits=QueryLimits(lock_seconds=0.05))
    assert query(sql="SELECT count(*) FROM products")["rows"] == [[24]]


def test_a_database_that_goes_away_is_no_crash_and_leaks_no_path(tmp_path):
    path = make_sample(tmp_path / "shop.db")
    query = asking(sql_tools(path)[1])
    path.unlink()
    error = refused(query(sql="SELECT 1 FROM products"))
    assert error.retryable
    assert str(tmp_path) not in error.sentence
    assert not path.exists(), "reading does not make a file"


def test_an_empty_database_is_said_to_be_empty(tmp_path):
    path = tmp_path / "empty.db"
    path.touch()
    tables, query = sql_tools(path)
    assert "no tables" in query.description
    assert "no tables" in asking(tables)()["note"]


def test_a_database_in_wal_mode_sees_what_is_committed(tmp_path):
    path = make_sample(tmp_path / "shop.db")
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        query = asking(sql_tools(path)[1])
        writer.execute("INSERT INTO products VALUES (99, '新', 'new', 'tools', 1.0)")
        assert query(sql="SELECT count(*) FROM products")["rows"] == [[24]]
        writer.commit()
        assert query(sql="SELECT count(*) FROM products")["rows"] == [[25]]


def test_many_threads_at_once(path):
    query = asking(sql_tools(path)[1])
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda i: query(sql=f"SELECT {i}, count(*) FROM items"), range(200)))
    assert [answer["rows"] for answer in answers] == [[[i, 1_000]] for i in range(200)]


def test_a_slow_query_does_not_hold_up_another(path):
    query = asking(sql_tools(path, limits=QueryLimits(seconds=6))[1])
    slow = threading.Thread(
        target=query,
        kwargs={"sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n"},
    )
    slow.start()
    assert query(sql="SELECT 1")["rows"] == [[1]]
    assert slow.is_alive()
    slow.join()


def test_processes_are_reused_and_ended(path):
    reader = SqliteReader(path, QueryLimits())
    for _ in range(3):
        reader.run("SELECT 1")
    (process,) = reader._processes._idle
    child = process._child
    assert child.poll() is None
    reader.close()
    assert child.returncode is not None
    assert reader.run("SELECT 2").rows == [[2]], "a new one starts"


def test_a_process_that_dies_is_replaced(path):
    reader = SqliteReader(path, QueryLimits())
    reader.run("SELECT 1")
    reader._processes._idle[0]._child.kill()
    reader._processes._idle[0]._child.wait()
    assert reader.run("SELECT 2").rows == [[2]]
    reader.close()


@pytest.fixture
def writable(tmp_path):
    path = tmp_path / "w.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price REAL CHECK (price >= 0));
            INSERT INTO items VALUES (1, '扳手', 35.5), (2, '锤子', 20);
            CREATE TABLE log (what TEXT);
            CREATE TRIGGER logged AFTER UPDATE ON items BEGIN INSERT INTO log VALUES (new.name); END;
        """)
    return path


def test_writing_is_a_tool_of_its_own(writable):
    tools = {tool.name: tool for tool in sql_tools(writable, writes=True)}
    assert tools["change_database"].rules.effect == "writes"
    change = asking(tools["change_database"])
    assert change(sql="UPDATE items SET price = 36 WHERE id = 1;") == {"changed_rows": 2}  # with its trigger
    assert change(sql="INSERT INTO items (name) VALUES ('新') RETURNING id")["rows"] == [[3]]
    assert change(sql="DELETE FROM items WHERE id > 90") == {"changed_rows": 0}
    assert tools["query_database"]("SELECT id, price FROM items")["rows"] == [[1, 36.0], [2, 20.0], [3, None]]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE items",
        "ALTER TABLE items ADD a",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "ATTACH 'x.db' AS x",
        "VACUUM INTO 'x.db'",
        "PRAGMA writable_schema = ON",
        "PRAGMA journal_mode = WAL",
        "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 0, 'x')",
        "DELETE FROM sqlite_schema",
        "UPDATE items SET price = 1; DROP TABLE items",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT a",
        "INSERT INTO items SELECT value, 'x', 1 FROM generate_series(10, 5000)",
        "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO items SELECT i, '', 1 FROM n",
        "UPDATE items SET price = -price",
        "UPDATE items SET name = readfile('/etc/passwd')",
        "INSERT INTO items SELECT id + 5, name, CASE id WHEN 2 THEN -1 ELSE 1 END FROM items",
    ],
)
def test_writing_goes_no_further_than_rows(writable, tmp_path, sql):
    before = writable.read_bytes()
    assert refused(asking(sql_tools(writable, writes=True)[2])(sql=sql))
    assert writable.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["w.db"]


def test_a_change_that_takes_too_long_is_taken_back(writable):
    change = asking(sql_tools(writable, limits=QueryLimits(seconds=0.5), writes=True)[2])
    error = refused(
        change(
            sql="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO log SELECT i FROM n"
        )
    )
    assert error.code == ErrorCode.TIMEOUT
    with closing(sqlite3.connect(writable)) as connection:
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (0,)


@pytest.fixture
def changed(tmp_path):
    """A tool that writes, over a file with a search index."""
    path = tmp_path / "writing.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE);
            CREATE VIRTUAL TABLE words_of_others USING fts5(body);
            CREATE VIRTUAL TABLE words USING fts5(body);
            CREATE TRIGGER kept AFTER INSERT ON t BEGIN INSERT INTO words VALUES (new.b); END;
        """)
        connection.executemany("INSERT INTO t VALUES (?, ?)", ((i, f"n{i}") for i in range(300)))
        connection.commit()
    _, query, change = sql_tools(path, writes=True)
    return asking(query), asking(change)


def test_more_rows_come_back_than_are_shown_and_all_are_changed(changed):
    query, change = changed
    answer = change(sql="UPDATE t SET b = b || 'x' RETURNING a")
    assert (answer["changed_rows"], len(answer["rows"])) == (300, 100)
    assert query(sql="SELECT count(*) FROM t WHERE b LIKE '%x'")["rows"] == [[300]]


def test_a_value_that_a_constraint_refuses_is_told_as_such(changed):
    error = refused(changed[1](sql="UPDATE t SET b = 'n2' WHERE a = 1"))
    assert error.code == ErrorCode.INVALID_ARGUMENT
    assert "UNIQUE constraint failed: t.b" in error.message


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE words_data SET block = x'00'",
        "DELETE FROM WORDS_content",
        "INSERT INTO words_config VALUES ('pgsz', 1)",
        "INSERT INTO sqlite_stat1 VALUES (1, 2, 3)",
    ],
)
def test_what_a_search_index_keeps_is_written_by_that_index_alone(changed, sql):
    query, change = changed
    refused(change(sql=sql))
    assert change(sql="INSERT INTO t VALUES (1000, 'needle')")["changed_rows"] > 0
    assert query(sql="SELECT body FROM words WHERE words MATCH 'needle'")["rows"] == [["needle"]]
    assert change(sql="INSERT INTO words_of_others VALUES ('x')")["changed_rows"] > 0


async def test_a_run_in_chinese_is_told_in_chinese(path):
    tools = Toolset(sql_tools(path, writes=True))
    chinese = RunContext(language="zh")
    for name, sql in (
        ("query_database", "SELECT nix FROM items"),
        ("query_database", "SELECT * FROM nix"),
        ("query_database", "DELETE FROM items"),
        ("query_database", "SELECT 1; SELECT 2"),
        ("query_database", ""),
        ("change_database", "DROP TABLE items"),
    ):
        result = await tools.call(name, {"sql": sql or ";"}, context=chinese)
        assert result.error is not None
        assert language_of(result.error.message) == "zh", result.error
        assert not result.error.hint or language_of(result.error.hint) == "zh", result.error
    found = await tools.call("query_database", {"sql": "SELECT 1 WHERE 0"}, context=chinese)
    assert language_of(found.data["note"]) == "zh"
    found = await tools.call("list_tables", {"table": "nix"}, context=chinese)
    assert language_of(found.data["note"]) == "zh"
