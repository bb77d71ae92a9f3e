"""Finds what belongs to a person in a text: e-mail addresses, mobile numbers, bank cards, resident's numbers.

A check digit decides where there is one. The words before a number decide where it is not enough: an order's number is left
alone even if it looks like a phone, and a number that is called an identity card is masked even if it has a wrong digit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from toolhand.core.lazily import lazy_pattern
from toolhand.policies.redaction import labels
from toolhand.policies.redaction.checks import has_luhn_digit, is_old_resident_id, is_resident_id
from toolhand.policies.redaction.masks import mask
from toolhand.policies.redaction.notable import has_long_number, has_wide_digits
from toolhand.policies.redaction.vocabulary import NO_DOMAINS

_WIDE: Final = str.maketrans(
    "０１２３４５６７８９＋－　Ｘｘ", "0123456789+- Xx"
)  # one character for one: places stay
_SEPARATORS: Final = lazy_pattern(r"[ \-]")

_RESIDENT_ID: Final = lazy_pattern(r"(?<![0-9])[1-9][0-9]{5}[ -]?[12][0-9]{7}[ -]?[0-9]{3}[0-9Xx](?![0-9])")
_OLD_RESIDENT_ID: Final = lazy_pattern(r"(?<![0-9])[1-9][0-9]{14}(?![0-9])")
_MOBILE: Final = lazy_pattern(
    r"(?<![0-9])(?:(?:\+|00)?86[)）]?[ -]?)?(1[3-9][0-9](?:[0-9]{8}|[ -][0-9]{4}[ -]?[0-9]{4}|[0-9]{4}[ -][0-9]{4}))(?![0-9])"
)
_ABROAD: Final = lazy_pattern(
    r"(?<![0-9A-Za-z+])\+(?!86)[1-9][0-9]{0,2}[ -]?(?:\([0-9]{1,4}\)[ -]?)?[0-9]{2,5}(?:[ -]?[0-9]{2,5}){1,3}(?![0-9])"
)
_NUMBER: Final = lazy_pattern(r"[0-9][0-9 \-]{9,}[0-9Xx]")
_SPELLED: Final = lazy_pattern("[一幺][三四五六七八九][零〇一二三四五六七八九幺]{9}")
_SPELLED_MOBILE: Final = lazy_pattern(
    "(?<![零〇一二三四五六七八九幺])[一幺][三四五六七八九][零〇一二三四五六七八九幺]{9}(?![零〇一二三四五六七八九幺十百千万])"
)
_CARD: Final = lazy_pattern(
    r"(?<![0-9])(?:[0-9]{13,19}|[0-9]{4}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{1,3})?|[0-9]{4}([ -])[0-9]{6}\2[0-9]{5}"
    r"|[0-9]{6}[ -][0-9]{10,13})(?![0-9])"
)
_ISSUED: Final = lazy_pattern(
    r"62[0-9]{14,17}|4[0-9]{15}|(?:436742|456351|601382|9558[0-9]{2}|95595[0-9]|95599[0-9])[0-9]{13}|5[1-5][0-9]{14}"
    r"|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}|3[47][0-9]{13}|35(?:2[89]|[3-8][0-9])[0-9]{12}"
    r"|6(?:011|5[0-9]{2})[0-9]{12}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
)

_LOCAL: Final = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._%+\-]{0,63}$")
_DOMAIN: Final = lazy_pattern(r"(?:[A-Za-z0-9][A-Za-z0-9\-]{0,62}\.){1,8}([A-Za-z]{2,24})(?![A-Za-z0-9(])")
_AT: Final = lazy_pattern(r"(?<=[A-Za-z0-9._%+\-])[@＠](?=[A-Za-z0-9])")

Found = Callable[[re.Match[str], str, str], str | None]
"""A match, the text and the field's name → the mask, or None to leave it."""


