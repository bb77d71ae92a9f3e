"""Search over real documents: what is found and where, what is skipped and why, and an index that follows the folder."""

from __future__ import annotations

import os
import shutil
import sqlite3
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec

import pytest

from tests.builtin.conftest import asking
from tests.builtin.documents_made import docx, pdf
from tests.timing import cpu_seconds
from toolhand.builtin import builtin_tools
from toolhand.builtin._document_passages import passages
from toolhand.builtin._document_reading import Part
from toolhand.builtin._document_words import asked, indexed
from toolhand.builtin._file_words import refusal
from toolhand.builtin._rooted import ResolvedRoot, WalkedRoot
from toolhand.builtin.documents import document_index, document_tools, reason_of
from toolhand.core.context import RunContext
from toolhand.core.errors import SettingsError

if find_spec("pypdfium2") is None:
    pytest.skip("DOCUMENTS ARE NOT TESTED: pypdfium2 is not installed", allow_module_level=True)

MARKDOWN = """# Handbook

Welcome to the company.

## Holidays

Every employee has 25 days of paid leave a year.

```python
# not a heading
```

## 考勤

工作时间为九点到十八点，迟到三次记一次旷工。
"""
PAGE = """<html><head><meta charset="gbk"><title>公告</title><style>p {color: red}</style></head><body><nav>首页 登录</nav>
<h1>搬迁通知</h1><p>公司将于六月搬到<b>虹桥</b>路 88 号。</p><script>var 秘密 = 1</script>
<h2>班车</h2><table><tr><td>线路</td><td>发车</td></tr><tr><td>一号线</td><td>7:40</td></tr></table></body></html>"""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "资料"
    (folder / "合同").mkdir(parents=True)
    (folder / "handbook.md").write_text(MARKDOWN, encoding="utf-8")
    (folder / "notice.html").write_bytes(PAGE.encode("gbk"))
    (folder / "报销.txt").write_bytes(
        "差旅报销须在三十天内提交。\n住宿标准：一线城市每晚五百元。\n".encode("gb18030")
    )
    (folder / "合同" / "lease.pdf").write_bytes(
        pdf(
            [
                ["Lease agreement", "The notice period is three months."],
                ["押金为两个月房租。", "违约金为百分之十。"],
            ]
        )
    )
    (folder / "合同" / "采购.docx").write_bytes(
        docx(
            [("h1", "采购合同"), ("p", "甲方向乙方购买设备。"), ("h2", "付款方式"), ("p", "验收后十五日内支付全部货款。"),
             ("h2", "Warranty"), ("p", "The warranty lasts 24 months."), ("row", "型号|TX-900"), ("row", "数量|12")]
        )
    )  # fmt: skip
    return folder


@pytest.fixture
def index(folder, tmp_path):
    made = document_index(folder, index=tmp_path / "index.db")
    yield made
    made.close()


@pytest.fixture
def search(folder, tmp_path):
    return asking(document_tools(folder, index=tmp_path / "index.db")[0])


@pytest.mark.parametrize(
    ("question", "file", "place", "holds"),
    [
        (
            "How many days of paid leave?",
            "handbook.md",
            {"heading": "Handbook › Holidays", "line": 5},
            "25 days",
        ),
        ("迟到几次算旷工", "handbook.md", {"heading": "Handbook › 考勤", "line": 13}, "三次"),
        ("公司什么时候搬到虹桥", "notice.html", {"heading": "搬迁通知"}, "虹桥路 88 号"),
        ("班车一号线几点发车", "notice.html", {"heading": "搬迁通知 › 班车"}, "一号线 | 7:40"),
        ("住宿标准是多少", "报销.txt", {"line": 1}, "每晚五百元"),
        ("notice periods", "合同/lease.pdf", {"page": 1}, "three months"),
        ("违约金多少", "合同/lease.pdf", {"page": 2}, "百分之十"),
        ("货款什么时候支付", "合同/采购.docx", {"heading": "采购合同 › 付款方式"}, "十五日内"),
        ("how long is the warranty", "合同/采购.docx", {"heading": "采购合同 › Warranty"}, "24 months"),
        ("tx-900", "合同/采购.docx", {"heading": "采购合同 › Warranty"}, "型号 | TX-900"),
        ("ＴＸ－９００", "合同/采购.docx", {}, "TX-900"),
    ],
)
def test_answers_come_with_their_file_and_place(search, question, file, place, holds):
    best = search(question=question)["passages"][0]
    assert best["file"] == file
    assert holds in best["text"]
    assert {name: best.get(name) for name in place} == place
    assert "秘密" not in best["text"]


