"""The marks by which a tolerant reading finds its way: brackets, commas, colons, numbers, literals, and what may follow."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 96
LONGEST_KEY = 240

OPENERS = {"{": "}", "｛": "}", "[": "]", "［": "]", "(": ")", "（": ")"}
CLOSERS = {"}": "}", "｝": "}", "]": "]", "］": "]", ")": ")", "）": ")"}
FULL_WIDTH = frozenset("｛｝［］（）：，；＝")

GAP = re.compile(r"(?:[\s\u00a0\ufeff\u200b]+|//[^\n]*|#[^\n]*|/\*.*?\*/|<!--.*?-->)+", re.DOTALL)
BLANK = re.compile(r"[\s\u00a0\ufeff\u200b]*")
COMMA = re.compile(r"[,，;；]")
COLON = re.compile(r"=>|->|[:：=＝]")
BARE_KEY = re.compile(r"[^\s:：=＝,，;；{}｛｝\[\]［］()（）\"'“”‘’「」<>\\]+")
NUMBER = re.compile(r"[+\-]?(?:0[xX][0-9a-fA-F]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][+\-]?\d+)?)(?![\w.%])")
THOUSANDS = re.compile(r"[+\-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?=\s*(?:[}｝]|,\s*[\"'“\w]))")
WORD = re.compile(r"[A-Za-z_][\w]*")
LITERALS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    "TRUE": True,
    "FALSE": False,
    "NULL": None,
    "undefined": None,
    "nil": None,
}
STRICT_LITERALS = frozenset({"true", "false", "null"})
# What a string may be followed by: a member's key and colon.
KEY_AHEAD = re.compile(
    r"\s*(?:\\?[\"'“‘「『`](?:[^\"'”’」』`\n\\]|\\(?!\")){1,80}\\?[\"'”’」』`]|[^\s:：=,，{}\[\]\"'“”]{1,60})\s*(?:=>|[:：=＝])"
)
VALUE_AHEAD = re.compile(r"\s*(?:[\"'“‘「『{｛\[［(]|[+\-]?\d|(?:true|false|null|True|False|None)\b)")
KEYWORD_AHEAD = re.compile(
    r"\s*(?:[\w.\-]{1,60}\s*[=:＝：]|[\"'“‘{\[]|[+\-]?\d|\*|(?:true|false|null|True|False|None)\b)"
)
CLOSED = re.compile(r"(?:\s*[}｝\]］)）])+\s*")
AFTER_CLOSED = re.compile(r"[,，;；`\n<\"'”’」|#/\\*]|$")
PLACEHOLDER = re.compile(r"\.\.\.|…")


def is_json_number(raw: str) -> bool:
    """Whether a number is written as JSON writes it."""
    try:
        json.loads(raw)
    except ValueError:
        return False
    return True


def number_of(raw: str) -> int | float | str:
    """The number that a spelling stands for, or the spelling when it is none."""
    plain = raw.replace("_", "").lstrip("+")
    try:
        if plain.lower().lstrip("-").startswith("0x"):
            return int(plain, 16)
        if plain.lstrip("-").isdigit():
            return int(plain) if len(plain) < 400 else raw
        return float(plain)
    except ValueError:
        return raw
