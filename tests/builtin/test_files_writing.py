"""The tools that write files: what they may not reach, and that they leave a file as it was but for its text."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.builtin.conftest import asking, refused
from toolhand.builtin import builtin_tools
from toolhand.builtin._rooted import root_at
from toolhand.builtin._rooted_writing import ResolvedWriter, WalkedWriter, writer_at
from toolhand.builtin.files_writing import file_writing_tools
from toolhand.core.errors import ErrorCode, ToolFailure


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "root-private"
    folder.mkdir()
    (folder / "k.txt").write_text("secret", encoding="utf-8")
    return folder


@pytest.fixture
def root(tmp_path, outside):
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "there.txt").write_text("there", encoding="utf-8")
    (root / "link.txt").symlink_to(outside / "k.txt")
    (root / "folder-link").symlink_to(outside)
    (root / "dangling").symlink_to(outside / "new.txt")
    os.mkfifo(root / "pipe")
    return root


@pytest.fixture
def tools(root):
    return {tool.name: asking(tool) for tool in file_writing_tools(root)}


def content_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.parametrize("if_exists", ["fail", "replace", "append"])
@pytest.mark.parametrize(
    "path",
    [
        "../root-private/k.txt", "sub/../../root-private/k.txt", "/tmp/x.txt", "..", ".", "link.txt", "folder-link/k.txt",
        "folder-link/new.txt", "folder-link/a/b.txt", "dangling", "pipe", "sub", "a\0b", ".bashrc", ".git/hooks/pre-commit",
        "sub/.env", "there.txt/x", "a\nb", "x" * 300,
    ],
)  # fmt: skip
def test_nothing_gets_out_and_nothing_odd_is_written_over(tools, root, outside, path, if_exists):
    before = content_of(root), content_of(outside), sorted(root.iterdir())
    assert refused(tools["write_file"](path=path, text="x", if_exists=if_exists))
    assert refused(tools["delete_file"](path=path))
    assert (content_of(root), content_of(outside), sorted(root.iterdir())) == before
    assert sorted(outside.iterdir()) == [outside / "k.txt"]


def test_writing_and_deleting(tools, root):
    found = tools["write_file"](path="新 文件夹/深/好..txt", text="第一行\n")
    assert found == {"path": "新 文件夹/深/好..txt", "size_bytes": 10, "encoding": "utf-8"}
    error = refused(tools["write_file"](path="新 文件夹/深/好..txt", text="x"))
    assert (error.code, error.retryable) == (ErrorCode.PRECONDITION_FAILED, True)
    tools["write_file"](path="新 文件夹/深/好..txt", text="第二行\n", if_exists="append")
    assert (root / "新 文件夹/深/好..txt").read_text(encoding="utf-8") == "第一行\n第二行\n"
    assert tools["delete_file"](path="新 文件夹/深/好..txt") == {"deleted": "新 文件夹/深/好..txt"}
    assert not list((root / "新 文件夹/深").iterdir())
    assert "There is no" in refused(tools["delete_file"](path="nothing.txt")).message


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16", "big5"])
@pytest.mark.parametrize("if_exists", ["replace", "append"])
def test_a_file_keeps_its_encoding(tools, root, encoding, if_exists):
    old = "這是一個很長的測試，價格三十元。\r\n" * 20 if encoding == "big5" else "中文内容：价格￥30\r\n" * 20
    (root / "old.txt").write_bytes(old.encode(encoding))
    found = tools["write_file"](
        path="old.txt", text="新的一行，很好\n".replace("新的", "新的"), if_exists=if_exists
    )
    assert found["encoding"] == encoding
    text = (root / "old.txt").read_bytes().decode(encoding)
    assert text == (old if if_exists == "append" else "") + "新的一行，很好\r\n"
    assert "\ufeff" not in text


def test_what_an_encoding_does_not_have_makes_the_file_utf8_and_is_said(tools, root):
    (root / "old.txt").write_bytes("Café crème, déjà vu\n".encode("cp1252"))
    found = tools["write_file"](path="old.txt", text="价格", if_exists="append")
    assert found["encoding"] == "utf-8"
    assert "UTF-8" in found["note"]
    assert (root / "old.txt").read_text(encoding="utf-8") == "Café crème, déjà vu\n价格"


def test_a_binary_file_is_not_written_over(tools, root):
    (root / "image.png").write_bytes(bytes(range(256)) * 20)
    for if_exists in ("replace", "append"):
        assert refused(tools["write_file"](path="image.png", text="x", if_exists=if_exists))
    assert (root / "image.png").read_bytes() == bytes(range(256)) * 20


def test_rights_are_kept_and_hard_links_are_parted(tools, root, outside):
    (root / "there.txt").chmod(0o640)
    os.link(root / "there.txt", outside / "twin.txt")
    tools["write_file"](path="there.txt", text="new", if_exists="replace")
    assert stat.S_IMODE((root / "there.txt").stat().st_mode) == 0o640
    assert (outside / "twin.txt").read_text(encoding="utf-8") == "there"


def test_swapping_a_folder_for_a_link_gets_nothing_out(root, outside):
    """Another thread swaps the folder for a link to the outside, as fast as it can."""
    tools = {tool.name: asking(tool) for tool in file_writing_tools(root)}
    folder, ends = root / "sub", threading.Event()

    def swap():
        for number in itertools.count():
            for step in (
                folder.rename,
                lambda _: folder.symlink_to(outside),
                lambda _: folder.unlink(),
                lambda aside: aside.rename(folder),
            ):
                with contextlib.suppress(OSError):  # the folder was made anew in between
                    step(root / f"aside{number}")
            if ends.is_set():
                return

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for number in range(400):
            tools["write_file"](path="sub/k.txt", text=f"{number}", if_exists="replace")
            tools["write_file"](path=f"sub/n{number}.txt", text="x")
            tools["delete_file"](path="sub/k.txt")
    finally:
        ends.set()
        swapper.join()
    assert content_of(outside) == {"k.txt": b"secret"}


def test_a_full_disk_leaves_the_file_as_it_was(root):
    limit = pytest.importorskip("resource")
    before = limit.getrlimit(limit.RLIMIT_FSIZE)
    tools = {tool.name: asking(tool) for tool in file_writing_tools(root)}
    limit.setrlimit(limit.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        errors = [
            refused(tools["write_file"](path="there.txt", text="x" * 50_000, if_exists="replace")),
            refused(tools["write_file"](path="new.txt", text="x" * 50_000)),
        ]
    finally:
        limit.setrlimit(limit.RLIMIT_FSIZE, before)
    assert all("no room" in error.message for error in errors)
    assert content_of(root)["there.txt"] == b"there"
    assert "new.txt" not in content_of(root)


def test_without_openat_the_same_is_refused(root, outside):
    writer = ResolvedWriter(root.resolve(), root_at(root))
    writer.create(("a", "b.txt"), b"1")
    writer.replace(("a", "b.txt"), b"2")
    assert (root / "a" / "b.txt").read_bytes() == b"2"
    for names in (("link.txt",), ("folder-link", "k.txt"), ("pipe",), ("sub",)):
        for act in (lambda: writer.replace(names, b"x"), lambda: writer.remove(names)):  # noqa: B023 - called here
            with pytest.raises(ToolFailure):
                act()
    writer.remove(("a", "b.txt"))
    assert content_of(outside) == {"k.txt": b"secret"}


def test_they_are_offered_only_where_writing_is_allowed(root):
    assert not {"write_file", "delete_file"} & {tool.name for tool in builtin_tools(root=root)}
    tools = {tool.name: tool for tool in builtin_tools(root=root, writes=True)}
    assert tools["write_file"].rules.effect == "writes"
    assert (tools["delete_file"].rules.effect, tools["delete_file"].rules.approval) == ("destroys", True)
    assert isinstance(writer_at(root)[1], WalkedWriter)


def test_a_file_whose_name_is_in_another_encoding_is_the_one_that_is_changed(tools, root):
    old = root / os.fsdecode("中文.txt".encode("gb18030"))
    old.write_text("一", encoding="utf-8")
    count = len(list(root.iterdir()))
    assert refused(tools["write_file"](path="中文.txt", text="x")).code == ErrorCode.PRECONDITION_FAILED
    tools["write_file"](path="中文.txt", text="二", if_exists="append")
    assert old.read_text(encoding="utf-8") == "一二"
    assert len(list(root.iterdir())) == count
    tools["delete_file"](path="中文.txt")
    assert len(list(root.iterdir())) == count - 1


def test_many_who_append_at_once_all_have_their_line_in_the_file(tools, root):
    def append(number):
        return tools["write_file"](path="log.txt", text=f"{number}\n", if_exists="append")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(append, range(40)))
    assert sorted((root / "log.txt").read_text().split(), key=int) == [str(i) for i in range(40)]
