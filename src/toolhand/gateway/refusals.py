"""Why a request is not answered: one error with a status, and how a failure of a model's server becomes one.

A client is told nothing of what stands behind the gateway: no address, no key. The log is.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from toolhand.core.errors import ModelError, ModelFault, ToolhandError
from toolhand.core.language import say

LOG: Final = logging.getLogger("toolhand.gateway")

_ADDRESS: Final = re.compile(r"https?://[^\s'\"，。）)]+")

INVALID: Final = "invalid_request_error"


class Refusal(Exception):  # noqa: N818 - an answer to a client, not an accident
    """A request that is not answered, as the client is told.

    Args:
        status: the HTTP status.
        message: one sentence.
        kind: the error's type, in OpenAI's words.
        code: a word for programs; "" for none.
        param: the field of the request that is meant; "" for none.
        retry_after: seconds after which the same request may succeed.
        is_final: whether the same request will be refused again: OpenAI's and Anthropic's clients do not send it again then.
        notes: further facts for the client.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = INVALID,
        code: str = "",
        param: str = "",
        retry_after: float | None = None,
        is_final: bool = False,
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.is_final, self.notes = is_final, dict(notes or {})
        self.status, self.message = status, message
        self.kind, self.code, self.param = kind, code, param
        self.wait_seconds = None if retry_after is None else max(1, math.ceil(retry_after))

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers that go with it."""
        told = {} if self.wait_seconds is None else {"retry-after": str(self.wait_seconds)}
        return {**told, "x-should-retry": "false"} if self.is_final else told


def invalid(param: str, english: str, chinese: str, *, code: str = "") -> Refusal:
    """A field that cannot be used."""
    return Refusal(
        400, f"{param}: {say(english, chinese)}" if param else say(english, chinese), param=param, code=code
    )


def too_slow(seconds: float) -> Refusal:
    """The time for a request is over."""
    return Refusal(
        504,
        say(f"there was no answer within {seconds:g} seconds", f"{seconds:g} 秒内没有得到回答"),
        kind="timeout_error",
        code="timeout",
    )


_STATUS: Final[Mapping[ModelFault, tuple[int, str, str]]] = {
    ModelFault.RATE_LIMITED: (429, "rate_limit_error", "rate_limit_exceeded"),
    ModelFault.QUOTA: (429, "insufficient_quota", "insufficient_quota"),
    ModelFault.OVERLOADED: (503, "overloaded_error", "overloaded"),
    ModelFault.TIMEOUT: (504, "timeout_error", "timeout"),
    ModelFault.CONTEXT_OVERFLOW: (400, INVALID, "context_length_exceeded"),
    ModelFault.CONTENT_FILTER: (400, INVALID, "content_filter"),
    ModelFault.REFUSED: (400, INVALID, ""),
    ModelFault.UNKNOWN_MODEL: (404, INVALID, "model_not_found"),
}
"""Status, type and code. What is not here is the gateway's own trouble: 502."""


def refusal_of(error: BaseException, *, passes_key: bool = False) -> Refusal:
    """What a client is told of a failure.

    Args:
        error: what was raised.
        passes_key: whether the key that was sent to the model's server was the client's own.
    """
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ModelError):
        return _of_model(error, passes_key=passes_key)
    LOG.error("a request failed: %s: %s", type(error).__name__, error, exc_info=error)
    if isinstance(error, ToolhandError):
        message = say("the gateway cannot do this as it is set up", "网关当前的设置无法完成该请求")
    else:
        message = say("the gateway failed in itself", "网关自身出错")
    return Refusal(500, message, kind="server_error", code="gateway_error")


def _of_model(error: ModelError, *, passes_key: bool) -> Refusal:
    LOG.warning("the model's server: %s", error)
    if error.fault is ModelFault.KEY and passes_key:
        said = say("the model's server did not accept your API key", "模型服务不接受您的 API key")
        return Refusal(401, said, kind="authentication_error", code="invalid_api_key")
    if error.fault is ModelFault.KEY:
        said = say("the model's server did not accept the gateway's key", "模型服务不接受网关的 key")
        return Refusal(502, said, kind="server_error", code="upstream_error")
    status, kind, code = _STATUS.get(error.fault, (502, "server_error", "upstream_error"))
    message = _ADDRESS.sub(say("the model's server", "模型服务"), str(error))
    return Refusal(status, message, kind=kind, code=code, retry_after=error.retry_after)
