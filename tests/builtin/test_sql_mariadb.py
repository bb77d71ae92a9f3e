"""The SQL tools against a real MariaDB server, where one is installed: a user who could write is kept to reading."""

from __future__ import annotations

import getpass
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.builtin.conftest import asking, refused
from toolhand.builtin._database import QueryLimits
from toolhand.builtin.sql import sql_tools
from toolhand.core.errors import ErrorCode, SettingsError

MADE = """
    CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop;
    CREATE TABLE 产品 (id INT PRIMARY KEY AUTO_INCREMENT, 名 VARCHAR(50), price DECIMAL(10, 2));
    INSERT INTO 产品 (名, price) VALUES ('扳手', 35.5), ('锤子', 20);
    CREATE TABLE orders (id INT PRIMARY KEY, product_id INT, FOREIGN KEY (product_id) REFERENCES 产品 (id));
    INSERT INTO orders SELECT seq, 1 FROM seq_1_to_50;
    CREATE USER writer@localhost IDENTIFIED BY 'pw'; GRANT ALL ON shop.* TO writer@localhost;
    CREATE USER filer@localhost IDENTIFIED BY 'pw'; GRANT ALL ON shop.* TO filer@localhost; GRANT FILE ON *.* TO filer@localhost;
"""


@pytest.fixture(scope="module")
def url():
    if not shutil.which("mariadbd") or not shutil.which("mariadb-install-db"):
        pytest.skip("MARIADB IS NOT TESTED: mariadbd is not installed")
    pytest.importorskip("pymysql")
    folder = Path(tempfile.mkdtemp(prefix="th"))
    options = ["--no-defaults", f"--datadir={folder / 'data'}", f"--user={getpass.getuser()}"]
    subprocess.run(
        ["mariadb-install-db", *options, "--auth-root-authentication-method=normal", "--skip-test-db"],
        check=True,
        capture_output=True,
    )
    socket = folder / "s.sock"
    server = subprocess.Popen(
        ["mariadbd", *options, f"--socket={socket}", "--skip-networking", f"--pid-file={folder / 'pid'}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 90
    while not socket.exists() and time.monotonic() < until:
        time.sleep(0.1)
    subprocess.run(
        ["mariadb", "--no-defaults", "-uroot", f"--socket={socket}", "--default-character-set=utf8mb4"],
        input=MADE.encode(),
        check=True,
    )
    yield f"mysql://USER:pw@localhost/shop?unix_socket={socket}"
    server.kill()
    server.wait()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def tools(url):
    made = sql_tools(url.replace("USER", "writer"), limits=QueryLimits(seconds=3), writes=True)
    return {tool.name: tool for tool in made}


@pytest.fixture(scope="module")
def ask(tools):
    return asking(tools["query_database"])


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 名, price FROM 产品 ORDER BY id", [["扳手", 35.5], ["锤子", 20]]),
        ("SELECT 名 FROM 产品 WHERE 名 LIKE '%扳%';", [["扳手"]]),
        ("SELECT '100%', ':x', '%s'", [["100%", ":x", "%s"]]),
        ("-- a\nWITH a AS (SELECT 1 AS b) SELECT b FROM a", [[1]]),
        ("SHOW TABLES", [["orders"], ["产品"]]),
    ],
)
def test_reading_is_allowed(ask, sql, rows):
    assert ask(sql=sql)["rows"] == rows


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO orders VALUES (900, 1)",
        "SELECT 1; DELETE FROM orders",
        "WITH a AS (SELECT 1) DELETE FROM orders",
        "EXPLAIN DELETE FROM orders",
        "ANALYZE DELETE FROM orders",
        "SELECT * FROM orders INTO OUTFILE '/tmp/toolhand-was-here'",
        "/*!50000 DELETE FROM orders */",
        "SELECT /*+ SET_VAR(max_execution_time=0) */ sleep(1)",
        "SELECT 1 /*M! INTO @x */",
        "SET SESSION TRANSACTION READ WRITE",
        "COMMIT",
        "DO SLEEP(1)",
        "CALL something()",
        "CREATE TABLE z (a INT)",
        "DROP TABLE orders",
        "SELECT * FROM orders FOR UPDATE",
        "HANDLER orders OPEN",
        "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE orders",
    ],
)
def test_nothing_but_reading_gets_through(ask, sql):
    assert refused(ask(sql=sql)).code in (ErrorCode.NOT_PERMITTED, ErrorCode.INVALID_ARGUMENT)
    assert ask(sql="SELECT count(*) FROM orders")["rows"] == [[50]]
    assert not Path("/tmp/toolhand-was-here").exists()


def test_what_takes_too_long_is_stopped_and_errors_teach(ask):
    assert refused(ask(sql="SELECT SLEEP(60)")).code == ErrorCode.TIMEOUT
    assert "orders(id, product_id)" in refused(ask(sql="SELECT nope FROM orders")).sentence
    assert ask(sql="SELECT seq FROM seq_1_to_1000")["truncated"]


def test_the_schema_and_writing(tools):
    listed = {table["table"]: table for table in tools["list_tables"]()["tables"]}
    assert listed["orders"]["columns"] == ["id INTEGER primary key", "product_id INTEGER → 产品.id"]
    assert listed["orders"]["row_count"] == 50
    change = asking(tools["change_database"])
    assert change(sql="UPDATE 产品 SET price = 36 WHERE id = 1") == {"changed_rows": 1}
    assert change(sql="UPDATE 产品 SET price = 35.5 WHERE id = 1") == {"changed_rows": 1}
    assert "too many" in refused(change(sql="INSERT INTO orders SELECT seq, 1 FROM seq_100_to_5000")).message
    assert refused(change(sql="DROP TABLE orders")).code == ErrorCode.NOT_PERMITTED


@pytest.mark.parametrize(
    ("user", "mentions"), [("filer", "may do anything"), ("nobody", "refuses the URL's user")]
)
def test_who_may_do_too_much_or_nothing_is_refused(url, user, mentions):
    with pytest.raises(SettingsError, match=mentions):
        sql_tools(url.replace("USER", user))
