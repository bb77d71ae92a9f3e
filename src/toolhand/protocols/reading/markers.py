"""Tags and special tokens, told apart by what their words say and not by a list of vendors.

`<tool_call>`, `<｜tool▁calls▁begin｜>`, `<longcat_tool_call>`, `[TOOL_CALLS]`, `<|/tool_call|>` and one that a model makes
up tomorrow are all an opening or a closing of a call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from toolhand.core.lazily import lazy_pattern

Kind = Literal[
    "open",
    "close",
    "between",
    "function",
    "parameter",
    "parameter_end",
    "think",
    "think_end",
    "result",
    "noise",
    "element",
    "element_end",
]

# What a tag holds. A token (`<|…|>`) may hold anything; a plain tag has a name, perhaps a word, perhaps an attribute: so it is
# known after a few characters of prose, such as "a<b and so on", that no tag has begun.
_BARRED_INSIDE = r"(?:/|\w)[^<>\n]{0,121}+"
_PLAIN_INSIDE = (
    r"(?:/|[^\W\d])[^\s<>=，。！？；、]{0,64}+"
    r"(?:[^\S\n]++[\w▁\-:./|｜]{0,40}+)?+(?:[^\S\n]*+=[^<>\n]{0,120}+)?+[^\S\n]*+"
)
# A tag or token, also with its second bar or its closing bracket missing.
TAG = lazy_pattern(rf"<(?P<lead>[|｜])?(?P<inner>(?(lead){_BARRED_INSIDE}|{_PLAIN_INSIDE}))(?:>|(?=\n))")
TAG_BEGUN = lazy_pattern(rf"<(?:[|｜](?:{_BARRED_INSIDE})?+|{_PLAIN_INSIDE})?+\Z")
"""What may become a `TAG` with more text: the same grammar, up to the end."""
BRACKET = lazy_pattern(r"\[(?P<inner>/?[A-Z][A-Z_ ]{1,30})\]")
BRACKET_BEGUN = lazy_pattern(r"\[/?(?:[A-Z][A-Z_ ]{0,30})?\Z")
_TRIANGLES = lazy_pattern(r"◁(?P<inner>/?\w{1,20})▷")

_ATTRIBUTE = lazy_pattern(r"""([\w.\-:]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_FUNCTION = lazy_pattern(
    r"(?:[\w.\-]+:|[|｜]\w+[|｜])?(?P<tag>function|invoke|tool_call|tool|call|action|function_call|tool_use)"
    r"(?:\s*=\s*|\s+(?:name|tool|function|id)\s*=\s*)(?P<q>[\"']?)(?P<name>[^\"'>]+?)(?P=q)(?P<rest>\s+[^>]*)?\s*/?$",
    re.IGNORECASE,
)
_PARAMETER = lazy_pattern(
    r"(?:[\w.\-]+:|[|｜]\w+[|｜])?(?P<tag>parameter|param|argument|arg|property|input)"
    r"(?:\s*=\s*|\s+(?:name|key)\s*=\s*)(?P<q>[\"']?)(?P<name>[^\"'>]+?)(?P=q)(?P<rest>\s+[^>]*)?\s*$",
    re.IGNORECASE,
)
_NAMESPACE = lazy_pattern(r"^(/?)[|｜]?[\w.\-]*[|｜]")
_PARAMETER_END = lazy_pattern(
    r"/(?:[\w.\-]+:|[|｜]\w+[|｜])?(?:parameter|param|argument|arg|property)$", re.IGNORECASE
)
_SPLIT = lazy_pattern(r"[^A-Za-z\u4e00-\u9fff]+|(?<=[a-z])(?=[A-Z])")

_THINKING = frozenset(
    [
        "think",
        "thinking",
        "thought",
        "thoughts",
        "reasoning",
        "reason",
        "reflection",
        "analysis",
        "scratchpad",
        "monologue",
        "cot",
        "思考",
        "推理",
    ]
)
_CALLING = frozenset(
    [
        "tool",
        "tools",
        "toolcall",
        "toolcalls",
        "tooluse",
        "call",
        "calls",
        "function",
        "functions",
        "functioncall",
        "functioncalls",
        "functools",
        "action",
        "actions",
        "plugin",
        "invoke",
        "invocation",
        "工具",
        "调用",
    ]
)
_STARTING = frozenset(["start", "begin", "bos", "prefix"])
_ENDING = frozenset(["end", "stop", "eos", "suffix"])
_BETWEEN = frozenset(["sep", "separator", "args", "argument", "arguments", "constrain"])
_HELPING = frozenset(["use", "mcp", "run", "my", "the", "code", "request"])
_RESULT = frozenset(
    [
        "result",
        "results",
        "response",
        "responses",
        "observation",
        "output",
        "outputs",
        "returns",
        "结果",
        "观察",
    ]
)
_PLAIN_TAGS = frozenset(
    [
        "tool",
        "tools",
        "call",
        "calls",
        "toolcall",
        "toolcalls",
        "functioncall",
        "functioncalls",
        "function",
        "functions",
        "tooluse",
        "toolrequest",
        "toolinvocation",
        "invoke",
        "invocation",
        "action",
        "actions",
        "工具",
        "工具调用",
    ]
)


@dataclass(frozen=True, slots=True)
class Marker:
    """What a tag or token is.

    Args:
        kind: its part in a call.
        name: the function, the parameter or the element that it names, or "".
        is_token: whether it is a special token or a bracketed marker, which nobody writes by accident.
        attributes: what else it says.
        tag: its bare tag name, lower case.
    """

    kind: Kind
    name: str = ""
    is_token: bool = False
    attributes: tuple[tuple[str, str], ...] = ()
    tag: str = ""


@lru_cache(maxsize=4096)
def classify(inner: str, is_token: bool) -> Marker:
    """What the inside of a tag (`<inner>`) or token (`<|inner|>`) makes it."""
    if _has_bars(inner):
        inner, is_token = _NAMESPACE.sub(r"\1ns:", inner), False
    function = _FUNCTION.match(inner)
    if function:
        rest = tuple(_attributes(function["rest"] or ""))
        return Marker("function", function["name"].strip(), attributes=rest, tag=function["tag"].lower())
    parameter = _PARAMETER.match(inner)
    if parameter:
        rest = tuple(_attributes(parameter["rest"] or ""))
        return Marker("parameter", parameter["name"].strip(), attributes=rest, tag=parameter["tag"].lower())
    if _PARAMETER_END.match(inner):
        return Marker("parameter_end")
    is_end = inner.startswith("/")
    name, _, rest_text = inner.lstrip("/").partition(" ")
    local = name.rpartition(":")[2] if not is_token else name
    words = [word.lower() for word in _SPLIT.split(local) if word]
    return _by_words(words, local, is_end, is_token, tuple(_attributes(rest_text)))


def _has_bars(name: str) -> bool:
    return "|" in name or "｜" in name


def _by_words(
    words: list[str], local: str, is_end: bool, is_token: bool, attributes: tuple[tuple[str, str], ...]
) -> Marker:
    said = set(words)
    folded = "".join(words)
    has_slash, is_end = is_end, is_end or bool(said & _ENDING)
    is_thinking = bool(said & _THINKING) and len(words) <= 4 and not said & _CALLING
    if is_thinking and (folded in _THINKING or said & (_STARTING | _ENDING) or is_token or len(words) == 1):
        return Marker("think_end" if is_end else "think", is_token=is_token)
    if folded in ("beginfinalresponse", "startfinalresponse"):
        return Marker("think_end", is_token=True)
    if is_token:
        return _token(said, words, folded, is_end)
    if "turn" in said and said <= _STARTING | _ENDING | {"of", "turn"}:
        return Marker("noise", tag=folded)
    if said & _RESULT and (said & _CALLING or folded in ("observation", "functionresult")):
        return Marker("result")
    if folded in _PLAIN_TAGS or (len(words) > 2 and "".join(words[-2:]) in _PLAIN_TAGS and said & _CALLING):
        return Marker("close" if is_end else "open", attributes=attributes, tag=local.lower())
    if said & _CALLING and (
        said <= _CALLING | _STARTING | _ENDING | _HELPING or said & (_STARTING | _ENDING)
    ):
        return Marker("close" if is_end else "open", attributes=attributes, tag=local.lower())
    return Marker("element_end" if has_slash else "element", local, attributes=attributes, tag=local.lower())


def _token(said: set[str], words: list[str], folded: str, is_end: bool) -> Marker:
    if said & _RESULT and said & (_CALLING | {"observation"}) and not said & _STARTING - {"begin", "start"}:
        return Marker("result" if not is_end else "noise", is_token=True)
    if said & _BETWEEN or "id" in said:
        if not said & (_CALLING | _BETWEEN):
            return Marker("noise", is_token=True, tag=folded)
        return Marker("between", is_token=True)
    if (
        "python" in said
        or said & _CALLING
        or any(word.startswith("toolcall") for word in words)
        or "dsml" in said
    ):
        if folded == "call":
            return Marker("close", is_token=True)
        return Marker("close" if is_end else "open", is_token=True, tag=folded)
    return Marker("noise", is_token=True, tag=folded)


def _attributes(text: str) -> list[tuple[str, str]]:
    return [(match[1], match[2] or match[3] or match[4] or "") for match in _ATTRIBUTE.finditer(text)]


def marker_at(text: str, position: int) -> tuple[Marker, int] | None:
    """The tag, token or bracketed marker that begins at a position, with its end."""
    if text.startswith("[", position):
        match = BRACKET.match(text, position)
        if not match:
            return None
        marker = classify(match["inner"].replace(" ", "_"), True)
        return (marker, match.end()) if marker.kind != "noise" else None
    if text.startswith("◁", position):
        match = _TRIANGLES.match(text, position)
        return (classify(match["inner"], True), match.end()) if match else None
    match = TAG.match(text, position)
    if not match:
        return None
    inner, end = match["inner"], match.end()
    if inner.endswith("/") and len(inner) > 1:
        inner = inner[:-1]
    has_trail = inner.endswith(("|", "｜")) and len(inner) > 1
    inner = inner[:-1] if has_trail else inner
    is_bar = has_trail or match["lead"] is not None
    if not text.startswith(">", end - 1) and not inner.lstrip("/").lower().startswith(
        ("function=", "parameter=", "invoke ")
    ):
        return None  # only a named function or parameter may lack its closing bracket
    is_end = is_bar and not match["lead"] and not inner.startswith("/")
    return classify("/" + inner if is_end else inner, is_bar), end
