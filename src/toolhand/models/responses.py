"""OpenAI's models by its Responses API, and servers that speak it: "responses:<model>"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.models.openai import openai_account
from toolhand.models.remote import RemoteModel
from toolhand.models.wires.responses import ResponsesWire


def connect(
    rest: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    strict: bool = False,
    reasoning: str | Mapping[str, Any] | None = None,
    **options: Any,
) -> RemoteModel:
    """The model "responses:<rest>".

    Args:
        rest: the model's name.
        base_url: instead of `OPENAI_BASE_URL` or OpenAI's own address.
        api_key: instead of `OPENAI_API_KEY`.
        strict: whether the server holds the model to the tools' schemas, where they can be strict.
        reasoning: how hard the model thinks, such as "low", or the API's own object.
        options: as for `RemoteModel`.

    Raises:
        SettingsError: when there is no model name, or no key where one is needed.
    """
    if not rest:
        raise SettingsError(
            say(
                "'responses:' needs a model's name behind it, such as responses:gpt-5-mini",
                "“responses:”后面要写模型名，例如 responses:gpt-5-mini",
            )
        )
    base_url, api_key, _ = openai_account(f"responses:{rest}", base_url, api_key)
    name = options.setdefault("name", f"responses:{rest}")
    options.setdefault("key_variable", "OPENAI_API_KEY")
    effort = {"effort": reasoning} if isinstance(reasoning, str) else reasoning
    wire = ResponsesWire(
        rest, source=name, strict=strict, extra={} if effort is None else {"reasoning": dict(effort)}
    )
    return RemoteModel(wire, base_url=base_url, api_key=api_key, **options)
