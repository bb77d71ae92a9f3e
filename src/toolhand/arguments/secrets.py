"""What must not be said back: values under names that keep secrets, and values that look like keys."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from toolhand.arguments.coerce.anything import encodable

MASK: Final = "***"
_LONGEST: Final = 60

_NAMES: Final = re.compile(
    r"pass(word|wd|phrase|code)|pwd|secret|(?<!max)(?<!max_)token(?!s)|api_?-?key|access_?-?key|private_?-?key|credential|"
    r"authorization|auth_?-?(key|code)|\bpin\b|cvv|cookie|密码|口令|密钥|私钥|令牌|凭证|验证码",
    re.IGNORECASE,
)
_VALUES: Final = re.compile(
    r"\b(sk|pk|rk)-[\w-]{12,}|\bAKIA[0-9A-Z]{12,}|\bgh[pousr]_\w{20,}|\bxox[abp]-[\w-]{10,}|\bAIza[\w-]{20,}|"
    r"\beyJ[\w-]{10,}\.[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY|\bBearer\s+[\w.~+/-]{12,}",
)


def keeps_secret(name: str) -> bool:
    """Whether a parameter's name says that its value is nobody's business."""
    return _NAMES.search(name) is not None


def is_secret(text: str) -> bool:
    """Whether a text holds something that looks like a key, whatever its name."""
    return _VALUES.search(text) is not None


def told(value: Any, name: str) -> str:
    """A value that was sent, as an error may repeat it: as JSON, short, masked where it is or holds a secret.

    Args:
        value: what was sent.
        name: the parameter's name.
    """
    if value is None:
        return "null"
    if keeps_secret(name):
        return MASK
    if not isinstance(value, str | int | float | bool | list | dict | tuple):
        return type(value).__name__
    try:
        text = json.dumps(_masked(value, 0), ensure_ascii=False, default=lambda other: type(other).__name__)
    except (ValueError, TypeError, RecursionError):
        return type(value).__name__
    text = _VALUES.sub(MASK, encodable(text))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]}…{text[-1]}"


def _masked(value: Any, depth: int) -> Any:
    if depth > 3:
        return "…"
    if isinstance(value, dict):
        return {
            str(key): MASK if keeps_secret(str(key)) else _masked(inner, depth + 1)
            for key, inner in list(value.items())[:20]
        }
    if isinstance(value, list | tuple):
        return [_masked(inner, depth + 1) for inner in value[:20]]
    return value[:500] if isinstance(value, str) else value
