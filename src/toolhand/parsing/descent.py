"""The tolerant reading itself: a recursive descent over one value that writes down every liberty."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from toolhand.core.messages import Fix
from toolhand.parsing.costs import fix
from toolhand.parsing.endings import closes_string
from toolhand.parsing.loose_values import Key, Loose, LooseError, json_path
from toolhand.parsing.marks import (
    BARE_KEY,
    BLANK,
    CLOSERS,
    COLON,
    COMMA,
    FULL_WIDTH,
    GAP,
    KEY_AHEAD,
    LITERALS,
    LONGEST_KEY,
    MAX_DEPTH,
    NUMBER,
    OPENERS,
    PLACEHOLDER,
    STRICT_LITERALS,
    THOUSANDS,
    WORD,
    is_json_number,
    number_of,
)
from toolhand.parsing.strings import OPENING, QUOTES, TYPOGRAPHIC, unescape


@dataclass(slots=True)
class Reading:
    """One tolerant reading: a recursive descent with its position and its ledger."""

    text: str
    pos: int
    stops: re.Pattern[str] | None
    fixes: dict[str, Fix] = field(default_factory=dict)
    path: list[Key] = field(default_factory=list)
    open_path: tuple[Key, ...] | None = None
    is_cut: bool = False
    reached: int = 0

    def run(self) -> Loose:
        """Reads the value and gives it with the ledger."""
        value = self.value("")
        return Loose(value, self.pos, tuple(self.fixes.values()), self.open_path, self.is_cut)

    # ------------------------------------------------------------------ the ledger
    def took(self, kind: str, before: Any = None, after: Any = None) -> None:
        """Writes a liberty down, once of each kind."""
        if kind and kind not in self.fixes:
            self.fixes[kind] = fix(kind, json_path(self.path), before, after)

    def fail(self, reason: str) -> LooseError:
        """The error for what is not here, to be raised."""
        return LooseError(reason, self.pos, tuple(self.path), self.reached)

    # ------------------------------------------------------------------ small steps
    def gap(self) -> None:
        """Passes over blanks and comments."""
        match = GAP.match(self.text, self.pos)
        if match:
            if not match[0].isspace() and any(mark in match[0] for mark in ("//", "#", "/*", "<!--")):
                self.took("comment")
            self.pos = match.end()

    def at_end(self) -> bool:
        """Whether the text, or what the caller allows of it, ends here."""
        if self.pos >= len(self.text):
            return True
        if (
            self.stops is None
            or self.text[self.pos] not in "<`["
            or not self.stops.match(self.text, self.pos)
        ):
            return False
        return self.text[self.pos] != "<" or not OPENING.match(self.text, self.pos)

    def cut(self) -> None:
        """Notes that the text ends inside a value."""
        self.is_cut = True
        self.left_open()

    def left_open(self) -> None:
        """Notes that the text ends before a closing bracket."""
        if self.open_path is None:
            self.open_path = tuple(self.path)
        self.took("missing_closer")

    # ------------------------------------------------------------------ values
    def value(self, closer: str) -> Any:
        """Reads a value; `closer` is the bracket that the container around it waits for ("" for none)."""
        self.gap()
        if self.at_end():
            if not closer:
                raise self.fail("a value was expected")
            self.cut()
            return None
        char = self.text[self.pos]
        if char in OPENERS:
            if len(self.path) >= MAX_DEPTH:
                raise self.fail("the value is nested too deeply")
            if char in FULL_WIDTH:
                self.took("full_width_punctuation")
            return self.mapping() if OPENERS[char] == "}" else self.sequence(OPENERS[char])
        if OPENING.match(self.text, self.pos):
            return self.string(closer)
        return self.bare(closer)

    def mapping(self) -> dict[str, Any]:
        """Reads an object from its opening bracket on."""
        self.pos += 1
        found: dict[str, Any] = {}
        while True:
            self.gap()
            if self.at_end():
                self.left_open()
                return found
            char = self.text[self.pos]
            if COMMA.match(char):
                self.pos += 1
                self.gap()
                self.took("full_width_punctuation" if char in FULL_WIDTH else "")
                if self.at_end():
                    self.cut()
                    return found
                if self.text[self.pos] in CLOSERS:
                    self.took("trailing_comma")
                continue
            if char in CLOSERS:
                self.close("}", char)
                return found
            if found and self.text[self.pos - 1] not in ",，;；" and not self.comma_before():
                self.took("missing_comma")
            if not self.member(found):
                return found

    def comma_before(self) -> bool:
        """Whether a comma stands before this position, blanks and comments aside."""
        back = self.text.rfind(",", max(0, self.pos - 200), self.pos)
        wide = max(self.text.rfind(mark, max(0, self.pos - 200), self.pos) for mark in "，;；")
        comma = max(back, wide)
        if comma >= 0 and comma + 1 == self.pos:
            return True
        gap = GAP.match(self.text, comma + 1) if comma >= 0 else None
        return gap is not None and gap.end() == self.pos

    def member(self, found: dict[str, Any]) -> bool:
        """Reads `key: value` into `found`; False when the text ended in it."""
        key = self.key()
        if key is None:
            self.cut()
            return False
        self.gap()
        if self.at_end():
            self.cut()
            return False
        colon = COLON.match(self.text, self.pos)
        if not colon:
            raise self.fail(f"a colon was expected after {key!r}")
        if colon[0] not in (":", "："):
            self.took("other_separator" if colon[0] != "＝" else "full_width_punctuation")
        elif colon[0] == "：":
            self.took("full_width_punctuation")
        self.pos = colon.end()
        self.path.append(key)
        found[key] = value = self.value("}")
        if self.is_cut and value is None:
            del found[key]
        self.path.pop()
        return self.open_path is None

    def key(self) -> str | None:
        """Reads a key; None when the text ends in it."""
        if OPENING.match(self.text, self.pos):
            value = self.string(":")
            return value if self.open_path is None else None
        match = BARE_KEY.match(self.text, self.pos)
        if not match or PLACEHOLDER.match(match[0]):
            raise self.fail("a key was expected")
        self.pos = match.end()
        if self.pos >= len(self.text):
            return None
        self.took("unquoted_key")
        return match[0]

    def sequence(self, closer: str) -> list[Any]:
        """Reads a list or a tuple from its opening bracket on."""
        self.pos += 1
        found: list[Any] = []
        while True:
            self.gap()
            if self.at_end():
                self.left_open()
                return found
            char = self.text[self.pos]
            if COMMA.match(char) or char == "、":
                self.pos += 1
                self.gap()
                self.took("full_width_punctuation" if char in FULL_WIDTH else "")
                if self.at_end():
                    self.cut()
                    return found
                if self.text[self.pos] in CLOSERS:
                    self.took("trailing_comma")
                continue
            if char in CLOSERS:
                self.close(closer, char)
                return found
            if found and not self.comma_before():
                self.took("missing_comma")
            self.path.append(len(found))
            found.append(self.value(closer))
            self.path.pop()
            if self.open_path is not None:
                if self.is_cut and found[-1] is None:
                    found.pop()
                return found

    def close(self, closer: str, char: str) -> None:
        """Takes a closing bracket, or leaves one that belongs to the container outside."""
        if CLOSERS[char] != closer:
            self.took("mismatched_closer", char, closer)
            if self.path:
                return
        elif char in FULL_WIDTH:
            self.took("full_width_punctuation")
        self.pos += 1

    # ------------------------------------------------------------------ scalars
    def string(self, closer: str) -> str:
        """Reads a quoted string; an unescaped mark inside it is told from the closing one by what follows."""
        opening = OPENING.match(self.text, self.pos)[0]  # type: ignore[index]
        closing, kind = QUOTES[opening]
        begin = self.pos + len(opening)
        if opening in ('"', "'") and closer == ":" and self.text.startswith(closing, begin):
            raise self.fail("a key was expected")
        end = self.string_end(begin, closing, closer)
        if end < 0:
            self.pos = len(self.text)
            self.cut()
            return unescape(self.text[begin:])[0]
        self.took(kind)
        raw = self.text[begin:end]
        self.pos = end + len(closing) if self.text.startswith(closing, end) else end + 1
        if kind == "escaped_quotes":
            raw = raw.replace("\\\\", "\\")
        if kind == "marked_quotes" or opening == "`":
            return raw
        if closer != ":" and closing in raw.replace("\\" + closing, ""):
            self.took("inner_quotes", raw, raw)
        if "\n" in raw and kind in ("", "single_quotes", "typographic_quotes"):
            self.took("raw_newline")
        value, liberty = unescape(raw)
        self.took(liberty)
        return value

    def string_end(self, begin: int, closing: str, closer: str) -> int:
        """Where the closing mark stands, or -1."""
        text, pos = self.text, begin
        is_plain = len(closing) == 1
        while True:
            pos = text.find(closing, pos)
            if pos < 0 or (closer == ":" and pos - begin > LONGEST_KEY):
                self.reached = max(self.reached, pos if pos >= 0 else len(text))
                return self.other_end(begin, closing, closer)
            back = pos - 1
            while back >= begin and text[back] == "\\":
                back -= 1
            if (pos - back) % 2 == 0 and closing != "<escape>":
                pos += len(closing)
                continue
            if not is_plain or closes_string(self.text, pos + 1, closer, self.stops):
                return pos
            pos += 1

    def other_end(self, begin: int, closing: str, closer: str) -> int:
        """A string that was closed with another mark than it was opened with."""
        if closing in TYPOGRAPHIC or closing in "\"'":
            for match in re.finditer(r"[\"'”’」』＂＇]", self.text[begin : begin + 400]):
                if match[0] != closing and closes_string(self.text, begin + match.end(), closer, self.stops):
                    self.took("typographic_quotes")
                    return begin + match.start()
        return -1

    def bare(self, closer: str) -> Any:
        """Reads what has no quotes: a number, a literal, or plain words up to the next structural mark."""
        text, pos = self.text, self.pos
        if closer == "}" and (match := THOUSANDS.match(text, pos)):
            self.took("number_spelling")
            self.pos = match.end()
            return number_of(match[0].replace(",", ""))
        match = NUMBER.match(text, pos)
        if match and self.ends_scalar(match.end()):
            return self.number(match[0], match.end(), closer)
        word = WORD.match(text, pos)
        if word and word[0] in LITERALS and self.ends_scalar(word.end()):
            self.pos = word.end()
            self.took("" if word[0] in STRICT_LITERALS else "python_literal")
            return LITERALS[word[0]]
        if (
            word
            and len(word[0]) <= 2
            and word[0].lower() in ("r", "b", "f", "u", "rb", "br")
            and text[word.end() : word.end() + 1] in ("'", '"')
        ):
            return self.prefixed(word[0].lower(), word.end(), closer)
        return self.words(closer)

    def number(self, raw: str, end: int, closer: str) -> Any:
        """Takes a number."""
        self.pos = end
        if end >= len(self.text) and closer:
            self.is_cut = True  # the next digit may have been cut off
            self.left_open()
        value = number_of(raw)
        if not is_json_number(raw):
            self.took("number_spelling", raw, value)
        return value

    def prefixed(self, prefix: str, mark: int, closer: str) -> str:
        """Reads a Python string with a prefix, such as r"…"."""
        self.took("python_literal")
        self.pos = mark
        opening = OPENING.match(self.text, mark)[0]  # type: ignore[index]
        if "r" not in prefix:
            return self.string(closer)
        closing = QUOTES[opening][0]
        begin = mark + len(opening)
        end = self.text.find(closing, begin)
        if end < 0:
            self.pos = len(self.text)
            self.cut()
            return self.text[begin:]
        self.pos = end + len(closing)
        return self.text[begin:end]

    def ends_scalar(self, end: int) -> bool:
        """Whether a value without quotes may end there."""
        pos = BLANK.match(self.text, end).end()  # type: ignore[union-attr]
        if pos >= len(self.text):
            return True
        char = self.text[pos]
        if (
            char in CLOSERS
            or COMMA.match(char)
            or char in "\n#、"
            or self.text.startswith(("//", "/*", "<"), pos)
        ):
            return True
        return (
            (pos > end or char in "\"'") and KEY_AHEAD.match(self.text, pos) is not None
        ) or "\n" in self.text[end:pos]

    def words(self, closer: str) -> str:
        """Plain words: to the next comma that is followed by a key, or to the closing bracket."""
        if not closer:
            raise self.fail("a quoted value, an object or a list was expected")
        text, begin = self.text, self.pos
        pos = begin
        depth = 0
        while pos < len(text):
            char = text[pos]
            if self.stops is not None and char in "<`[" and self.stops.match(text, pos):
                break
            if char == "\n" and closer:
                break
            if char in "([（{":
                depth += 1
            elif char in CLOSERS:
                if depth == 0:
                    break
                depth -= 1
            elif char in ",，" and depth == 0 and closer:
                ahead = KEY_AHEAD if closer == "}" else None
                if ahead is None or ahead.match(text, pos + 1) or text[pos + 1 : pos + 2] in ("", "\n", "}"):
                    break
            pos += 1
        raw = text[begin:pos].strip()
        if not raw or PLACEHOLDER.fullmatch(raw):
            raise self.fail("a value was expected")
        self.pos = pos
        if pos >= len(text):
            self.cut()
        self.took("unquoted_value", raw, raw)
        return raw
