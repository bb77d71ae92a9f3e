"""A CSV file, asked like a database."""

from __future__ import annotations

import pytest

from toolhand import Toolset
from toolhand.builtin import builtin_tools
from toolhand.builtin._csv_table import csv_database
from toolhand.builtin.sql import sql_tools
from toolhand.core.errors import SettingsError

SPENT = '日期,类别,金额,电话,类别\n2026-01-02,餐饮,35.5,013800138000,午餐\n2026-01-03,交通,4,,\n\n2026-01-05,餐饮,20,021,"面,汤"\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gbk"])
def test_a_csv_file_is_a_table_with_types_by_column(tmp_path, encoding):
    path = tmp_path / "花费.csv"
    path.write_bytes(SPENT.encode(encoding))
    tools = Toolset(builtin_tools(database=path))
    (table,) = tools.call_sync("list_tables", {}).data["tables"]
    assert (table["table"], table["row_count"]) == ("花费", 3)
    asked = {"sql": "SELECT sum(金额), min(电话), max(类别_2), count(类别_2) FROM 花费"}
    assert tools.call_sync("query_database", asked).data["rows"] == [[59.5, "013800138000", "面,汤", 2]]
    assert path.read_bytes() == SPENT.encode(encoding)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_other_marks_between_cells(tmp_path, mark):
    path = tmp_path / "sales.csv"
    path.write_text(f"id{mark}name\n1{mark}tea\n2{mark}a, b\n")
    rows = Toolset(sql_tools(path)).call_sync("query_database", {"sql": "SELECT id, name FROM sales"})
    assert rows.data["rows"] == [[1, "tea"], [2, "a, b"]]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n1,2,3\n", "3 cells in line 3, but 2 columns"),
        (bytes(range(256)) * 4, "no text"),
    ],
)
def test_what_is_no_table_is_told_with_its_line(tmp_path, content, told, monkeypatch):
    monkeypatch.setenv("TOOLHAND_LANG", "en")
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=told):
        csv_database(path)


def test_it_is_not_written(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n")
    with pytest.raises(SettingsError):
        sql_tools(path, writes=True)
