"""The site of the documents: every page has its place, every link leads to a page, and the build has nothing to complain about."""

from __future__ import annotations

import importlib
import os
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def site(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("build_docs")


def test_every_page_is_in_the_navigation_once():
    told = tomllib.loads((DOCS / "nav.toml").read_text(encoding="utf-8"))["section"]
    listed = Counter(page for section in told for page in section["pages"])
    there = {
        path.relative_to(DOCS).as_posix()
        for path in DOCS.rglob("*.md")
        if "adr" not in path.parts and not path.name.endswith(".zh.md")
    }
    assert listed == Counter(there)
    assert all(section["en"] and section["zh"] for section in told)


def test_the_index_names_every_page_of_the_reference_and_of_the_explanations():
    for name in ("index.md", "index.zh.md"):
        text = (DOCS / name).read_text(encoding="utf-8")
        suffix = ".zh.md" if name.endswith(".zh.md") else ".md"
        for folder in ("reference", "explanation"):
            for path in (DOCS / folder).glob("*.md"):
                if path.name.endswith(".zh.md") == (suffix == ".zh.md"):
                    assert f"]({folder}/{path.name})" in text, path


@pytest.mark.parametrize("language", ["en", "zh"])
def test_links_lead_to_pages_of_the_same_language(site, language):
    pages = site.sources(language)
    assert {
        "index.md",
        "reference/errors.md",
        "project/architecture.md",
        "adr/0001-neutral-history.md",
    } <= set(pages)
    count = 0
    for place, source in pages.items():
        text = site.staged(source.read_text(encoding="utf-8"), source, place, pages)
        assert ".zh.md" not in re.sub(r"`[^`]+`", "", text), place
        if source.is_relative_to(DOCS) and "adr" not in source.parts:
            other = "English" if language == "zh" else "中文"
            assert re.search(rf'^<a href="(?:\.\./)*[\w/-]*">{other}</a>$', text, re.MULTILINE), place
        for target in re.findall(r"\]\(([^)#:\s]+\.md)", text):
            assert os.path.normpath(Path(place).parent / target) in pages, (place, target)
            count += 1
    assert count > 50


def slugs(text: str) -> set[str]:
    """The anchors of a page's headings."""
    heads = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", head).strip().lower()) for head in heads}


def test_anchors_lead_to_headings():
    for source in [*ROOT.glob("README*.md"), *DOCS.rglob("*.md")]:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)]+)\)", source.read_text(encoding="utf-8")):
            there = (source.parent / target).resolve() if target else source
            assert anchor in slugs(there.read_text(encoding="utf-8")), (source.name, target, anchor)


def test_a_link_out_of_the_documents_becomes_its_words(site):
    source, pages = DOCS / "how-to" / "evaluate.md", site.sources("en")
    text = "[中文](evaluate.zh.md)\n\n[suite](../../examples/evals/cases.yaml), [why](../explanation/why.md#what-follows), [x](https://a.b)\n\n"
    text += "```\n[kept](../../x.py)\n```\n"
    assert site.staged(text, source, "how-to/evaluate.md", pages) == (
        '<a href="../zh/how-to/evaluate/">中文</a>\n\nsuite, [why](../explanation/why.md#what-follows), [x](https://a.b)\n\n'
        "```\n[kept](../../x.py)\n```\n"
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_site_is_built_without_a_complaint(site, monkeypatch, tmp_path, capsys):
    if not (site.FOLDER / ".ready").exists():
        pytest.skip("THE SITE IS NOT BUILT: `make docs` makes the generator's environment")
    monkeypatch.setattr(site, "SITE", tmp_path / "site")
    assert site.main([]) == 0, capsys.readouterr().out
    for page in ("index.html", "zh/index.html", "reference/api/index.html", "zh/how-to/tools/index.html"):
        assert (tmp_path / "site" / page).exists()
    api = (tmp_path / "site" / "reference" / "api" / "index.html").read_text(encoding="utf-8")
    assert "A model with tools." in api  # the docstring of Agent
    for page in (tmp_path / "site").rglob("*.html"):
        written = page.read_text(encoding="utf-8")
        assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', written) == [], page
