"""ModelScope, or what `MODELSCOPE_ENDPOINT` names, through its plain file API.

Source: https://www.modelscope.cn/docs (model files: /api/v1/models/<repository>/repo).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from toolhand.models.weights.catalogue import Entry
from toolhand.models.weights.partial import PartialFile
from toolhand.models.weights.ranged import UnavailableError, download, opened

DEFAULT_ENDPOINT: Final = "https://www.modelscope.cn"


def title(source: Mapping[str, Any]) -> str:
    """What people call it."""
    return f"ModelScope ({source['repository']})"


def fetch(entry: Entry, source: Mapping[str, Any], part: PartialFile) -> tuple[str, int | None]:
    """See `Source.fetch`."""
    endpoint = os.environ.get("MODELSCOPE_ENDPOINT") or DEFAULT_ENDPOINT
    endpoint = (endpoint if "://" in endpoint else f"https://{endpoint}").rstrip("/")
    repository = f"{endpoint}/api/v1/models/{quote(source['repository'])}/repo"
    revision = source.get("revision", "master")
    size, sha256 = _facts(repository, revision, entry.file)
    if entry.sha256 is not None and sha256 not in (None, entry.sha256):
        raise UnavailableError("it holds another file under that name")
    expected = entry.sha256 or sha256
    if expected is None:
        raise UnavailableError("it gives no SHA-256 for the file")
    total = entry.size_bytes or size
    part.open(identity=expected, total=total)
    query = urlencode({"Revision": revision, "FilePath": entry.file})
    download(f"{repository}?{query}", part, total=total)
    return expected, total


def _facts(repository: str, revision: str, file: str) -> tuple[int | None, str | None]:
    """The file's size and SHA-256, as the listing has them."""
    query = urlencode({"Revision": revision, "Recursive": "true"})
    with opened(f"{repository}/files?{query}") as response:
        try:
            listing = json.load(response)
            entries = listing["Data"]["Files"]
            found = next(entry for entry in entries if entry.get("Path") == file)
        except StopIteration:
            raise UnavailableError(f"it has no file {file}") from None
        except (ValueError, LookupError, TypeError, AttributeError, OSError):
            raise UnavailableError("its answer is not a list of files") from None
    size, sha256 = found.get("Size"), str(found.get("Sha256") or "").lower()
    return (size if isinstance(size, int) and size > 0 else None), sha256 or None
