"""Builds the wheel and the sdist and checks them: `python scripts/check_release.py [--without-extras]` (`make release-check`).

What pip needs comes from the index that it is configured for. Nothing is uploaded; the files are left in `dist/`.
"""

from __future__ import annotations

import email.parser
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"

TRIAL = """
from toolhand import Agent, __version__, parse, tool
from toolhand.testing import ScriptedModel

@tool
def add(a: int, b: int) -> int:
    "Adds."
    return a + b

said = '{"name": "add", "arguments": {"a": 1, "b": "2"}}'
run = Agent(ScriptedModel([said, "3"]), [add]).run_sync("1 + 2?")
assert run.text == "3" and run.results[0].data == 3, run
assert parse(said, [add]).calls[0].arguments == {"a": 1, "b": 2}
print(__version__)
"""
"""What an installation of the core alone must be able to do."""

IN_SDIST = (
    "README.md", "README.zh-CN.md", "LICENSE", "CHANGELOG.md", "ARCHITECTURE.md", "docs/index.md",
    "examples/README.md", "tests/conftest.py", "scripts/setup.py", "requirements.lock", "Makefile",
)  # fmt: skip


def version() -> str:
    """The version, from the one place where it stands."""
    text = (ROOT / "src" / "toolhand" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)[1]  # type: ignore[index]


def findings(wheel: Path, sdist: Path) -> list[str]:
    """What is wrong with the two files."""
    found: list[str] = []
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
        metadata = next(name for name in packed if name.endswith(".dist-info/METADATA"))
        told = email.parser.Parser().parsestr(archive.read(metadata).decode())
    source = ROOT / "src"
    there = {
        path.relative_to(source).as_posix() for path in (source / "toolhand").rglob("*") if path.is_file()
    }
    there = {name for name in there if "__pycache__" not in name}
    found += [f"the wheel lacks {name}" for name in sorted(there - packed)]
    found += [
        f"the wheel has {name}"
        for name in sorted(packed - there)
        if not name.split("/")[0].endswith(".dist-info")
    ]
    if told["Version"] != version() or told["License-Expression"] != "Apache-2.0":
        found.append(f"the wheel says version {told['Version']} and licence {told['License-Expression']}")
    with tarfile.open(sdist) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    found += [f"the sdist lacks {name}" for name in IN_SDIST if name not in names]
    found += [
        f"the sdist has {name}"
        for name in names
        if name.startswith((".venv", "site/", "dist/")) or name.endswith(".gguf")
    ]
    return found


def extras(wheel: Path) -> list[str]:
    """The extras that the wheel offers."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.parser.Parser().parsestr(archive.read(metadata).decode()).get_all("Provides-Extra", [])


def run(*command: str | Path) -> str:
    """Runs a command; its words are shown, and all ends, where it fails."""
    done = subprocess.run(
        [str(word) for word in command], check=False, capture_output=True, text=True, cwd=ROOT
    )
    if done.returncode:
        raise SystemExit(
            f"{' '.join(str(word) for word in command)[:200]} failed:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def environment(folder: Path) -> Path:
    """A new environment; gives its interpreter."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def main(arguments: list[str]) -> int:
    """Builds, checks, installs."""
    with tempfile.TemporaryDirectory() as name:
        tools = environment(Path(name) / "tools")
        print("building wheel and sdist …", flush=True)
        run(tools, "-m", "pip", "install", "--quiet", "build", "twine")
        shutil.rmtree(DIST, ignore_errors=True)
        run(tools, "-m", "build", "--outdir", DIST, ROOT)
        (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
        run(tools, "-m", "twine", "check", "--strict", wheel, sdist)
        if wrong := findings(wheel, sdist):
            print("\n".join(wrong))
            return 1
        print(
            f"{wheel.name}: {wheel.stat().st_size:,} bytes; {sdist.name}: {sdist.stat().st_size:,} bytes",
            flush=True,
        )
        for number, file in enumerate((wheel, sdist)):
            python = environment(Path(name) / f"fresh{number}")
            run(python, "-m", "pip", "install", "--quiet", file)
            said = run(python, "-I", "-c", TRIAL).strip()
            print(f"installed from {file.name}, it works and says {said}", flush=True)
        for extra in [] if "--without-extras" in arguments else extras(wheel):
            run(
                python,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--dry-run",
                "--ignore-installed",
                f"{wheel}[{extra}]",
            )
            print(f"[{extra}] resolves", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
