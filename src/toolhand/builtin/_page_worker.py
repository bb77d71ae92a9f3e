"""The process that pages are read in. It is run as a script and imports nothing of ours.

Its own process, because a page can be written so that reading it takes any time and memory, in C code that nothing stops. Here
the operating system bounds memory, and the parent ends the process when the time is over.

A line when it is ready, as loading the library takes a second; then one request a line on stdin, one answer a line on
stdout, both JSON: {"html", "url", "links"} → {"title", "date", "site", "text"}.
The first argument is the folder that trafilatura is in.
"""

from __future__ import annotations

import json
import logging
import sys
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


def _bound_this_process() -> None:
    try:
        import resource  # noqa: PLC0415 - POSIX only
    except ImportError:
        return
    for limit, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        hard = resource.getrlimit(limit)[1]
        try:
            resource.setrlimit(limit, (min(most, hard) if hard != resource.RLIM_INFINITY else most,) * 2)
        except (ValueError, OSError):  # macOS refuses RLIMIT_AS
            continue


def main() -> None:
    """Answers requests until stdin ends."""
    sys.path.extend(sys.argv[1:])
    sys.setrecursionlimit(10_000)
    _bound_this_process()
    logging.disable(logging.CRITICAL)
    read({"html": "<p>ready</p>", "url": "", "links": False})
    _say({})
    for line in sys.stdin.buffer:
        try:
            answer = read(json.loads(line))
        except Exception as error:  # noqa: BLE001 - a page can make a parser raise anything
            answer = {"error": type(error).__name__}
        _say(answer)


def _say(answer: dict[str, str]) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
