"""`toolhand documents`, `--tools docs:FOLDER`, and `--db` with a URL."""

from __future__ import annotations

import pytest

from tests.builtin.documents_made import pdf
from tests.cli.test_cli import toolhand
from toolhand.builtin.sample import make_sample


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("pypdfium2")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text("# Leave\n\nThere are 25 days of leave.\n", encoding="utf-8")
    (tmp_path / "docs" / "合同.pdf").write_bytes(pdf([["前言"], ["违约金为百分之十。"]]))
    (tmp_path / "docs" / "locked.pdf").write_bytes(pdf([["x"]], password="x"))
    return tmp_path / "docs"


def test_the_index_is_built_and_what_cannot_be_searched_is_named(folder, tmp_path):
    index = str(tmp_path / "index.db")
    shown = toolhand("documents", str(folder), "违约金是多少", "--index", index, TOOLHAND_LANG="en")
    assert shown.returncode == 0
    assert "2 of 3 documents can be searched" in shown.stdout
    assert "合同.pdf (page 2)" in shown.stdout
    assert "not searched: locked.pdf: it is protected by a password" in shown.stderr
    shown = toolhand("documents", str(folder), "--index", index, TOOLHAND_LANG="zh")
    assert "3 个文档中 2 个可以搜索" in shown.stdout
    assert "无法搜索：locked.pdf：有密码保护" in shown.stderr
    missing = toolhand("documents", str(tmp_path / "nothing"))
    assert missing.returncode != 0
    assert "there is no folder" in missing.stderr


def test_documents_are_a_source_of_tools(folder, tmp_path):
    shown = toolhand("tools", "list", "--tools", f"docs:{folder}", TOOLHAND_CACHE=str(tmp_path / "cache"))
    assert shown.stdout.split("(")[0] == "search_documents"


def test_a_database_may_be_named_by_its_url(tmp_path):
    path = make_sample(tmp_path / "shop.db")
    shown = toolhand("tools", "list", "--db", f"sqlite:///{path}")
    assert "query_database" in shown.stdout
    refused = toolhand("tools", "list", "--db", "postgresql://me:s3cr3t-pw@127.0.0.1:1/x", TOOLHAND_LANG="en")
    assert refused.returncode != 0
    assert "cannot be reached" in refused.stderr
    assert "s3cr3t-pw" not in refused.stderr
