"""Every Python block in the documents is run, and every error code is documented."""

from __future__ import annotations

import ast
import asyncio
import importlib
import logging
import re
from pathlib import Path

import pytest

from toolhand import ErrorCode
from toolhand.core.messages import ModelRequest, Sampling, user
from toolhand.models.local import connect

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("README*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(document: Path) -> list[str]:
    return BLOCK.findall(document.read_text(encoding="utf-8"))


def shape(code: str) -> str:
    """What the code does, whatever language its texts are in."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def asks_a_model(document: Path) -> bool:
    return any('"local' in block for block in blocks(document))


def says_the_same(document: Path) -> bool:
    """Whether a page in Chinese has a model run just what the page in English, which is run, has it run."""
    code = "\n".join(blocks(document))
    english = document.with_name(re.sub(r"\.zh(-CN)?\.md$", ".md", document.name))
    return english != document and asks_a_model(document) and shape(code) == shape("\n".join(blocks(english)))


@pytest.fixture(scope="module")
def loaded():
    """The embedded model, which stays loaded from one page to the next, and says no more than a page needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(connect.__kwdefaults__, "max_tokens", 100)
        model = connect("small")
        asyncio.run(model.complete(ModelRequest(messages=(user("hi"),), sampling=Sampling(max_tokens=1))))
        yield
        asyncio.run(model.close())


def _take_handlers_away() -> None:
    """A page may show how to write the log: its handler holds the stream of this test."""
    logger = logging.getLogger("toolhand")
    logger.handlers[:] = [handler for handler in logger.handlers if isinstance(handler, logging.NullHandler)]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(d, id=str(d.relative_to(ROOT)), marks=pytest.mark.model if asks_a_model(d) else ())
        for d in DOCUMENTS
        if blocks(d) and not says_the_same(d)
    ],
)
def test_the_code_in_the_documents_runs(document, request, monkeypatch, tmp_path, capsys):
    if asks_a_model(document):
        request.getfixturevalue("loaded")
    monkeypatch.chdir(tmp_path)
    request.addfinalizer(_take_handlers_away)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(document):
        code = block.replace('"local"', '"local:small"')  # the small model is enough to see that it runs
        exec(compile(code, str(document), "exec", dont_inherit=True), namespace)
    capsys.readouterr()


@pytest.mark.parametrize("name", ["errors.md", "errors.zh.md"])
def test_every_error_code_is_documented(name):
    text = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    for code in ErrorCode:
        assert f"`{code}`" in text


def test_every_document_exists_in_both_languages():
    for document in (ROOT / "docs").rglob("*.md"):
        if "adr" in document.parts or document.name.endswith(".zh.md"):
            continue
        assert document.with_suffix("").with_suffix(".zh.md").exists(), document


def test_links_between_documents_hold():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} -> {target}"


@pytest.mark.parametrize(("language", "name"), [("en", "gallery.md"), ("zh", "gallery.zh.md")])
def test_the_gallery_is_up_to_date(language, name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    gallery = importlib.import_module("gallery")
    assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == gallery.gallery(language)


@pytest.mark.parametrize(("language", "name"), [("en", "cases.md"), ("zh", "cases.zh.md")])
def test_the_reference_of_case_files_is_up_to_date(language, name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    written = importlib.import_module("case_format")
    assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == written.page(language)


def test_decisions_have_numbers_of_their_own():
    pages = sorted((ROOT / "docs" / "adr").glob("*.md"))
    assert [page.name[:4] for page in pages] == [f"{number:04d}" for number in range(1, len(pages) + 1)]
    for number, page in enumerate(pages, 1):
        assert page.read_text(encoding="utf-8").startswith(f"# {number}. "), page
