"""What a plan's check and run say to the model, in both languages (`words.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from toolhand.core.language import Language
from toolhand.parsing.plans.mistakes import filled


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(files("toolhand.parsing.plans").joinpath("words.toml").read_text("utf-8"))


def said(key: str, language: Language, /, **words: Any) -> str:
    """A sentence."""
    return filled(_table()[key][language], words)
