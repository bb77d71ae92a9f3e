"""Another package, as a stranger would install it: a module and its entry points."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from toolhand.core import plugins
from toolhand.protocols.reading import openings

_NUMBERS = count()
_KEPT = (
    plugins.found,
    openings.families,
    openings.line_families,
    openings.holding,
    openings.interesting,
    openings.table,
    openings.markers_only,
    openings.may_ask,
)

Install = Callable[..., str]


@contextmanager
def installing(folder: Path) -> Iterator[Install]:
    """`install(source, group="name = :attribute")` writes a module and its entry points; all of it is gone in the end."""
    modules: list[str] = []

    def install(source: str, **entries: str) -> str:
        module = f"own_package_{next(_NUMBERS)}"
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
        about = folder / f"{module}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        lines = []
        for group, entry in entries.items():
            name, _, attribute = entry.partition(":")
            lines += [
                f"[toolhand.{group.replace('__', '.')}]",
                f"{name} = {module}{':' + attribute if attribute else ''}",
            ]
        (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
        modules.append(module)
        forget()
        return module

    def forget() -> None:
        importlib.invalidate_caches()
        for kept in _KEPT:
            kept.cache_clear()

    sys.path.insert(0, str(folder))
    try:
        yield install
    finally:
        sys.path.remove(str(folder))
        for module in modules:
            sys.modules.pop(module, None)
        forget()
