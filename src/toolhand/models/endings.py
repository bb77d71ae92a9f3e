"""How a reply of chat completions ends: which choice is the reply, why it ended, and that it broke off. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolhand.core.errors import ModelError, ModelFault
from toolhand.core.language import say
from toolhand.core.messages import FinishReason
from toolhand.models.faults import refuse_error

_FINISH: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
}

_BROKEN: Final[Mapping[str, ModelFault]] = {
    "error": ModelFault.FAILED,  # OpenRouter, Mistral
    "network_error": ModelFault.FAILED,  # Zhipu
    "insufficient_system_resource": ModelFault.OVERLOADED,  # DeepSeek
    "abort": ModelFault.CUT,  # vLLM, SGLang
}
"""Reasons that say that the server, not the model, ended the reply."""


def reply_of(choices: Any) -> Mapping[str, Any] | None:
    """The choice that is the reply: the first by its own number, wherever it stands. None where there is none.

    Raises:
        ModelError: when the choice says that it failed.
    """
    found = [choice for choice in choices if isinstance(choice, Mapping)] if isinstance(choices, list) else []
    choice = next((choice for choice in found if choice.get("index") in (None, 0)), None)
    if choice is None:
        return None
    refuse_error(choice)
    reason = choice.get("finish_reason")
    fault = _BROKEN.get(reason) if isinstance(reason, str) else None
    if fault is not None:
        raise ModelError(
            say(f"the model's server broke its reply off: {reason}", f"模型服务中断了回答：{reason}"),
            fault=fault,
            retryable=True,
        )
    return choice


def finish_reason(value: Any, *, has_calls: bool) -> FinishReason:
    """The neutral word for a server's reason. Some say "stop" beside calls, or nothing: the calls count."""
    reason = _FINISH.get(value, "unknown") if isinstance(value, str) else "unknown"
    if reason in ("stop", "unknown") and has_calls:
        return "tool_calls"
    return "stop" if reason == "unknown" and not value else reason
