"""A model at any OpenAI-compatible address, written "http://host/v1#model"."""

from __future__ import annotations

import os
from typing import Any

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.models.openai import OpenAIModel


def connect(rest: str, *, api_key: str | None = None, **options: Any) -> OpenAIModel:
    """The model at an address.

    Args:
        rest: the address up to and with "/v1", then "#" and the model's name.
        api_key: instead of `TOOLHAND_API_KEY`. `OPENAI_API_KEY` is not sent to just any address.
        options: as for `OpenAIModel`.

    Raises:
        SettingsError: when the model's name is missing.
    """
    base_url, _, model = rest.partition("#")
    if not model:
        raise SettingsError(
            say(
                f"'{rest}' lacks a model's name: write it behind a '#', such as {base_url}#qwen3",
                f"“{rest}”缺少模型名：请写在“#”后面，例如 {base_url}#qwen3",
            )
        )
    api_key = os.environ.get("TOOLHAND_API_KEY", "") if api_key is None else api_key
    options = {"name": rest, "key_variable": "TOOLHAND_API_KEY", **options}
    return OpenAIModel(model, base_url=base_url, api_key=api_key, **options)
