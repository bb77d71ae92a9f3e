"""Any endpoint that speaks OpenAI's chat completions: OpenAI itself, vLLM, llama.cpp, LM Studio, and many more.

Source: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from yarl import URL

from toolhand.core.errors import ModelError, SettingsError
from toolhand.core.language import say
from toolhand.core.messages import ModelOutput, ModelRequest
from toolhand.models.deltas import StreamedOutput
from toolhand.models.refused_settings import wanted_back
from toolhand.models.remote import RemoteModel
from toolhand.models.wire import Dialect, Encoder, output

DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"


class ChatWire:
    """OpenAI's chat completions, in the dialect of a server.

    Args:
        model: the model's name on the server.
        source: the name of the model among people, to which a provider's own parts of a history belong.
        dialect: the server's peculiarities.
    """

    def __init__(self, model: str, *, source: str = "", dialect: Dialect | None = None) -> None:
        self.model = model
        self.dialect = dialect or Dialect()
        self._source = source
        self._encoder = Encoder(model, self.dialect, source=source)

    def url(self, base: URL, *, streams: bool) -> URL:
        """One address for everything, which may have been given whole."""
        del streams
        return base if base.path.endswith("/chat/completions") else base / "chat" / "completions"

    def headers(self, api_key: str) -> Mapping[str, str]:
        """A bearer token, or what the dialect says."""
        if not api_key:
            return {}
        header = self.dialect.key_header
        return {header: api_key} if header else {"Authorization": f"Bearer {api_key}"}

    def body(self, request: ModelRequest, *, streams: bool) -> bytes:
        """The request as JSON, in UTF-8."""
        return self._encoder.body(request, streams=streams)

    def whole(self, body: Any, request: ModelRequest) -> ModelOutput:
        """A whole answer.

        Raises:
            ModelError: when it holds an error, or no reply.
        """
        return output(body, request.tools, self.dialect)

    def learns(self, error: ModelError, body: bytes) -> bool:
        """Whether a refusal says what of its replies the server wants back, and the body had it not; from now on it gets that."""
        field = wanted_back(error)
        if not field or field in self.dialect.fills:
            return (
                bool(field) and f'"{field}":'.encode() not in body
            )  # another request has learnt it meanwhile
        keeps = tuple(dict.fromkeys((*self.dialect.keeps, field)))
        self.dialect = replace(self.dialect, keeps=keeps, fills=(*self.dialect.fills, field))
        self._encoder = Encoder(self.model, self.dialect, source=self._source)
        return True

    def incoming(self, request: ModelRequest) -> StreamedOutput:
        """A reader for one streamed answer."""
        return StreamedOutput(request.tools, self.dialect)


class OpenAIModel(RemoteModel):
    """A model behind an OpenAI-compatible endpoint. May be used from several event loops at once.

    Args:
        model: the model's name on the server.
        name: what people call it.
        base_url: up to and with "/v1".
        key_variable: the environment variable that a refusal of the key names.
        dialect: the server's peculiarities.
        options: as for `RemoteModel`.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str,
        base_url: str,
        key_variable: str = "OPENAI_API_KEY",
        dialect: Dialect | None = None,
        **options: Any,
    ) -> None:
        wire = ChatWire(model, source=name, dialect=dialect)
        super().__init__(wire, name=name, base_url=base_url, key_variable=key_variable, **options)


def connect(
    rest: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    strict: bool = False,
    **options: Any,
) -> OpenAIModel:
    """The model "openai:<rest>".

    Args:
        rest: the model's name.
        base_url: instead of `OPENAI_BASE_URL` (or its older name `OPENAI_API_BASE`), or OpenAI's own address.
        api_key: instead of `OPENAI_API_KEY`.
        strict: whether the server holds the model to the tools' schemas, where they can be strict.
        options: as for `OpenAIModel`.

    Raises:
        SettingsError: when there is no model name, or no key where one is needed.
    """
    if not rest:
        raise SettingsError(
            say(
                "'openai:' needs a model's name behind it, such as openai:gpt-5-mini",
                "“openai:”后面要写模型名，例如 openai:gpt-5-mini",
            )
        )
    base_url, api_key, is_openai = openai_account(f"openai:{rest}", base_url, api_key)
    # OpenAI's reasoning models refuse the older key, which is the only one that most other servers know.
    usual = Dialect(max_tokens_key="max_completion_tokens", grammar="strict") if is_openai else Dialect()
    dialect: Dialect = options.pop("dialect", usual)
    if strict:
        dialect = replace(dialect, form="openai-strict")
    options.setdefault("name", f"openai:{rest}")
    return OpenAIModel(rest, base_url=base_url, api_key=api_key, dialect=dialect, **options)


def openai_account(spec: str, base_url: str | None, api_key: str | None) -> tuple[str, str, bool]:
    """Address and key from what was given and the environment, and whether the address is OpenAI's own.

    Raises:
        SettingsError: when OpenAI's own address has no key.
    """
    environment = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    base_url = base_url or environment or DEFAULT_BASE_URL
    api_key = os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key
    try:
        host = URL(base_url).host or ""
    except ValueError:
        host = ""  # the model says what is wrong with it
    is_openai = host == "openai.com" or host.endswith(".openai.com")
    if is_openai and not api_key:
        raise SettingsError(
            say(
                f"{spec} needs an API key: set OPENAI_API_KEY or give api_key=…",
                f"{spec} 需要 API key：请设置 OPENAI_API_KEY，或给出 api_key=…",
            )
        )
    return base_url, api_key, is_openai
