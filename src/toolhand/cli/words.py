"""The command line's words in both languages."""

from __future__ import annotations

from toolhand.core.language import say

__all__ = ["say"]
