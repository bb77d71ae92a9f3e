"""Rules on what providers take of a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolhand.core.tools import Tool
from toolhand.lint.finding import Finding
from toolhand.tools.forms.exported import exported

FORMS: Final = ("openai", "openai-strict", "anthropic", "gemini")

_TOLD: Final = "is told in the description"


def quirks(tool: Tool) -> Iterator[Finding]:
    """What of its schema cannot be said, or only in words; one finding for each loss, with the forms that it concerns."""
    lost: dict[str, list[str]] = {}
    for form in FORMS:
        for note in exported(tool, form).notes:
            if note.endswith(_TOLD):  # a model reads it all the same
                continue
            lost.setdefault(note.removeprefix(f"tool '{tool.name}'").lstrip(": "), []).append(form)
    for note, forms in lost.items():
        path = note.split(" ", 1)[0].rstrip(":") if note.startswith("$") else "$"
        yield Finding(
            rule="provider-quirk",
            tool=tool.name,
            path=path,
            facts={"forms": ", ".join(forms), "note": note.rstrip(".")},
        )


CHECKS: Final = (quirks,)
