"""Regular expressions that are compiled when they are first used: the large tables cost nothing to a program that needs none."""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    def __init__(self, text: str, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Only what is not there yet comes here: each method is looked up once, and then costs what it always does.
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for method in (
            "search",
            "match",
            "fullmatch",
            "finditer",
            "findall",
            "sub",
            "subn",
            "split",
            "flags",
            "groups",
        ):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, made at its first use. A mistake in the text shows only then.

    Args:
        text: the expression.
        flags: as for `re.compile`.
    """
    return cast("re.Pattern[str]", _Lazy(text, flags))
