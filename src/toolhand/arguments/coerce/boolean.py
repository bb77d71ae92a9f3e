"""True and false by their words. Never by truthiness: a word that is not in the table is refused."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

from toolhand.arguments.coerce.walk import Walk, refuse
from toolhand.arguments.faults import Trouble
from toolhand.arguments.shape import Shape

_LITERALS: Final = {"true": True, "false": False}
_WORDS: Final = {
    **dict.fromkeys(("yes", "y", "t", "on", "1", "enable", "enabled"), True),
    **dict.fromkeys(("是", "是的", "对", "真", "开", "开启", "打开", "启用", "需要", "要"), True),
    **dict.fromkeys(("no", "n", "f", "off", "0", "disable", "disabled"), False),
    **dict.fromkeys(("否", "不", "不是", "假", "关", "关闭", "禁用", "停用", "不需要", "不要"), False),
}


def coerce_boolean(sent: Any, shape: Shape, path: str, walk: Walk) -> Any:
    """A boolean from its word, or from 1 and 0."""
    if isinstance(sent, list) and len(sent) == 1:
        walk.note("array_to_item", path, sent, sent[0])
        return walk.read(sent[0], shape, path)
    if isinstance(sent, str):
        word = unicodedata.normalize("NFKC", sent).strip().strip("'\"").casefold()
        if word in _LITERALS:
            walk.note("string_to_boolean", path, sent, _LITERALS[word])
            return _LITERALS[word]
        if word in _WORDS:
            walk.note("word_to_boolean", path, sent, _WORDS[word])
            return _WORDS[word]
    elif not isinstance(sent, bool) and isinstance(sent, int | float) and sent in (0, 1):
        walk.note("number_to_boolean", path, sent, sent == 1)
        return sent == 1
    return refuse(Trouble.TYPE, shape, path, sent)
