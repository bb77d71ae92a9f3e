"""What a shrunk result says to the model about what is left out, in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolhand.core.language import Language

WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "items": "{left_out:,} of {total:,} items left out",
        "rows": "{left_out:,} of {total:,} rows left out",
        "entries": "{left_out:,} of {total:,} entries left out",
        "characters": "{left_out:,} of {total:,} characters left out",
        "more": 'Call read_result(handle="{handle}", start={start}) to read on.',
        "more_of": 'Call read_result(handle="{handle}", path="{path}", start={start}) to read on.',
        "one": "One {unit} alone is longer than what can be shown, so its long texts are shortened.",
        "content": "({total:,} characters of encoded content)",
        "row": "row",
        "item": "item",
    },
    "zh": {
        "items": "共 {total:,} 项，省略了 {left_out:,} 项",
        "rows": "共 {total:,} 行，省略了 {left_out:,} 行",
        "entries": "共 {total:,} 个字段，省略了 {left_out:,} 个",
        "characters": "共 {total:,} 个字符，省略了 {left_out:,} 个",
        "more": '要继续读取，请调用 read_result(handle="{handle}", start={start})。',
        "more_of": '要继续读取，请调用 read_result(handle="{handle}", path="{path}", start={start})。',
        "one": "单独一{unit}就超过了可显示的长度，其中的长文本已缩短。",
        "content": "（编码内容，共 {total:,} 个字符）",
        "row": "行",
        "item": "项",
    },
}
