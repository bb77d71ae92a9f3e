"""The process that pages are read in. It is run as a script and imports nothing of ours but a file beside it.

Its own process, because a page can be written so that reading it takes any time and memory, in C code that nothing stops. Here
the operating system bounds memory, and the parent ends the process when the time is over.

A line when it is ready, as loading the library takes a second; then one request a line on stdin, one answer a line on
stdout, both JSON: {"html", "url", "links"} → {"title", "date", "site", "text"}.
The first argument is the folder that trafilatura is in.
"""

from __future__ import annotations

import importlib
import logging
import sys
from pathlib import Path
from typing import Any, Final

MEMORY_BYTES: Final = 1024 * 2**20
_FIELDS: Final = {"title": "title", "date": "date", "site": "sitename"}
_SHORT: Final = "80"
"""Characters from which on a text is the page's main one. The library's 250 are more than a short page in Chinese has."""


def read(request: dict[str, Any]) -> dict[str, str]:
    """What a page says, as Markdown without its menus, and what it says of itself."""
    from trafilatura import extract_with_metadata, html2txt  # noqa: PLC0415 - the path is set first
    from trafilatura.settings import use_config  # noqa: PLC0415

    config = use_config()
    config.set("DEFAULT", "MIN_EXTRACTED_SIZE", _SHORT)
    found: Any = extract_with_metadata(
        request["html"],
        url=request["url"],
        output_format="markdown",
        include_comments=False,
        include_formatting=True,
        include_links=request["links"],
        config=config,
    )
    answer = {name: str(getattr(found, field, None) or "") for name, field in _FIELDS.items()}
    text = str(getattr(found, "text", None) or "")
    if text.startswith("---\n"):  # what it says of itself, once more
        text = text.partition("\n---\n")[2]
    # A page of few words, such as a form, has no main text: then all of its text is it.
    return {**answer, "text": text if text.strip() else html2txt(request["html"])}


def main() -> None:
    """Answers requests until stdin ends."""
    sys.path += [*sys.argv[1:], str(Path(__file__).parent)]
    lines: Any = importlib.import_module("_answering_lines")
    sys.setrecursionlimit(10_000)
    lines.bound_this_process(MEMORY_BYTES)
    logging.disable(logging.CRITICAL)
    read({"html": "<p>ready</p>", "url": "", "links": False})
    lines.say({})
    lines.serve(
        read, lambda error: {"error": type(error).__name__}
    )  # a page can make a parser raise anything


if __name__ == "__main__":
    main()
