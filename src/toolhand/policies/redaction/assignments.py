"""Finds secrets in a text by the names before them: `API_KEY=…`, `"password": "…"`, `?token=…`, `--secret …`, `密码：…`.

A text is prose, code, a log or JSON, so not everything behind such a name is a secret: a type, a call, a placeholder, a
sentence about passwords stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from toolhand.core.lazily import lazy_pattern
from toolhand.policies.redaction.masks import DECLARED, MASKED, SECRET
from toolhand.policies.redaction.names import folded, holds_secret, looks_random, promises_secret
from toolhand.policies.redaction.vocabulary import NO_SECRETS, QUERY_PARAMETERS

_CORES: Final = (
    "passw", "passphrase", "passcode", "pwd", "secret", "token", "key", "credential", "authorization", "cookie", "jwt", "cvv",
    "cvc", "otp", "sig", "auth", "密码", "口令", "密钥", "私钥", "令牌", "验证码", "暗号", "凭证",
)  # fmt: skip
_NAME_BEFORE: Final = lazy_pattern(r"[A-Za-z0-9_.\-\u3400-\u9fff]{0,48}$")
_SEPARATOR: Final = lazy_pattern(
    r"(?P<rest>[A-Za-z0-9_\-]{0,24}+)(?P<close>\\?[\"'\]`”’）)*]{0,3}+)"
    r"(?P<joint>\s{0,3}(?::=|=>|[:=：＝])\s{0,3}|(?<=[码令钥牌号])[是为]\s?|(?<=\w)[ ]is[ ]|(?<=\w)[ ](?=[^\s]))"
    r"(?:[fFrRbBuU]{1,2}(?=[\"']))?(?P<open>(?:\\?[\"'`“‘])?)"
)
_QUOTED: Final = {
    '"': lazy_pattern(r'(?:[^"\\\n]|\\.){1,8192}+(?=")'),
    "'": lazy_pattern(r"(?:[^'\\\n]|\\.){1,8192}+(?=')"),
    "`": lazy_pattern(r"[^`\n]{1,8192}+(?=`)"),
    "“": lazy_pattern(r"[^”\n]{1,8192}+(?=”)"),
    "‘": lazy_pattern(r"[^’\n]{1,8192}+(?=’)"),
    '\\"': lazy_pattern(r'[^"\\\n]{1,8192}+(?=\\")'),
    "\\'": lazy_pattern(r"[^'\\\n]{1,8192}+(?=\\')"),
}
_ITEM: Final = lazy_pattern(r"(?P<mark>\\?[\"'])(?P<said>[^\"'\\\n]{0,8192}+)(?P=mark)")
_LONGEST_LIST: Final = 8_192
_TO_BLANK: Final = lazy_pattern(r"[^\s\"'`]{1,8192}+")
_TO_BREAK: Final = lazy_pattern(r"[^\s\"'`,;&|<>(){}\[\]，。；、！？（）【】“”]{1,8192}+")
_TO_LINE_END: Final = lazy_pattern(r"[^\n\"']{1,8192}+")
_WITH_SCHEME: Final = lazy_pattern(
    r"(?:(?i:basic|bearer|token|digest|apikey|negotiate)\s+)?[^\s\"',;]{1,8192}+"
)
_SCHEME: Final = lazy_pattern(r"^(?i:basic|bearer|token|digest|apikey|negotiate)\s+")
_CHINESE_PHRASE: Final = lazy_pattern(r"[\u3400-\u9fff]{3,16}+(?![\u3400-\u9fffA-Za-z0-9])")

_PLACEHOLDER: Final = lazy_pattern(
    r"\$[A-Za-z_{(]|<|\{|%\w|\.{2,}|\*{2,}|x{3,}$|your[_\-]|my[_\-]?(?:key|token|password|secret)|changeme$|process\.env|os\.|env\.",
    re.IGNORECASE,
)
_SAID_IN_PROSE: Final = lazy_pattern(
    "请|不|必|错|无效|已|未|需|长度|位|应|须|为空|输入|重置|修改|正确|忘记|强度|登录|更新|设置"
)


def without_named_secrets(text: str, label: str = "") -> str:
    """The text with every value masked that stands behind a name of a secret; the name stays."""
    del label
    if not (":" in text or "=" in text or "--" in text or " is " in text or not text.isascii()):
        return text
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals have longer small letters, and places must stay
        lowered = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    places = sorted(
        (start, len(core)) for core in _CORES if core in lowered for start in _each(lowered, core)
    )
    return _masked_at(text, places) if places else text


def _each(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def _masked_at(text: str, places: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    end = 0
    for start, length in places:
        if start < end:
            continue
        span = _secret_span(text, start, start + length)
        for begin, stop in _several(text, start, start + length) if span is None else (span,):
            pieces += (text[end:begin], SECRET)
            end = stop
    return "".join((*pieces, text[end:])) if pieces else text


def _secret_span(text: str, start: int, after: int) -> tuple[int, int] | None:
    """Where the secret stands whose name has its core from `start` to `after`, or None."""
    parted = _SEPARATOR.match(text, after)
    if parted is None:
        return None
    before = text[max(0, start - 48) : start]
    if before.endswith("[masked:"):
        return None
    stem = _NAME_BEFORE.search(before)
    name = (stem.group() if stem else "") + text[start : parted.end("rest")]
    joint, opening = parted.group("joint"), parted.group("open")
    is_flag = joint == " "
    if is_flag and not name.startswith("--"):
        return None
    is_query = joint == "=" and before[: len(before) - len(name) + parted.end("rest") - start][-1:] in (
        "?",
        "&",
    )
    if not (promises_secret(name) or (is_query and folded(name) in QUERY_PARAMETERS)):
        return None
    value = _value(text, parted.end(), name, opening, joint, is_query=is_query)
    if value is None or MASKED.match(value.group()):
        return None
    if _PLACEHOLDER.match(_SCHEME.sub("", value.group())):
        return None
    if is_query and not promises_secret(name):
        return value.span() if len(value.group()) >= 8 and not set("/.") & set(value.group()) else None
    return value.span() if _is_meant(text, name, value, opening, joint) else None


def _several(text: str, start: int, after: int) -> Iterator[tuple[int, int]]:
    """The secrets of a list or an object behind such a name: `"passwords": ["…", "…"]`, `"secrets": {"db": "…"}`."""
    parted = _SEPARATOR.match(text, after)
    if parted is None or parted.group("open") or text[parted.end() : parted.end() + 1] not in ("[", "{"):
        return
    stem = _NAME_BEFORE.search(text[max(0, start - 48) : start])
    name = (stem.group() if stem else "") + text[start : parted.end("rest")]
    opening = text[parted.end()]
    if not promises_secret(name):
        return
    most = min(len(text), parted.end() + _LONGEST_LIST)
    stop = text.find("]" if opening == "[" else "}", parted.end(), most)
    for item in _ITEM.finditer(text, parted.end() + 1, most if stop < 0 else stop):
        said, following = item["said"], text[item.end() : item.end() + 2].lstrip()
        is_name = opening == "{" and following.startswith(":")
        if (
            said
            and not is_name
            and not MASKED.match(said)
            and not _PLACEHOLDER.match(said)
            and holds_secret(name, said)
        ):
            yield item.span("said")


def _value(
    text: str, start: int, name: str, opening: str, joint: str, *, is_query: bool
) -> re.Match[str] | None:
    """What stands behind the name, as far as its writing says."""
    if opening:
        return _QUOTED[opening].match(text, start) or _TO_BREAK.match(text, start)
    last = folded(name)
    if is_query:
        return _TO_BREAK.match(text, start)
    if last.endswith(("cookie", "cookies")):
        return _TO_LINE_END.match(text, start)
    if last.endswith("authorization"):
        return _WITH_SCHEME.match(text, start)
    is_variable = joint == "=" and name.isupper()
    return (_TO_BLANK if is_variable else _TO_BREAK).match(text, start)


def _is_meant(text: str, name: str, value: re.Match[str], opening: str, joint: str) -> bool:
    """Whether a value behind a name of a secret is one, and not a type, a piece of code or a word of a sentence."""
    said = value.group()
    word = said.strip(".!?*_-").lower()
    if folded(name).endswith(("cookie", "cookies")):
        return "=" in said
    if word in NO_SECRETS or not word:
        return False
    if opening:
        return holds_secret(name, said) and not said.isspace()
    if said[0] >= "\u3400":
        is_sentence = joint.strip() in ("是", "为") or _SAID_IN_PROSE.search(said)
        return not is_sentence and len(said) >= 4 and bool(_CHINESE_PHRASE.fullmatch(said))
    following = text[value.end() : value.end() + 2]
    if following[:1] in ("(", "[") or (
        re.fullmatch(r"[a-z_]+(?:\.[A-Za-z_]+)+", said) and not name.isupper()
    ):
        return False  # a call, an index or an attribute
    if said.isidentifier() and promises_secret(said) and not name.isupper():
        return False  # a variable: api_key=api_key
    if said.isdigit():
        return holds_secret(name, int(said)) if len(said) < 16 else True
    if joint in {"=", "＝"} or (joint != " is " and not said.isalpha()):
        return len(said) >= 3 if holds_secret(name, "x1y2z3a4") else looks_random(said)
    if joint == " is ":
        return looks_random(said) and not said.isalpha()
    return not following.strip() or following[0] in ",;，；。\n\"'"


@lru_cache(maxsize=256)
def _declared(names: frozenset[str]) -> re.Pattern[str]:
    """A pattern for `name: value` with any of these names, however they are joined."""
    spelled = "|".join(
        r"[\s_\-]?".join(
            map(re.escape, re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\sA-Za-z0-9_\-]+", name))
        )
        for name in sorted(names, key=len, reverse=True)
        if name.strip("_- ")
    )
    return re.compile(
        rf"(?<![A-Za-z0-9])(?<!\[masked:)(?:{spelled or '(?!)'})(?![A-Za-z0-9_])\\?[\"'`”’]?\s{{0,3}}(?::=|=>|[:=：＝])\s{{0,3}}"
        r"(?:\\?\"(?P<double>(?:[^\"\\\n]|\\[^\"]){1,8192}+)|'(?P<single>[^'\n]{1,8192}+)"
        r"|(?P<bare>[^\s\"'`,;&|<>(){}\[\]，。；、！？（）【】“”\\]{1,8192}+))",
        re.IGNORECASE,
    )


def without_declared(text: str, names: frozenset[str]) -> str:
    """The text with every value masked that stands behind one of these names, as in `phone: …` or `"phone": "…"`.

    Args:
        text: the text.
        names: names as a tool declared them; case and joints do not matter.
    """
    return _declared(names).sub(_declared_masked, text)


def _declared_masked(match: re.Match[str]) -> str:
    group = match.lastgroup or "bare"
    if MASKED.match(match.group(group)):
        return match.group()
    start = match.start()
    return match.group()[: match.start(group) - start] + DECLARED + match.group()[match.end(group) - start :]
