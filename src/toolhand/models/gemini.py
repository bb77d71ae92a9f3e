"""Google's Gemini models by generateContent: "gemini:<model>"."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.models.remote import RemoteModel
from toolhand.models.wires.gemini import GeminiWire

DEFAULT_BASE_URL: Final = "https://generativelanguage.googleapis.com/v1beta"
KEY_VARIABLE: Final = "GEMINI_API_KEY"


def connect(
    rest: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    config: Mapping[str, Any] | None = None,
    **options: Any,
) -> RemoteModel:
    """The model "gemini:<rest>".

    Args:
        rest: the model's name.
        base_url: instead of `GEMINI_BASE_URL` or Google's own address; on Vertex AI all that stands before "/models", with the
            token in `headers`.
        api_key: instead of `GEMINI_API_KEY` or `GOOGLE_API_KEY`.
        config: further fields of `generationConfig`, such as `{"thinkingConfig": {"thinkingBudget": 0}}`.
        options: as for `RemoteModel`.

    Raises:
        SettingsError: when there is no model name, or no key where one is needed.
    """
    if not rest:
        raise SettingsError(
            say(
                "'gemini:' needs a model's name behind it, such as gemini:gemini-2.5-flash",
                "“gemini:”后面要写模型名，例如 gemini:gemini-2.5-flash",
            )
        )
    base_url = base_url or os.environ.get("GEMINI_BASE_URL") or DEFAULT_BASE_URL
    if api_key is None:
        api_key = os.environ.get(KEY_VARIABLE) or os.environ.get("GOOGLE_API_KEY") or ""
    headers = options.get("headers") or {}
    if not api_key and base_url == DEFAULT_BASE_URL and not headers:
        raise SettingsError(
            say(
                f"gemini:{rest} needs an API key: set {KEY_VARIABLE} or give api_key=…",
                f"gemini:{rest} 需要 API key：请设置 {KEY_VARIABLE}，或给出 api_key=…",
            )
        )
    name = options.setdefault("name", f"gemini:{rest}")
    options.setdefault("key_variable", KEY_VARIABLE)
    wire = GeminiWire(rest, source=name, extra=config)
    return RemoteModel(wire, base_url=base_url, api_key=api_key, **options)
