"""Which parameter each sent key means: by name, spelling, alias; where a required one is missing, by its meaning.

A key is never moved to a parameter by elimination alone: `country` is not the missing `city`. Only a key that says nothing,
such as `input`, is worth what a value without a key is worth. Everything else is left out, and said.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

from toolhand.arguments.suggest import is_near
from toolhand.tools.collection import folded

_SYNONYMS: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(words.split())
    for words in (
        "city location place town cityname locationname placename 城市 地点 位置 地方 所在地",
        "query q question keyword keywords search term searchterm searchquery searchtext 查询 关键词 关键字 搜索词 问题",
        "url link uri href website webpage address page 网址 链接",
        "path file filename filepath pathname 路径 文件 文件名 文件路径",
        "date day when 日期 日子",
        "text content body message msg contents 内容 正文 文本 消息",
        "id identifier key 编号",
        "name title 名称 名字 标题",
        "limit count n num number maxresults topk top size 数量 个数",
        "to target recipient receiver destination dest end 收件人 目的地 目标 终点 到",
        "from source src origin sender start 来源 出发地 起点 从",
        "amount value sum money total 金额 数额",
        "command cmd script shell 命令",
        "code script program source 代码",
        "expression expr formula equation calculation 表达式 算式 公式",
        "language lang locale 语言",
        "email mail emailaddress mailaddress 邮箱 邮件地址",
        "phone tel telephone phonenumber mobile 电话 手机 手机号 电话号码",
        "user username userid 用户 用户名",
        "symbol ticker stock stockcode code 股票代码 代码",
        "timezone tz zone 时区",
        "unit units 单位",
        "price cost fee 价格 费用",
    )
)
"""Words that different tools use for the same parameter."""

COMMENTARY: Final = frozenset([
    "comment", "comments", "reason", "reasoning", "thought", "thoughts", "thinking", "explanation", "note",
    "notes", "description", "summary", "rationale", "justification", "purpose", "intent", "type", "status",
    "confidence", "说明", "备注", "原因", "理由", "思考", "解释", "描述", "注释",
])  # fmt: skip
"""Keys under which models talk about the call: never taken for a parameter that was not sent."""

_GENERIC: Final = frozenset([
    "input", "inputs", "query", "q", "text", "value", "val", "arg", "arg0", "arg1", "args", "argument", "param", "parameter",
    "string", "data", "x", "content", "参数", "输入", "内容", "值",
])  # fmt: skip
"""Keys that say nothing of what they hold: worth as much as a value without a key."""

_NEUTRAL: Final = frozenset(
    ("name", "id", "number", "value", "text", "string", "str", "param", "arg", "input")
)
_SAME: Final = {"no": "number", "num": "number", "nr": "number", "identifier": "id"}
_VOCABULARY: Final = COMMENTARY.union(_GENERIC, *_SYNONYMS)

_TOKENS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")


def fold(key: str) -> str:
    """A key without case, width, joints, quotes and blanks."""
    if not key.isascii():
        key = unicodedata.normalize("NFKC", key)
    return folded(key.strip().strip("'\"`“”‘’*:：?$@-").strip())


def spellings(names: Iterable[str], aliases: Mapping[str, str]) -> dict[str, str]:
    """Every folded spelling that means exactly one parameter.

    Args:
        names: the declared parameters.
        aliases: alias → declared parameter.
    """
    found: dict[str, str | None] = {}
    declared = list(names)
    for spelling, name in [*((name, name) for name in declared), *aliases.items()]:
        key = fold(spelling)
        if name in declared:
            found[key] = name if found.get(key, name) == name else None
    return {key: name for key, name in found.items() if name is not None}


def is_commentary(key: str) -> bool:
    """Whether a key says something about the call and is no argument."""
    return key.startswith("_") or fold(key) in COMMENTARY


def are_related(key: str, name: str) -> bool:
    """Whether a key is another word for a parameter: a synonym, or the same word with one beside it that adds nothing."""
    one, other = fold(key), fold(name)
    if any(one in group and other in group for group in _SYNONYMS):
        return True
    ours, theirs = _tokens(key), _tokens(name)
    if not ours or not theirs or not (ours < theirs or theirs < ours):
        return False
    # `city_name` is the `city`, and an `id` the `order_id`; a `max_price` is not the `price`.
    return ours ^ theirs <= _NEUTRAL or (len(ours) == 1 and ours <= _NEUTRAL)


def _tokens(name: str) -> frozenset[str]:
    return frozenset(_SAME.get(token.lower(), token.lower()) for token in _TOKENS.findall(name))


def renamed(unknown: Iterable[str], missing: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Which unknown key stands for which missing required parameter, where each has only the other.

    Args:
        unknown: keys that name no parameter.
        missing: required parameters that no key names.

    Returns:
        key → (parameter, kind of the liberty).
    """
    keys = [key for key in unknown if not is_commentary(key)]
    gaps = list(missing)
    found: dict[str, tuple[str, str]] = {}
    for kind, relates in (("near_key", is_slip), ("renamed_key", are_related)):
        pairs = [(key, gap) for key in keys if key not in found for gap in gaps if relates(key, gap)]
        for key, gap in pairs:
            if sum(key == other for other, _ in pairs) == 1 == sum(gap == other for _, other in pairs):
                found[key] = (gap, kind)
        gaps = [gap for gap in gaps if all(gap != name for name, _ in found.values())]
    if not found and len(keys) == 1 == len(gaps) and fold(keys[0]) in _GENERIC:
        found[keys[0]] = (gaps[0], "generic_key")
    return found


def is_slip(key: str, name: str) -> bool:
    """Whether a key is misspelt; one that is a word of its own, as `date` beside `data`, is not."""
    return fold(key) not in _VOCABULARY and is_near(fold(key), fold(name))