def _in_numbers(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches in long numbers: these are found quickly, and a pattern that begins by looking back is slow.

    Up to eight characters before are looked at too: a country's code in brackets.
    """
    last = 0
    for number in _NUMBER.finditer(text):
        start, end = number.span()
        for match in pattern.finditer(text, max(last, start - 8), end + 2):
            yield match
            last = match.end()


def _anywhere(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    return pattern.finditer(text)


def _replaced(
    text: str,
    pattern: re.Pattern[str],
    label: str,
    found: Found,
    group: int = 0,
    *,
    matches: Callable[[re.Pattern[str], str], Iterator[re.Match[str]]] = _in_numbers,
) -> str:
    """The text with every match masked that `found` agrees to. Full-width digits count as digits."""
    plain = text.translate(_WIDE) if has_wide_digits(text) else text
    pieces: list[str] = []
    end = 0
    for match in matches(pattern, plain):
        written = found(match, plain, label)
        if written is not None:
            pieces += (text[end : match.start(group)], written)
            end = match.end(group)
    return "".join((*pieces, text[end:])) if pieces else text


def _digits(match: re.Match[str], group: int = 0) -> str:
    return _SEPARATORS.sub("", match.group(group))


def _stands_alone(match: re.Match[str], text: str) -> bool:
    """Whether a number is not a piece of a longer name, decimal, hash or row of numbers."""
    start, end = match.span()
    previous, following = text[max(0, start - 2) : start], text[end : end + 2]
    if previous and (_is_word(previous[-1]) or (previous[-1] in "-." and _is_word(previous[0]))):
        return False
    if following and (_is_word(following[0]) or (following[0] in "-." and _is_word(following[-1]))):
        return False
    if " " not in match.group():
        return True
    follows_digit = previous[-1:] == " " and previous[0].isdigit()
    return not follows_digit and not (following[:1] == " " and following[-1].isdigit())


def _is_word(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())


def without_resident_ids(text: str, label: str = "") -> str:
    """The text with Chinese resident's numbers masked: 18 characters by their check, or as they are called."""
    if not has_long_number(text):
        return text
    text = _replaced(text, _RESIDENT_ID, label, _resident_id)
    return _replaced(text, _OLD_RESIDENT_ID, label, _old_resident_id)


def _resident_id(match: re.Match[str], text: str, label: str) -> str | None:
    words = labels.before(text, match.start(), label)
    if labels.IDENTITY.search(words):
        return mask("resident_id")
    if labels.NOT_A_PERSON.search(words) or not _stands_alone(match, text):
        return None
    return mask("resident_id") if is_resident_id(_digits(match)) else None


def _old_resident_id(match: re.Match[str], text: str, label: str) -> str | None:
    called = labels.IDENTITY.search(labels.before(text, match.start(), label))
    return mask("resident_id") if called and is_old_resident_id(match.group()) else None


def without_phones(text: str, label: str = "") -> str:
    """The text with mobile numbers masked: mainland ones in any usual spelling, others with their country's code."""
    if not text.isascii() and _SPELLED.search(text):
        text = _SPELLED_MOBILE.sub(mask("phone"), text)
    if not has_long_number(text):
        return text
    text = _replaced(text, _MOBILE, label, _mobile, group=1)
    return (
        _replaced(text, _ABROAD, label, _abroad, matches=_anywhere) if "+" in text or "＋" in text else text
    )


def _mobile(match: re.Match[str], text: str, label: str) -> str | None:
    words = labels.before(text, match.start(), label)
    if not labels.PHONE.search(words):
        if labels.NOT_A_PERSON.search(words) or not _stands_alone(match, text):
            return None
        groups = match.group(1).split(" ")
        if len(groups) == 3 and all(group[:2] in ("19", "20") for group in groups[1:]):
            return None  # a number and two years
    return mask("phone", _digits(match, 1)[-4:])


def _abroad(match: re.Match[str], text: str, label: str) -> str | None:
    digits = "".join(character for character in match.group() if character.isdigit())
    words = labels.before(text, match.start(), label)
    if not 10 <= len(digits) <= 15 or labels.NOT_A_PERSON.search(words):
        return None
    return mask("phone", digits[-4:])


def without_cards(text: str, label: str = "") -> str:
    """The text with bank cards masked: by an issuer's range and Luhn's digit, or as they are called."""
    return _replaced(text, _CARD, label, _card) if has_long_number(text) else text


def _card(match: re.Match[str], text: str, label: str) -> str | None:
    digits = _digits(match)
    words = labels.before(text, match.start(), label)
    if not labels.CARD.search(words):
        is_card = _ISSUED.fullmatch(digits) and has_luhn_digit(digits)
        if not is_card or labels.NOT_A_PERSON.search(words) or not _stands_alone(match, text):
            return None
    return mask("card", digits[-4:])


def without_emails(text: str, label: str = "") -> str:
    """The text with e-mail addresses masked; the domain stays."""
    del label
    if "@" not in text and "＠" not in text:
        return text
    pieces: list[str] = []
    end = 0
    for sign in _AT.finditer(text):
        at = sign.start()
        local = _LOCAL.search(text[max(end, at - 64) : at])
        domain = _DOMAIN.match(text, at + 1)
        if local is None or domain is None or domain.group(1).lower() in NO_DOMAINS:
            continue
        start = at - len(local.group())
        if not _is_an_account(text, start, local.group()):
            pieces += (text[end:start], mask("email", domain.group()))
            end = domain.end()
    return "".join((*pieces, text[end:])) if pieces else text


def _is_an_account(text: str, start: int, local: str) -> bool:
    """Whether what looks like an address names a repository's account, a handle, or the user in a URL."""
    return (
        local == "git" or text[max(0, start - 1) : start] == "@" or text[max(0, start - 3) : start] == "://"
    )
