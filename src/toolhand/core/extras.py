"""The command that installs an extra, from where the package itself was installed."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit


def install_command(extra: str) -> str:
    """The command, such as "pip install 'toolhand[local]'": with the folder's path where the package came from a folder.

    Args:
        extra: its name.

    Source: PEP 610, direct_url.json.
    """
    folder, is_editable = _origin()
    return f"pip install {'-e ' if is_editable else ''}'{folder or 'toolhand'}[{extra}]'"


def _origin() -> tuple[str, bool]:
    """The folder that the package was installed from, empty where it was none, and whether it is used from there."""
    try:
        told = json.loads(metadata.distribution("toolhand").read_text("direct_url.json") or "{}")
        url = urlsplit(str(told.get("url", "")))
        folder = unquote(url.path) if url.scheme == "file" else ""
        is_editable = bool(told.get("dir_info", {}).get("editable"))
        return (folder, is_editable) if folder and Path(folder).is_dir() else ("", False)
    except (metadata.PackageNotFoundError, OSError, ValueError, AttributeError):
        return "", False