def test_tables_in_tables_and_fields_of_forms_are_read_once(folder, search):
    def text(word):
        return f"<w:p><w:r><w:t>{word}</w:t></w:r></w:p>"

    inner = f"<w:tbl><w:tr><w:tc>{text('inner')}</w:tc><w:tc>{text('内层')}</w:tc></w:tr></w:tbl>"
    body = (
        f"<w:sdt><w:sdtContent>{text('fieldword')}{text('next')}</w:sdtContent></w:sdt>"
        f"<w:tbl><w:tr><w:tc>{text('outer')}{inner}</w:tc></w:tr></w:tbl>"
    )
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    (folder / "form.docx").write_bytes(
        docx([], body=f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>')
    )
    assert search(question="fieldword")["passages"][0]["text"] == "fieldword\nnext\nouter inner | 内层"


def test_a_folder_or_a_file_can_be_named(search):
    found = search(question="合同 notice period 工作时间", path="合同/")["passages"]
    assert {one["file"] for one in found} == {"合同/lease.pdf", "合同/采购.docx"}
    assert {one["file"] for one in search(question="合同", path="./合同/采购.docx")["passages"]} == {
        "合同/采购.docx"
    }
    assert len(search(question="the company 公司 合同", most=1)["passages"]) == 1


def test_a_folder_of_a_longer_name_is_not_meant_and_one_that_is_not_there_is_told(search, folder):
    (folder / "合同旧").mkdir()
    (folder / "合同旧" / "old.txt").write_text("notice period: one year", encoding="utf-8")
    for path in ("合同", "/合同", "./合同//"):
        found = search(question="notice period", path=path)["passages"]
        assert {one["file"].partition("/")[0] for one in found} == {"合同"}, path
    assert search(question="notice period", path=".")["passages"]
    answer = search(question="notice period", path="合同x")
    assert answer["passages"] == search(question="notice period")["passages"]  # a made-up place hides nothing
    assert "'合同x'" in answer["note"]


def test_a_document_that_could_not_be_opened_for_a_moment_is_tried_again(index, folder, monkeypatch):
    def not_now(self, names):
        raise refusal("not_now", names[-1])

    with monkeypatch.context() as moment:
        moment.setattr(WalkedRoot, "open_file", not_now)
        moment.setattr(ResolvedRoot, "open_file", not_now)
        assert "gone" in index.update().skipped.values()
    assert "gone" not in index.update().skipped.values()
    assert index.search("paid leave", 1)


def test_what_is_not_there_is_said(search, tmp_path):
    found = search(question="xylophone")
    assert (found["passages"], found["note"][:10]) == ([], "No passage")
    for odd in ('"', "NEAR(a b)", "a* OR ^b", "title:x", "-", "。。。", "'; DROP TABLE words; --"):
        assert isinstance(search(question=odd)["passages"], list)
    (tmp_path / "empty").mkdir()
    empty = document_tools(tmp_path / "empty", index=tmp_path / "e.db")[0]
    assert "没有文档" in empty("任何", context=RunContext(language="zh"))["note"]


def test_the_index_follows_the_folder(index, folder):
    def files(question):
        return [one.path for one in index.search(question, 5)]

    seen = []
    state = index.update(progress=lambda *told: seen.append(told))
    assert (state.files, state.waiting, state.skipped) == (5, 0, {})
    assert [told[:2] for told in seen] == [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    (folder / "new.md").write_text("# 团建\n\n秋天去莫干山。", encoding="utf-8")
    (folder / "报销.txt").write_text("新的标准：每晚六百元。", encoding="utf-8")
    (folder / "handbook.md").unlink()
    (folder / "合同").rename(folder / "contracts")
    index.update()
    assert files("莫干山") == ["new.md"]
    assert files("六百元") == ["报销.txt"]
    assert "报销.txt" not in files("差旅 三十天")
    assert "handbook.md" not in files("paid leave a year holidays")
    assert files("违约金") == ["contracts/lease.pdf"]
    told: list[tuple[int, int, str]] = []
    index.update(progress=lambda *one: told.append(one))
    assert told == [(0, 0, "")]
    with closing(sqlite3.connect(index.store.path)) as connection:  # nothing of what is gone is left
        files_left, passages_left, words_left = (
            connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ("files", "passages", "words_docsize")
        )
    assert files_left == 5
    assert passages_left == words_left > 5


def test_what_cannot_be_searched_is_named_and_the_rest_is_found(folder, tmp_path):
    bomb = zipfile.ZipFile(folder / "bomb.docx", "w", zipfile.ZIP_DEFLATED)
    with bomb:
        bomb.writestr("word/document.xml", b"<a>" + b" " * (80 * 2**20) + b"</a>")
    entities = '<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>'
    (folder / "entities.docx").write_bytes(docx([], body=entities))
    (folder / "locked.pdf").write_bytes(pdf([["secret"]], password="pass"))
    (folder / "locked.docx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(3_000))
    (folder / "cut.pdf").write_bytes(pdf([["x"]])[:300])
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n" + os.urandom(2_000))
    (folder / "broken.docx").write_bytes(b"PK\x03\x04" + os.urandom(500))
    (folder / "scan.pdf").write_bytes(pdf([[]]))
    (folder / "empty.txt").write_bytes(b"")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 30)
    (folder / "old.doc").write_bytes(b"x")
    (folder / "huge.txt").write_bytes(b"x" * 2_000_000)
    (folder / "~$采购.docx").write_bytes(b"x")
    (folder / "link.txt").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.txt")
    from toolhand.builtin._document_index import DocumentLimits  # noqa: PLC0415

    limits = DocumentLimits(file_bytes=1_000_000)
    index = document_index(folder, index=tmp_path / "index.db", limits=limits)
    state = index.update()
    assert state.skipped == {
        "binary.txt": "binary", "bomb.docx": "large", "broken.docx": "broken", "broken.pdf": "broken", "cut.pdf": "broken",
        "empty.txt": "no_text", "entities.docx": "broken", "huge.txt": "large", "locked.docx": "encrypted",
        "locked.pdf": "encrypted", "old.doc": "kind", "scan.pdf": "no_text",
    }  # fmt: skip
    assert index.search("违约金", 1)[0].path == "合同/lease.pdf"
    tool = document_tools(folder, index=tmp_path / "index.db", limits=limits)[0]
    note = tool("违约金", context=RunContext(language="zh"))["note"]
    assert "binary.txt (不是已知编码的文本)" in note
    assert "另外 9 个" in note


def test_a_document_that_takes_too_long_is_ended(folder, tmp_path):
    from toolhand.builtin._document_index import DocumentLimits  # noqa: PLC0415

    (folder / "slow.html").write_text("<table><tr>" + "<td>a<b>" * 900_000, encoding="utf-8")
    index = document_index(folder, index=tmp_path / "i.db", limits=DocumentLimits(file_seconds=0.01))
    assert index.update().skipped["slow.html"] == "slow"


def test_a_search_answers_with_what_there_is_while_the_index_is_built(folder, tmp_path):
    from toolhand.builtin._document_index import DocumentLimits  # noqa: PLC0415

    tool = document_tools(folder, index=tmp_path / "i.db", limits=DocumentLimits(call_seconds=0))[0]
    assert "5 of 5 documents are not read yet" in tool("leave")["note"]


def test_another_process_or_thread_may_build_it_too(folder, tmp_path):
    indexes = [document_index(folder, index=tmp_path / "index.db") for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        states = list(pool.map(lambda one: one.update(), indexes))
    assert all(state.waiting == 0 for state in states)
    assert len([one for one in indexes[0].search("违约金", 10) if "违约金" in one.passage.text]) == 1


def test_an_index_elsewhere_and_one_that_is_none(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLHAND_CACHE", str(tmp_path / "cache"))
    index = document_index(folder)
    index.update()
    assert index.store.path.is_relative_to(tmp_path / "cache" / "documents")
    assert index.store.path.stat().st_mode & 0o077 == 0
    assert not (folder / "index.db").exists()
    (tmp_path / "notes.txt").write_text("not an index, but somebody's notes", encoding="utf-8")
    with pytest.raises(SettingsError, match="is no index"):
        document_index(folder, index=tmp_path / "notes.txt")
    assert "somebody's notes" in (tmp_path / "notes.txt").read_text(encoding="utf-8")
    with pytest.raises(SettingsError, match="there is no folder"):
        document_tools(tmp_path / "nothing")


def test_an_index_of_another_version_is_built_anew(folder, tmp_path):
    path = tmp_path / "index.db"
    document_index(folder, index=path).update()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    index = document_index(folder, index=path)
    assert index.search("违约金", 1) == []
    index.update()
    assert index.search("违约金", 1)


def test_without_the_extra_all_but_pdf_is_searched(folder, tmp_path, monkeypatch):
    import toolhand.builtin._document_reading as reading  # noqa: PLC0415

    path = tmp_path / "index.db"
    with monkeypatch.context() as patch:
        patch.setattr(reading, "find_spec", lambda name: None)
        state = document_index(folder, index=path).update()
    assert state.skipped
    assert {name.rpartition(".")[2] for name, why in state.skipped.items() if why == "extra"} == {"pdf"}
    assert "docs-search" in reason_of("extra", "zh")
    state = document_index(folder, index=path).update()  # once it is installed the same files are read
    assert "extra" not in state.skipped.values()


def test_it_is_offered_with_a_folder_and_its_results_are_strangers(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLHAND_CACHE", str(tmp_path / "cache"))
    tools = {tool.name: tool for tool in builtin_tools(documents=folder)}
    assert tools["search_documents"].rules.untrusted
    assert tools["search_documents"].rules.effect == "reads"
    assert "search_documents" not in {tool.name for tool in builtin_tools(root=folder)}


def test_words_of_both_languages():
    assert asked("请问年假有多少天？") == ["年假", "假有", "天"]
    assert asked("How many days of leave do I have?") == ["many", "days", "leave", "have"]
    assert indexed("用 GPU 训练") == "用 gpu 训练 训 练"
    assert asked("什么") == ["什么"]


def test_passages_are_of_a_size_and_lose_nothing():
    text = "这是一个很长的段落，没有换行。" * 200
    cut = list(passages([Part(text=text, line=7)]))
    assert "".join(one.text for one in cut) == text
    assert all(100 < len(one.text) <= 330 for one in cut[:-1])
    assert {one.line for one in cut} == {7}
    paged = list(passages([Part(text="a", page=1), Part(text="b", page=1), Part(text="c", page=2)]))
    assert [(one.text, one.page) for one in paged] == [("a\nb", 1), ("c", 2)]


def test_cutting_is_linear():
    def cost(count):
        return cpu_seconds(lambda: list(passages([Part(text="字" * 50, line=i) for i in range(count)])))

    assert cost(8_000) < 40 * max(cost(1_000), 0.001)


@pytest.fixture
def embeddings():
    """A server of `/embeddings` whose vectors know that some words mean the same."""
    import json  # noqa: PLC0415
    import threading  # noqa: PLC0415
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # noqa: PLC0415

    meanings = [
        ("holiday", "vacation", "paid leave", "假期"),
        ("deposit", "押金", "保证金"),
        ("warranty", "guarantee"),
    ]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            rows = [
                [float(sum(word in text.lower() for word in words)) for words in meanings] + [0.1]
                for text in texts
            ]
            body = json.dumps(
                {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_vectors_find_what_shares_no_word(folder, tmp_path, embeddings):
    pytest.importorskip("numpy")
    model = f"http://127.0.0.1:{embeddings.server_port}/v1#tiny"
    path = tmp_path / "v.db"
    tool = document_tools(folder, index=path, embeddings=model)[0]
    assert tool("vacation")["passages"][0]["file"] == "handbook.md"
    assert tool("security deposit")["passages"][0] == {
        "file": "合同/lease.pdf", "page": 2, "text": "押金为两个月房租。\n违约金为百分之十。",
    }  # fmt: skip
    words_alone = document_tools(folder, index=path)[0]
    assert words_alone("vacation")["passages"] == []
    embeddings.shutdown()
    embeddings.server_close()
    found = tool("warranty")
    assert found["passages"][0]["file"] == "合同/采购.docx"
    assert "words alone" in found["note"]


def test_an_index_whose_folder_goes_away_finds_nothing_and_does_not_crash(folder, index):
    index.update()
    shutil.rmtree(folder)
    with pytest.raises(Exception, match="There is no"):
        index.update()
