"""Builds the site of the documents in English and Chinese into `site/`: `python scripts/build_docs.py [--serve]` (`make docs`).

A page `x.md` has its Chinese in `x.zh.md` beside it. The site generator knows one language a build, so each language's
pages are put into a folder of their own under their plain names, with links to match, and built from there. The order of
pages is in `docs/nav.toml`. Whatever the generator complains about ends the build.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SITE = ROOT / "site"
FOLDER = ROOT / ".venv-docs"
"""An environment of the generator's own: it is 90 MB, and only whoever builds the site needs it."""

LANGUAGES = {"en": "", "zh": "zh"}
"""Each language, and where it is under the site."""

BESIDE = {ROOT / "ARCHITECTURE.md": "project/architecture.md", ROOT / "CHANGELOG.md": "project/changelog.md"}
"""Files of the project that pages link to, and where they are on the site."""

LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
SWITCH = re.compile(r"^\[(中文|English)\]\([^)]+\)$", re.MULTILINE)
COMPLAINT = re.compile(r"\b(?:warning|error|griffe)\b", re.IGNORECASE)
SECTIONS = {
    "decisions": {"en": "Decisions", "zh": "决策（英文）"},
    "project": {"en": "Project", "zh": "项目（英文）"},
}


def sources(language: str) -> dict[str, Path]:
    """The pages of a language, by their path on the site."""
    found = {target: source for source, target in BESIDE.items()}
    for path in sorted(DOCS.rglob("*.md")):
        is_chinese, place = path.name.endswith(".zh.md"), path.relative_to(DOCS).as_posix()
        if "adr" in path.parts or is_chinese == (language == "zh"):
            found[place.replace(".zh.md", ".md")] = path
    return found


def staged(text: str, source: Path, place: str, pages: dict[str, Path]) -> str:
    """A page's text with its links as they are on the site; a link to what is not there becomes its words."""

    def link(found: re.Match[str]) -> str:
        words, (target, _, anchor) = found[1], found[2].partition("#")
        if not target or ":" in target:
            return found[0]
        there = (source.parent / target).resolve()
        on_site = BESIDE.get(there) or there.as_posix().removeprefix(f"{DOCS}/").replace(".zh.md", ".md")
        if on_site not in pages and there.suffix != ".html":
            return words
        way = os.path.relpath(on_site, Path(place).parent).replace(os.sep, "/")
        return f"[{words}]({way}{'#' + anchor if anchor else ''})"

    def switch(found: re.Match[str]) -> str:
        address = place.removesuffix("index.md").replace(".md", "/")
        up = "../" * (place.count("/") + (found[1] == "English"))
        return f'<a href="{up}{"zh/" if found[1] == "中文" else ""}{address}">{found[1]}</a>'

    parts = re.split(r"(^(`{3,}).*?^\2$)", SWITCH.sub(switch, text, count=1), flags=re.DOTALL | re.MULTILINE)
    return "".join(
        LINK.sub(link, part) if number % 3 == 0 else part
        for number, part in enumerate(parts)
        if number % 3 != 2
    )


def nav(language: str, pages: dict[str, Path]) -> list[dict[str, Any]]:
    """The sections with their pages."""
    told = tomllib.loads((DOCS / "nav.toml").read_text(encoding="utf-8"))["section"]
    sections = [{section[language]: section["pages"]} for section in told]
    decisions = [page for page in pages if page.startswith("adr/")]
    return [
        *sections,
        {SECTIONS["decisions"][language]: decisions},
        {SECTIONS["project"][language]: list(BESIDE.values())},
    ]


def settings(language: str, pages: dict[str, Path]) -> dict[str, Any]:
    """What the generator is told. Fonts and icons are the page's own: nothing is fetched by the build or by a reader."""
    return {
        "site_name": "Toolhand",
        "docs_dir": "docs",
        "site_dir": "site",
        "nav": nav(language, pages),
        "theme": {
            "language": language,
            "font": False,
            "features": ["navigation.sections", "navigation.top", "content.code.copy", "toc.follow"],
        },
        "extra": {
            "alternate": [
                {"name": "English", "link": "./" if language == "en" else "../", "lang": "en"},
                {"name": "中文", "link": "zh/" if language == "en" else "./", "lang": "zh"},
            ]
        },
        "markdown_extensions": [
            "tables",
            {"toc": {"slugify": {"object": "pymdownx.slugs.slugify", "kwds": {"case": "lower"}}}},
            "pymdownx.superfences",
            "pymdownx.highlight",
        ],
        "plugins": {
            "search": {},
            "mkdocstrings": {
                "handlers": {
                    "python": {
                        "paths": [str(ROOT / "src")],
                        "options": {
                            "docstring_style": "google",
                            # The keys of a TypedDict are described like parameters, and are none.
                            "docstring_options": {"warn_unknown_params": False, "warn_missing_types": False},
                            "show_source": False,
                            "heading_level": 3,
                            "show_root_heading": True,
                            "members_order": "source",
                            "merge_init_into_class": True,
                            "filters": ["!^_"],
                        },
                    }
                }
            },
        },
    }


def stage(language: str, folder: Path) -> Path:
    """Puts a language's pages and the generator's settings into a folder; gives the settings' file."""
    pages = sources(language)
    for place, source in pages.items():
        target = folder / "docs" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(staged(source.read_text(encoding="utf-8"), source, place, pages), encoding="utf-8")
    for path in DOCS.rglob("*.html"):
        shutil.copy(path, (folder / "docs" / path.relative_to(DOCS)).parent)
    file = folder / "mkdocs.yml"
    file.write_text(
        json.dumps(settings(language, pages), ensure_ascii=False), encoding="utf-8"
    )  # JSON is YAML
    return file


def python() -> str:
    """The interpreter with the extra `docs`, which is installed when it is first needed."""
    found = FOLDER / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not (FOLDER / ".ready").exists():
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "optional-dependencies"
        ]
        print(f"installing {', '.join(extras['docs'])} …", flush=True)
        venv.create(FOLDER, with_pip=True)
        subprocess.run([str(found), "-m", "pip", "install", "--quiet", *extras["docs"]], check=True)
        (FOLDER / ".ready").touch()
    return str(found)


def main(arguments: list[str]) -> int:
    """Builds both languages; with --serve the site is then shown on this machine."""
    shutil.rmtree(SITE, ignore_errors=True)
    for language, place in LANGUAGES.items():
        with tempfile.TemporaryDirectory() as name:
            file = stage(language, Path(name))
            command = [python(), "-m", "zensical", "build", "--strict", "--config-file", str(file)]
            done = subprocess.run(command, check=False, cwd=name, capture_output=True, text=True)
            said = done.stdout + done.stderr
            if done.returncode or COMPLAINT.search(said):
                print(said)
                return done.returncode or 1
            shutil.copytree(Path(name) / "site", SITE / place, dirs_exist_ok=True)
        print(f"site/{place}: {len(sources(language))} pages", flush=True)
    if "--serve" in arguments:
        return subprocess.run(
            [sys.executable, "-m", "http.server", "--directory", str(SITE), "--bind", "127.0.0.1"],
            check=False,
        ).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
