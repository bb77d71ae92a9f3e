"""One quick look that tells most texts have nothing to mask: short texts and the cells of tables cost about a microsecond."""

from __future__ import annotations

import re
from typing import Final

from toolhand.policies.redaction.command_lines import runs_a_command
from toolhand.policies.redaction.written_tables import names_secrets

_RUN: Final = re.compile(r"[A-Za-z0-9_\-./+=]{16}")
"""Every key of a known shape is one run, and so is a card without blanks."""

_NUMBER: Final = re.compile(r"[0-9][0-9 \-]{10}")
_ASSIGNED: Final = re.compile(r"[A-Za-z]{3}[_\-]?[0-9]{0,2}[\"'`\])\\*]{0,3}\s{0,3}[:=]")
# The rare part stands first, and what is before it is looked at only there.
_SAID: Final = re.compile(
    r" is (?i:(?<=word is )|(?<=phrase is )|(?<=code is )|(?<=secret is )|(?<=token is )|(?<=key is )|(?<=pwd is )|(?<=cvv is )"
    r"|(?<=cvc is )|(?<=otp is )|(?<=jwt is )|(?<=credential is ))"
)
_NOT_LATIN: Final = re.compile(
    r"[０-９][０-９ \-－　]{10}|＠|[一幺][三四五六七八九][零〇一二三四五六七八九幺]{9}"
    r"|[码令钥牌证号][\"'`”’\])）]{0,3}\s{0,3}[:：=＝是为]|[A-Za-z]{3}[_\-]?[0-9]{0,2}[\"'`”’\])）]{0,3}\s{0,3}[：＝]"
)


def is_notable(text: str) -> bool:
    """Whether a text has something of what every default pattern needs."""
    return (
        "@" in text
        or (len(text) >= 16 and _RUN.search(text) is not None)
        or ((":" in text or "=" in text) and _ASSIGNED.search(text) is not None)
        or has_long_number(text)
        or "--" in text
        or (("\n" in text or "</" in text) and names_secrets(text))
        or (" -" in text and runs_a_command(text))
        or (" is " in text and _SAID.search(text) is not None)
        or (not text.isascii() and _NOT_LATIN.search(text) is not None)
    )


def has_long_number(text: str) -> bool:
    """Whether a text has ten digits in a row, or nearly so."""
    if len(text) < 11:
        return False
    if _NUMBER.search(text):
        return True
    return has_wide_digits(text)


def has_wide_digits(text: str) -> bool:
    """Whether a text has full-width digits. Looking for each alone is faster than for all at once."""
    return not text.isascii() and any(digit in text for digit in "０１２３４５６７８９")
