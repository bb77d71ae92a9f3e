"""Anthropic's models, and servers that speak its Messages API: "anthropic:<model>"."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.models.facts import facts
from toolhand.models.remote import RemoteModel
from toolhand.models.wires.anthropic import AnthropicWire

DEFAULT_BASE_URL: Final = "https://api.anthropic.com"
KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"

DEFAULT_MAX_TOKENS: Final = 8192
MOST_DEFAULT_TOKENS: Final = 16_384
"""A bound on a reply's length that nobody chose is not made longer than this, whatever the model can."""


def connect(
    rest: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    max_tokens: int | None = None,
    thinking: int | Mapping[str, Any] | None = None,
    cache: bool | None = None,
    **options: Any,
) -> RemoteModel:
    """The model "anthropic:<rest>".

    Args:
        rest: the model's name.
        base_url: instead of `ANTHROPIC_BASE_URL` or Anthropic's own address.
        api_key: instead of `ANTHROPIC_API_KEY`.
        max_tokens: the bound on a reply's length where a request sets none.
        thinking: tokens that the model may think for, or the API's own object, such as `{"type": "adaptive"}`.
        cache: whether the provider caches what a conversation begins with; by default at Anthropic's own address.
        options: as for `RemoteModel`.

    Raises:
        SettingsError: when there is no model name, or no key where one is needed.
    """
    base_url = base_url or os.environ.get("ANTHROPIC_BASE_URL") or DEFAULT_BASE_URL
    api_key = os.environ.get(KEY_VARIABLE, "") if api_key is None else api_key
    is_own = "anthropic.com" in base_url
    _check(rest, needs_key=is_own and not api_key)
    name = options.setdefault("name", f"anthropic:{rest}")
    options.setdefault("key_variable", KEY_VARIABLE)
    budget = thinking if isinstance(thinking, int) else 0
    form = {"type": "enabled", "budget_tokens": budget} if budget else thinking
    wire = AnthropicWire(
        rest,
        source=name,
        max_tokens=max_tokens or _longest_reply(name, budget),
        caches=is_own if cache is None else cache,
        extra={"thinking": form} if form else {},
    )
    return RemoteModel(wire, base_url=base_url, api_key=api_key, **options)


def _check(rest: str, *, needs_key: bool) -> None:
    if not rest:
        raise SettingsError(
            say(
                "'anthropic:' needs a model's name behind it, such as anthropic:claude-sonnet-4-5",
                "“anthropic:”后面要写模型名，例如 anthropic:claude-sonnet-4-5",
            )
        )
    if needs_key:
        raise SettingsError(
            say(
                f"anthropic:{rest} needs an API key: set {KEY_VARIABLE} or give api_key=…",
                f"anthropic:{rest} 需要 API key：请设置 {KEY_VARIABLE}，或给出 api_key=…",
            )
        )


def _longest_reply(name: str, budget: int) -> int:
    """The bound on a reply's length where nobody set one: what the model can, within reason; thinking counts too."""
    return min(facts(name).max_output or DEFAULT_MAX_TOKENS, MOST_DEFAULT_TOKENS) + budget
