"""What went wrong between us and a model's server, each as one sentence that says what to do. Never holds a secret."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterable, Mapping
from typing import Any, Final

import aiohttp
from yarl import URL

from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.language import say
from toolhand.core.retry_after import retry_after
from toolhand.models.connections import Timeouts
from toolhand.models.faults import PASSING, error_text, fault_of, quoted, wait_in

_KEY: Final = re.compile(r"\b(?:(?:sk|pk|rk|gsk|xai)[-_]|AIza)[-_A-Za-z0-9*.]{8,}")

_OLLAMA_PORT: Final = 11434


def address(url: URL) -> str:
    """An address that may be shown: without user, password and query."""
    return str(url.with_user(None).with_query(None).with_fragment(None))


def cut(url: URL) -> ModelError:
    """The answer broke off."""
    return ModelError(
        say(
            f"the connection to {address(url)} was cut before the answer was complete",
            f"与 {address(url)} 的连接在回答完成之前中断",
        ),
        fault=ModelFault.CUT,
        retryable=True,
    )


def not_json(url: URL, raw: bytes) -> ModelError:
    """The answer is something else than the protocol says."""
    text = raw[:4000].decode("utf-8", "replace")
    if "<html" in text.lower():
        message = say(
            f"{address(url)} answered with a web page: is base_url right?",
            f"{address(url)} 返回的是网页：base_url 是否正确？",
        )
    elif not text.strip():
        message = say(f"{address(url)} answered with nothing", f"{address(url)} 返回了空内容")
    else:
        message = say(
            f"{address(url)} answered with something that is not JSON: {quoted(text)}",
            f"{address(url)} 返回的内容不是 JSON：{quoted(text)}",
        )
    return ModelError(message, fault=ModelFault.GARBLED, retryable=True)


def nothing_said(url: URL) -> ModelError:
    """A stream came to its end in good order, and nothing of it was a reply."""
    return ModelError(
        say(
            f"{address(url)} ended its answer without a reply in it",
            f"{address(url)} 结束了回答，但里面没有内容",
        ),
        fault=ModelFault.GARBLED,
        retryable=True,
    )


def no_reply(url: URL) -> ModelError:
    """The provider gave nothing but the word that it refuses."""
    return ModelError(
        say(
            f"{address(url)} gave no reply: its content filter refused what was asked or what would have been said",
            f"{address(url)} 没有回答：它的内容过滤器拒绝了问题或将要给出的回答",
        ),
        fault=ModelFault.CONTENT_FILTER,
    )


def unreachable(
    url: URL, error: BaseException, timeouts: Timeouts, *, limit: str = "first_byte"
) -> ModelError:
    """No answer came at all.

    Args:
        url: where.
        error: what the connection failed with.
        timeouts: how long the server may take.
        limit: which of them a timeout was that is none of the connection's.
    """
    where = address(url)
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        return _no_proxy(where, error)
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLError):
        message = say(
            f"{where} has a certificate that cannot be trusted: check the address",
            f"{where} 的证书不可信：请检查地址",
        )
        return ModelError(message, fault=ModelFault.UNTRUSTED)
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        message = say(
            f"{where} does not speak TLS as it should: is it http:// that is meant?",
            f"{where} 的 TLS 不正常：是否应写成 http://？",
        )
        return ModelError(message, fault=ModelFault.UNTRUSTED)
    if isinstance(error, TimeoutError):
        return _too_slow(where, error, timeouts, limit)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _passing(ModelFault.UNREACHABLE, _no_connection(where, url, error))
    if isinstance(error, aiohttp.ClientResponseError):
        said = say(
            f"{where} answered with something that is not HTTP, or packed in a way that was not asked for",
            f"{where} 返回的内容不是 HTTP，或使用了未请求的压缩方式",
        )
        return _passing(ModelFault.GARBLED, said)
    said = say(f"{where} closed the connection without an answer", f"{where} 没有回答就关闭了连接")
    return _passing(ModelFault.CUT, said)


def _too_slow(where: str, error: TimeoutError, timeouts: Timeouts, limit: str) -> ModelError:
    if isinstance(error, aiohttp.ConnectionTimeoutError | aiohttp.SocketTimeoutError):
        seconds = f"timeout 'connect', {timeouts.connect:g} s"
        said = say(
            f"{where} did not take a connection in time ({seconds})",
            f"{where} 没有及时接受连接（{seconds}）",
        )
        return _passing(ModelFault.TIMEOUT, said)
    seconds = f"timeout '{limit}', {getattr(timeouts, limit):g} s"
    said = say(
        f"{where} did not begin to answer in time ({seconds})",
        f"{where} 没有及时开始回答（{seconds}）",
    )
    return ModelError(said, fault=ModelFault.TIMEOUT, retryable=limit != "total")


def _no_proxy(
    where: str, error: aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError
) -> ModelError:
    names = "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        said = say(
            f"{where} cannot be reached: the proxy refused with status {error.status}, see {names}",
            f"无法连接 {where}：代理拒绝了，状态码 {error.status}，请检查 {names}",
        )
        passes = error.status >= 500
        return ModelError(said, fault=ModelFault.UNREACHABLE, status=error.status, retryable=passes)
    proxy = f"{error.host}:{error.port}"
    return _passing(
        ModelFault.UNREACHABLE,
        say(
            f"{where} cannot be reached: the proxy {proxy} takes no connection, see {names}",
            f"无法连接 {where}：代理 {proxy} 不接受连接，请检查 {names}",
        ),
    )


def _no_connection(where: str, url: URL, error: aiohttp.ClientConnectorError) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return say(
            f"{where} cannot be reached: the host '{url.host}' is not known",
            f"无法连接 {where}：找不到主机“{url.host}”",
        )
    if isinstance(error.os_error, ConnectionRefusedError) and url.port == _OLLAMA_PORT:
        return say(
            f"{where} refused the connection: if that is an Ollama, start it with `ollama serve`",
            f"{where} 拒绝连接：如果那是 Ollama，请先运行 `ollama serve`",
        )
    if isinstance(error.os_error, ConnectionRefusedError):
        return say(
            f"{where} refused the connection: is the server running there?",
            f"{where} 拒绝连接：服务是否在那里运行？",
        )
    return say(
        f"{where} cannot be reached: {error.os_error.strerror or 'no connection'}",
        f"无法连接 {where}：{error.os_error.strerror or '没有连接'}",
    )


def _passing(fault: ModelFault, message: str) -> ModelError:
    return ModelError(message, fault=fault, retryable=True)


def refusal(
    *,
    url: URL,
    model: str,
    status: int,
    headers: Mapping[str, str],
    raw: bytes,
    api_key: str,
    key_variable: str,
    path: str = "",
) -> ModelError:
    """The server answered with an error status.

    Args:
        url: where.
        model: the model's name on the server.
        status: the HTTP status.
        headers: the response's headers.
        raw: its body.
        api_key: the key that was sent, which some servers repeat in their answer.
        key_variable: the environment variable that holds the key.
        path: what the request put behind the base address.
    """
    body = _parsed(raw)
    words = _words(body, api_key)
    said = say(f": {words}", f"：{words}") if words else ""
    where = say(f"{address(url)} (status {status})", f"{address(url)}（状态码 {status}）")
    wait = retry_after(headers)
    wait = wait_in(body) if wait is None else wait
    if 300 <= status < 400:
        return _moved(where, url, status, headers.get("Location", ""), path)
    everything = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    fault = fault_of(status, everything, says_when=wait is not None)
    key = (
        say("did not accept the API key", "不接受该 API key")
        if api_key
        else say("needs an API key", "需要 API key")
    )
    message = where + say(*_SENTENCES.get(fault, (" refused the request{said}", " 拒绝了请求{said}"))).format(
        said=said, key=key, model=model, variable=key_variable
    )
    return ModelError(message, fault=fault, status=status, retryable=fault in PASSING, retry_after=wait)


def _moved(where: str, url: URL, status: int, target: str, path: str) -> ModelError:
    try:
        found = address(url.join(URL(target))).removesuffix(path) if target else ""
    except ValueError:
        found = ""
    message = say(
        f"{where} sends on to {found}: give that as base_url",
        f"{where} 转到了 {found}：请把它写成 base_url",
    )
    if not found:
        message = say(f"{where} sends on and does not say where", f"{where} 要求转到别处，但没有说是哪里")
    return ModelError(message, fault=ModelFault.MOVED, status=status)


_SENTENCES: Final[Mapping[ModelFault, tuple[str, str]]] = {
    ModelFault.KEY: (
        " {key}, see {variable} or api_key=…{said}",
        " {key}，请检查 {variable} 或 api_key=…{said}",
    ),
    ModelFault.UNKNOWN_MODEL: (
        " knows no model '{model}', or base_url is wrong{said}",
        " 没有模型“{model}”，或者 base_url 不对{said}",
    ),
    ModelFault.QUOTA: (": the account's quota is used up{said}", "：账户额度已用完{said}"),
    ModelFault.RATE_LIMITED: (" asks for fewer requests{said}", " 要求减少请求{said}"),
    ModelFault.OVERLOADED: (" is overloaded{said}", " 过载{said}"),
    ModelFault.FAILED: (" failed{said}", " 出错{said}"),
    ModelFault.TIMEOUT: (" gave up waiting{said}", " 等待超时{said}"),
    ModelFault.CONTENT_FILTER: (" refuses the content{said}", " 拒绝该内容{said}"),
    ModelFault.CONTEXT_OVERFLOW: (
        " says that the conversation is longer than what the model '{model}' can read{said}",
        " 表示对话超出了模型“{model}”能读的长度{said}",
    ),
}
"""What follows the address, in English and Chinese."""


def _parsed(raw: bytes) -> Any:
    text = raw.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return "" if "<html" in text[:2000].lower() else text  # a proxy's page says less than the status


def _words(body: Any, api_key: str) -> str:
    return quoted(without_secrets(body if isinstance(body, str) else error_text(body), (api_key,)))


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """A text without keys: those that were sent, and whatever looks like one."""
    for secret in secrets:
        if len(secret) > 3:
            text = text.replace(secret, "…")
    return _KEY.sub("…", text)
