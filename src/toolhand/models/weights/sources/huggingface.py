"""Hugging Face, or the mirror that `HF_ENDPOINT` names.

`huggingface_hub` finds the file and its hash, with the user's token. The bytes come by plain ranges, as they do from every other
source, so that progress, resuming and cancelling are the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from toolhand.core.extras import install_command
from toolhand.models.weights.catalogue import Entry
from toolhand.models.weights.partial import PartialFile
from toolhand.models.weights.ranged import REACH_SECONDS, UnavailableError, download, within

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def title(source: Mapping[str, Any]) -> str:
    """What people call it."""
    mirror = os.environ.get("HF_ENDPOINT")
    where = f"Hugging Face mirror {urlsplit(mirror).netloc or mirror}" if mirror else "Hugging Face"
    return f"{where} ({source['repository']})"


def fetch(entry: Entry, source: Mapping[str, Any], part: PartialFile) -> tuple[str, int | None]:
    """See `Source.fetch`."""
    try:
        from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url  # noqa: PLC0415 - optional, slow
        from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined] # noqa: PLC0415
    except ImportError:
        raise UnavailableError(f"huggingface_hub is not installed: {install_command('local')}") from None
    # Read here, as the library reads it only when it is imported.
    endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    revision = source.get("revision", "main")
    url = hf_hub_url(source["repository"], entry.file, revision=revision, endpoint=endpoint)
    try:
        found = within(REACH_SECONDS, lambda: get_hf_file_metadata(url, timeout=REACH_SECONDS))
    except TimeoutError:
        raise UnavailableError(f"no answer within {REACH_SECONDS:g} s") from None
    except Exception as error:
        # The library's own exceptions and those of whichever HTTP client it uses have no common root.
        raise UnavailableError(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
    sha256 = found.etag if found.etag and _SHA256.fullmatch(found.etag) else None
    if entry.sha256 is not None and sha256 not in (None, entry.sha256):
        raise UnavailableError("it holds another file under that name")
    expected = entry.sha256 or sha256
    if expected is None:
        raise UnavailableError("it gives no SHA-256 for the file")
    total = entry.size_bytes or found.size
    part.open(identity=expected, total=total)
    is_own_host = urlsplit(found.location).netloc == urlsplit(endpoint).netloc
    # The token must not follow a redirect to another host.
    headers = {key: str(value) for key, value in build_hf_headers().items()} if is_own_host else {}
    download(found.location, part, total=total, headers=headers)
    return expected, total
