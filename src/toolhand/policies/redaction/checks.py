"""The arithmetic that tells a real number from a long one: check digits, dates, regions, issuers."""

from __future__ import annotations

import datetime as dt
from typing import Final

from toolhand.policies.redaction.vocabulary import REGIONS

_DOUBLED: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CHECK_CHARACTERS: Final = "10X98765432"


def has_luhn_digit(digits: str) -> bool:
    """Whether the last digit is the check digit of ISO/IEC 7812-1 (Luhn)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        total += _DOUBLED[int(digit)] if place % 2 else int(digit)
    return total % 10 == 0


def is_resident_id(number: str) -> bool:
    """Whether 18 characters are a Chinese resident's number by GB 11643-1999: region, date of birth, check character."""
    if number[:2] not in REGIONS or not is_date(number[6:14]):
        return False
    total = sum(weight * int(digit) for weight, digit in zip(_WEIGHTS, number, strict=False))
    return _CHECK_CHARACTERS[total % 11] == number[17].upper()


def is_old_resident_id(number: str) -> bool:
    """Whether 15 digits can be a resident's number from before 1999: it has a region and a date, but no check digit."""
    return number[:2] in REGIONS and is_date(f"19{number[6:12]}")


def is_date(digits: str) -> bool:
    """Whether eight digits are a day of the calendar, year first."""
    try:
        dt.date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return False
    return True
