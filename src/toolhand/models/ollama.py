"""A model that a local Ollama serves, through its OpenAI-compatible endpoint.

Source: https://docs.ollama.com/api/openai-compatibility and https://docs.ollama.com/faq (OLLAMA_HOST).
"""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any, Final

from yarl import URL

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.models.openai import OpenAIModel
from toolhand.models.wire import Dialect

DEFAULT_PORT: Final = 11434

LOOK_SECONDS: Final = 0.3
"""How long an Ollama may take to say that it is there."""

# Ollama does not know tool_choice.
_DIALECT: Final = Dialect(obeys_tool_choice=False)


def connect(rest: str, *, base_url: str | None = None, api_key: str = "", **options: Any) -> OpenAIModel:
    """The model "ollama:<rest>".

    Args:
        rest: the model's name in Ollama.
        base_url: instead of `OLLAMA_HOST` or Ollama's usual address.
        api_key: for an Ollama behind a proxy that asks for one.
        options: as for `OpenAIModel`.

    Raises:
        SettingsError: when there is no model name.
    """
    if not rest:
        raise SettingsError(
            say(
                "'ollama:' needs a model's name behind it, such as ollama:qwen3 (see `ollama list`)",
                "“ollama:”后面要写模型名，例如 ollama:qwen3（见 `ollama list`）",
            )
        )
    options = {"name": f"ollama:{rest}", "dialect": _DIALECT, **options}
    return OpenAIModel(rest, base_url=base_url or f"{root_url()}/v1", api_key=api_key, **options)


def root_url() -> str:
    """Where Ollama is: `OLLAMA_HOST` as a client reads it, or its usual address."""
    host = os.environ.get("OLLAMA_HOST", "").strip().rstrip("/")
    if not host:
        return f"http://127.0.0.1:{DEFAULT_PORT}"
    has_scheme = "://" in host
    url = URL(host if has_scheme else f"http://{host}")
    if url.explicit_port is None and not has_scheme:
        url = url.with_port(DEFAULT_PORT)
    if url.host in ("0.0.0.0", "::"):  # noqa: S104 - a server's "everywhere" is a client's "here"
        url = url.with_host("127.0.0.1")
    return str(url).rstrip("/")


def first_model() -> str | None:
    """The name of the first model of an Ollama that answers quickly, or None."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{root_url()}/api/tags", timeout=LOOK_SECONDS) as response:
            models = json.load(response)["models"]
        return str(models[0]["name"]) if models else None
    except (OSError, ValueError, LookupError, TypeError):
        return None
