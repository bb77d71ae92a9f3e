"""`Choose`: how the few tools that matter are chosen among many."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolhand.core.errors import SettingsError
from toolhand.core.language import say

if TYPE_CHECKING:  # it loads the HTTP client
    from toolhand.models.embeddings import Embeddings


@dataclass(frozen=True, slots=True, kw_only=True)
class Choose:
    """How many of many tools a model is shown, and how they are found.

    Args:
        k: how many tools each message brings: those that it seems to be about.
        pinned: names of tools that are always shown.
        most: how many may be shown in a session before it begins anew with the last message's and the pinned ones; four times
            `k` by default.
        searches: whether the model gets the tool `search_tools`, with which it looks for others.
        embeddings: a model whose vectors are counted beside the words (extra `vectors`), or its name, such as
            "openai:text-embedding-3-small".

    Raises:
        SettingsError: for numbers that cannot be.
    """

    k: int = 10
    pinned: Collection[str] = ()
    most: int = 0
    searches: bool = True
    embeddings: Embeddings | str | None = None

    def __post_init__(self) -> None:
        if type(self.k) is not int or self.k < 1:
            raise SettingsError(
                say(
                    f"Choose: k is a number of tools from 1 on, and this is {self.k!r}",
                    f"Choose：k 是从 1 开始的工具数量，而不是 {self.k!r}",
                )
            )
        if isinstance(self.pinned, str):
            object.__setattr__(self, "pinned", (self.pinned,))
        least = self.k + len(self.pinned)
        if not self.most:
            object.__setattr__(self, "most", 4 * self.k + len(self.pinned))
        elif self.most < least:
            raise SettingsError(
                say(
                    f"Choose: most={self.most} has no room for k={self.k} and {len(self.pinned)} pinned tools: at least {least}",
                    f"Choose：most={self.most} 容不下 k={self.k} 和 {len(self.pinned)} 个固定工具：至少 {least}",
                )
            )
