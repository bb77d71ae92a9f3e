"""What the tools that reach out tell a model when something does not work, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import aiohttp

from toolhand.core.errors import ErrorCode, ToolFailure
from toolhand.core.language import Language
from toolhand.core.retry_after import retry_after

_WORDS: Final[Mapping[str, Mapping[Language, tuple[str, str]]]] = {
    "url": {
        "en": ("'{url}' is not a web address.", "Send a whole address such as https://example.org/page."),
        "zh": ("“{url}”不是网址。", "请给出完整的网址，例如 https://example.org/page。"),
    },
    "scheme": {
        "en": ("Addresses that begin with '{scheme}:' cannot be opened.", "Only http and https can."),
        "zh": ("无法打开以“{scheme}:”开头的地址。", "只支持 http 和 https。"),
    },
    "user": {
        "en": ("An address must not hold a user name or password.", "Leave out what stands before the @."),
        "zh": ("网址里不能有用户名或密码。", "请去掉 @ 及其前面的部分。"),
    },
    "port": {
        "en": ("Port {port} must not be reached.", "Use an address without a port."),
        "zh": ("不允许访问端口 {port}。", "请使用不带端口的网址。"),
    },
    "spelling": {
        "en": ("'{host}' is not the name of a host.", "Send a name such as example.org."),
        "zh": ("“{host}”不是主机名。", "请使用 example.org 这样的名称。"),
    },
    "address": {
        "en": ("'{host}' is not on the public internet and must not be reached.", "Use another source."),
        "zh": ("“{host}”不在公共互联网上，不允许访问。", "请换一个来源。"),
    },
    "hops": {
        "en": ("The address leads on more than {hops} times.", "Use another source."),
        "zh": ("该网址跳转超过 {hops} 次。", "请换一个来源。"),
    },
    "packed": {
        "en": ("The answer is damaged and cannot be unpacked.", "Use another source."),
        "zh": ("返回的内容已损坏，无法解压。", "请换一个来源。"),
    },
    "encoding": {
        "en": ("The answer is packed as '{encoding}', which cannot be read.", "Use another source."),
        "zh": ("返回的内容以“{encoding}”压缩，无法读取。", "请换一个来源。"),
    },
    "no_host": {
        "en": ("There is no host '{host}'.", "Check the spelling, or look for the right address."),
        "zh": ("没有名为“{host}”的主机。", "请检查拼写，或另找正确的网址。"),
    },
    "network": {
        "en": ("'{host}' could not be reached.", "Try again later, or use another source."),
        "zh": ("无法连接“{host}”。", "请稍后再试，或换一个来源。"),
    },
    "slow": {
        "en": ("'{host}' took too long to answer.", "Try again later, or use another source."),
        "zh": ("“{host}”响应太慢。", "请稍后再试，或换一个来源。"),
    },
    "certificate": {
        "en": ("'{host}' has no valid certificate.", "Use another source."),
        "zh": ("“{host}”的证书无效。", "请换一个来源。"),
    },
    "status": {
        "en": ("'{host}' answered with HTTP {status}.", ""),
        "zh": ("“{host}”返回 HTTP {status}。", ""),
    },
    "missing": {
        "en": (
            "There is no such page at '{host}' (HTTP {status}).",
            "Check the address, or search for the page.",
        ),
        "zh": ("“{host}”上没有这个页面（HTTP {status}）。", "请检查网址，或搜索该页面。"),
    },
    "forbidden": {
        "en": ("'{host}' does not let this program in (HTTP {status}).", "Use another source."),
        "zh": ("“{host}”不允许本程序访问（HTTP {status}）。", "请换一个来源。"),
    },
    "busy": {
        "en": ("'{host}' is asked too often (HTTP {status}).", "Use another source, or try again later."),
        "zh": ("对“{host}”的请求过于频繁（HTTP {status}）。", "请换一个来源，或稍后再试。"),
    },
    "garbled": {
        "en": ("The answer of '{host}' could not be understood.", "Try again later."),
        "zh": ("无法理解“{host}”返回的内容。", "请稍后再试。"),
    },
    "key": {
        "en": (
            "'{host}' does not accept the program's key (HTTP {status}).",
            "Tell the user; calling again does not help.",
        ),
        "zh": ("“{host}”不接受程序的密钥（HTTP {status}）。", "请告知用户，重复调用没有用。"),
    },
}


def failure(word: str, code: ErrorCode, language: Language, **facts: Any) -> ToolFailure:
    """What to raise, in the language of the run.

    Args:
        word: which sentence.
        code: the error's code.
        language: of the run.
        facts: what stands in the sentence; `status` and `retry_after` are also kept for programs.
    """
    return failed(_WORDS[word][language], code, **facts)


def failed(sentences: tuple[str, str], code: ErrorCode, **facts: Any) -> ToolFailure:
    """The same from a tool's own sentences: what is wrong, and what to do."""
    message, hint = sentences
    kept = {key: facts[key] for key in ("status", "retry_after") if facts.get(key) is not None}
    return ToolFailure(
        message.format(**facts),
        code=code,
        retryable=bool(facts.get("retryable", code is ErrorCode.INVALID_ARGUMENT)),
        hint=hint.format(**facts),
        details=kept,
    )


@contextmanager
def told(host: str, language: Language) -> Iterator[None]:
    """Turns what the network raises into a sentence for the model. For tools that only read."""
    try:
        yield
    except aiohttp.ClientConnectorDNSError:
        raise failure("no_host", ErrorCode.NETWORK, language, host=host, retryable=True) from None
    except aiohttp.ClientConnectorCertificateError:
        raise failure("certificate", ErrorCode.NETWORK, language, host=host) from None
    except TimeoutError:
        raise failure("slow", ErrorCode.TIMEOUT, language, host=host, retryable=True) from None
    except (aiohttp.ClientError, OSError):
        raise failure("network", ErrorCode.NETWORK, language, host=host, retryable=True) from None


def check_status(status: int, headers: Mapping[str, str], host: str, language: Language) -> None:
    """Nothing where a page came, else the sentence for its status.

    Raises:
        ToolFailure: for everything from 400 on.
    """
    if status < 400:
        return
    if status in (404, 410):
        raise failure("missing", ErrorCode.UPSTREAM, language, host=host, status=status)
    if status == 429:
        wait = retry_after(headers)
        raise failure(
            "busy",
            ErrorCode.RATE_LIMITED,
            language,
            host=host,
            status=status,
            retryable=True,
            retry_after=wait,
        )
    if status in (401, 403, 451):
        raise failure("forbidden", ErrorCode.UPSTREAM, language, host=host, status=status)
    if status in (408, 504):
        raise failure("slow", ErrorCode.TIMEOUT, language, host=host, status=status, retryable=True)
    raise failure("status", ErrorCode.UPSTREAM, language, host=host, status=status, retryable=status >= 500)
