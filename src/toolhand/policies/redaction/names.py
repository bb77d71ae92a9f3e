"""Which names say that their value is nobody's business: `api_key`, `accessToken`, `DB_PASSWORD`, `支付密码`.

A name is read by its last word: `password_changed_at` and `token_count` tell about a secret and hold none, and
`next_page_token` must reach whoever reads the next page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from toolhand.policies.redaction.masks import UNSEEN
from toolhand.policies.redaction.vocabulary import (
    CHINESE_PASSWORDS,
    CHINESE_SECRETS,
    PASSWORDS,
    PLAIN_BEFORE_KEY,
    PLAIN_BEFORE_TOKEN,
    SAID_BESIDE,
    SECRET_BEFORE_KEY,
    SECRETS,
)

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[\u3400-\u9fff]+")
_JOINTS: Final = re.compile(r"[\s_\-.]+")


def folded(name: str) -> str:
    """A name without case and joints: `idCard`, `ID_CARD` and `id-card` are one."""
    return _JOINTS.sub("", name).casefold()


@lru_cache(maxsize=4096)
def _reading(name: str) -> str:
    """What a name promises: "password", "secret", "token", "key" (in capitals, as variables of a shell are), or ""."""
    if "[masked" in name:
        return ""  # a text with a secret in it stands where a name should
    words = [word.lower() for word in _WORD.findall(UNSEEN.sub("", name[-160:])[-80:])]
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in SAID_BESIDE):
        words.pop()
    if not words:
        return ""
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in PASSWORDS or last.endswith((*CHINESE_PASSWORDS, "password", "passwd")):
        return "password"
    if last in SECRETS or last.endswith(CHINESE_SECRETS):
        return "secret"
    if last in ("token", "tokens"):
        plain = bool(PLAIN_BEFORE_TOKEN.intersection(words[:-1])) or (last == "tokens" and not before)
        return "" if plain else "token"
    if last in ("key", "keys"):
        if before in SECRET_BEFORE_KEY:
            return "secret"
        return "key" if before and name.isupper() and before not in PLAIN_BEFORE_KEY else ""
    return ""


def promises_secret(name: str) -> bool:
    """Whether a name says that its value is a secret."""
    return _reading(name) != ""


def holds_secret(name: str, value: Any) -> bool:
    """Whether a scalar under this name is a secret: a count, a flag or a word under "token" is none.

    Args:
        name: the name of a field, a variable or a parameter.
        value: a JSON scalar.
    """
    reading = _reading(name)
    if not reading or value is None or isinstance(value, bool) or value == "":
        return False
    if not isinstance(value, str):
        return reading == "password"
    if reading == "token":
        return looks_random(value)
    return True


def looks_random(value: str) -> bool:
    """Whether a value can be a credential by its look: one run of characters that is more than a word or a small number."""
    if len(value) < 6 or any(character.isspace() for character in value):
        return False
    return len(value) >= 16 or not (value.isalpha() or (value.isdigit() and len(value) < 9))
