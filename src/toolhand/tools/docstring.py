"""What a docstring says of a function and its parameters: Google, NumPy and Sphinx styles, English and Chinese titles.

The parsing is docstring-parser's; this file only gives the section titles one spelling before it and picks afterwards.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

from docstring_parser import DocstringStyle, ParseError, parse
from docstring_parser.common import Docstring as Parsed

_TITLES = {
    "Args": (
        "args|arguments|params|parameters|keyword args|keyword arguments|other parameters|other args"
        "|参数|入参|参数说明|输入|参数列表"
    ),
    "Returns": "returns?|返回|返回值|出参|输出",
    "Raises": "raises?|except(?:ion)?s?|异常|抛出",
    "Example": "examples?|示例|例子|用例",
}
_TITLE_LINES = [
    (title, re.compile(rf"^([ \t]*)(?:{names})[ \t]*[:：][ \t]*$", re.IGNORECASE | re.MULTILINE))
    for title, names in _TITLES.items()
]
_INLINE_RETURNS = re.compile(r"^([ \t]*)(?:返回值?|出参)[ \t]*[:：][ \t]*(\S.*)$", re.MULTILINE)
_PARAMETER_COLON = re.compile(r"^([ \t]+[\w*]+(?:[ \t]*[(（][^)）\n]*[)）])?)[ \t]*：[ \t]*", re.MULTILINE)
_UNDERLINED = re.compile(r"^[ \t]*-{3,}[ \t]*$", re.MULTILINE)
_FIELDS = re.compile(r"^[ \t]*:(?:param|type|returns?|rtype|raises)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Docstring:
    """What a docstring says.

    Args:
        description: its text without the sections on parameters, results and errors.
        parameters: descriptions by parameter.
        types: type words by parameter, where it states them.
        returns: what comes back.
    """

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    returns: str = ""


def read_docstring(text: str | None) -> Docstring:
    """Reads a docstring in any of the known styles; one that fits none is all description. It never raises."""
    if not text or not text.strip():
        return Docstring()
    text = inspect.cleandoc(text)
    style, prepared = _prepare(text)
    if style is None:
        return Docstring(description=text)
    try:
        parsed = parse(prepared, style)
    except (ParseError, ValueError, KeyError, IndexError):
        return Docstring(description=text)
    return _picked(parsed)


def _prepare(text: str) -> tuple[DocstringStyle | None, str]:
    if _FIELDS.search(text):
        return DocstringStyle.REST, text
    if _UNDERLINED.search(text):
        return DocstringStyle.NUMPYDOC, _numpy_titles(text)
    prepared = text
    found = False
    for title, line in _TITLE_LINES:
        prepared, count = line.subn(rf"\g<1>{title}:", prepared)
        found = found or count > 0
    prepared, count = _INLINE_RETURNS.subn(r"\g<1>Returns:\n\g<1>    \g<2>", prepared)
    if not found and not count:
        return None, text
    return DocstringStyle.GOOGLE, _merged_args(_PARAMETER_COLON.sub(r"\g<1>: ", prepared))


def _numpy_titles(text: str) -> str:
    names = {
        "参数": "Parameters",
        "入参": "Parameters",
        "返回": "Returns",
        "返回值": "Returns",
        "异常": "Raises",
    }
    lines = text.split("\n")
    for i, line in enumerate(lines[:-1]):
        title = line.strip().rstrip("：:")
        if title in names and _UNDERLINED.fullmatch(lines[i + 1]):
            lines[i] = names[title]
    return "\n".join(lines)


def _merged_args(text: str) -> str:
    # docstring-parser keeps one section a title: a second "Args:" goes under the first.
    parts = re.split(r"^Args:[ \t]*\n", text, flags=re.MULTILINE)
    if len(parts) <= 2:
        return text
    head, *rest = parts
    entries: list[str] = []
    others: list[str] = []
    for part in rest:
        lines = part.split("\n")
        end = next((i for i, line in enumerate(lines) if line.strip() and not line[0].isspace()), len(lines))
        entries += [line for line in lines[:end] if line.strip()]
        others += lines[end:]
    return head + "Args:\n" + "\n".join(entries) + "\n\n" + "\n".join(others)


def _picked(parsed: Parsed) -> Docstring:
    paragraphs = [part for part in (parsed.short_description, parsed.long_description) if part]
    parameters, types = {}, {}
    for entry in parsed.params:
        for name in (part.strip().lstrip("*") for part in entry.arg_name.split(",")):
            if entry.description:
                parameters[name] = " ".join(entry.description.split())
            if entry.type_name:
                types[name] = entry.type_name.removesuffix("?")
    returned = parsed.returns
    returns = " ".join((returned.description or "").split()) if returned and not returned.is_generator else ""
    return Docstring(description="\n\n".join(paragraphs), parameters=parameters, types=types, returns=returns)
