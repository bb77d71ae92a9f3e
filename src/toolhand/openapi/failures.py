"""What an API's failure means to a model: which code, whether asking again helps, and the server's own words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import Language
from toolhand.core.retry_after import retry_after
from toolhand.core.tools import Tool

MOST_SAID: Final = 800

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "failed": "The service refused it (HTTP {status}){said}.",
        "said": ": {text}",
        "invalid": "Change the arguments as it says and call it again.",
        "denied": "The program may not do this there; ask for something else.",
        "absent": "There is no such thing there: check the names and ids in the arguments.",
        "conflict": "Look at the present state first.",
        "limited": "It is asked too often; wait before the next call.",
        "ill": "The service itself has a fault.",
        "unknown": "It may have had its effect, or not: check before you call it again.",
        "secret": "It needs the secret '{name}', which the program was not given; nothing in the arguments can replace it.",
        "path": "Argument '{name}' cannot be {value!r}: it names a step of an address.",
        "header": "Argument '{name}' may not hold line breaks.",
        "large": "The answer is larger than {size} MB. Ask for less at a time.",
        "moved": "The service sends on to another address, which is not followed: {target}.",
        "garbled": "The service answered with something that is not what it says it is.",
    },
    "zh": {
        "failed": "服务拒绝了请求（HTTP {status}）{said}。",
        "said": "：{text}",
        "invalid": "请按提示修改参数后重试。",
        "denied": "程序没有这项权限，请换一种做法。",
        "absent": "那里没有对应的内容：请检查参数中的名称和编号。",
        "conflict": "请先查看当前状态。",
        "limited": "请求过于频繁，请稍后再试。",
        "ill": "服务自身出现故障。",
        "unknown": "它可能已经生效，也可能没有：再次调用之前请先核实。",
        "secret": "它需要密钥“{name}”，程序没有提供；任何参数都无法代替。",
        "path": "参数“{name}”不能是 {value!r}：它是地址中的一段。",
        "header": "参数“{name}”不能包含换行。",
        "large": "答复超过 {size} MB，请减少每次请求的内容。",
        "moved": "服务转向了另一个地址，未予跟随：{target}。",
        "garbled": "服务的答复与其声明的格式不符。",
    },
}


def refused(
    word: str, language: Language, code: ErrorCode, *, retryable: bool = False, **facts: Any
) -> ToolFailure:
    """A failure in one of our own sentences."""
    return ToolFailure(_WORDS[language][word].format(**facts), code=code, retryable=retryable)


def failure(
    status: int, text: str, headers: Mapping[str, str], language: Language, tool: Tool
) -> ToolFailure:
    """The failure that an error status stands for.

    Args:
        status: 400 or more.
        text: the response's body, without secrets.
        headers: the response's.
        language: of the words.
        tool: whose call it was.
    """
    code, hint, retryable = _meaning(status, tool)
    words = _WORDS[language]
    said = " ".join(said_in(text).split())[:MOST_SAID].rstrip("。. ")
    message = words["failed"].format(status=status, said=words["said"].format(text=said) if said else "")
    details: dict[str, Any] = {"status": status}
    wait = retry_after(headers)
    if wait is not None:
        details["retry_after"] = wait
    return ToolFailure(
        message, code=code, retryable=retryable, hint=words[hint] if hint else "", details=details
    )


def _meaning(status: int, tool: Tool) -> tuple[ErrorCode, str, bool]:
    """Code, hint, and whether the call may succeed when it is made again, as it is or mended."""
    if status in (400, 422):
        return ErrorCode.INVALID_ARGUMENT, "invalid", True
    if status in (401, 403):
        return ErrorCode.NOT_PERMITTED, "denied", False
    if status in (404, 410):
        return ErrorCode.UPSTREAM, "absent", False
    if status in (409, 412):
        return ErrorCode.UPSTREAM, "conflict", False
    if status == 429:
        return ErrorCode.RATE_LIMITED, "limited", True
    if status in (408, 504):
        if tool.repeatable:
            return ErrorCode.TIMEOUT, "ill", True
        return ErrorCode.OUTCOME_UNKNOWN, "unknown", False
    if status >= 500:
        # 503 says that nothing was done; after another a call that may not run twice is left to the model.
        return ErrorCode.UPSTREAM, "ill", (status == 503 or tool.repeatable) and status != 501
    return ErrorCode.UPSTREAM, "", False


def said_in(text: str) -> str:
    """The words of an error response: those of the known shapes, else the text itself where it is no page.

    Source: RFC 9457 for problem documents; FastAPI, JSON:API, Google and GraphQL each have a shape of their own.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "" if "<html" in text[:1000].lower() or "<!doctype" in text[:1000].lower() else text
    return "; ".join(dict.fromkeys(_sentences(found))) or text


_SAYING: Final = (
    "title",
    "detail",
    "message",
    "error",
    "error_description",
    "errors",
    "msg",
    "reason",
    "description",
)


def _sentences(node: Any, depth: int = 0) -> Iterator[str]:
    if depth > 6:
        return
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for item in node[:20]:
            yield from _sentences(item, depth + 1)
    elif isinstance(node, Mapping):
        where = node.get("loc") or node.get("field") or node.get("path") or node.get("pointer")
        what = [text for key in _SAYING if key in node for text in _sentences(node[key], depth + 1)]
        if where and what:
            steps = where if isinstance(where, list) else [where]
            yield f"{'.'.join(str(step) for step in steps)}: {'; '.join(what)}"
        elif what:
            yield from what
        elif depth:
            yield json.dumps(node, ensure_ascii=False)
