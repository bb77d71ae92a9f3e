"""From what a user writes for a model to the model: "local", "openai:gpt-5-mini", "http://127.0.0.1:8000/v1#qwen3"."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from toolhand.arguments.suggest import closest, is_near
from toolhand.core import plugins
from toolhand.core.errors import SettingsError
from toolhand.core.language import Language, language_of_person, say
from toolhand.models import Model
from toolhand.models.fallbacks import FallbackModel
from toolhand.models.wire import Dialect

Provider = Mapping[str, Any]
"""A row of `providers.toml`, which explains its words."""

_SCHEMES: Final = ("http://", "https://")

ADAPTERS: Final[Mapping[str, Provider]] = {
    "openai": {
        "base_url": "https://api.openai.com/v1",
        "base_variable": "OPENAI_BASE_URL",
        "key_variable": "OPENAI_API_KEY",
        "default_model": "gpt-5-mini",
    },
    "responses": {
        "base_url": "https://api.openai.com/v1",
        "base_variable": "OPENAI_BASE_URL",
        "key_variable": "OPENAI_API_KEY",
    },
    "anthropic": {
        "base_url": "https://api.anthropic.com",
        "base_variable": "ANTHROPIC_BASE_URL",
        "key_variable": "ANTHROPIC_API_KEY",
        "default_model": "claude-sonnet-4-5",
    },
    "gemini": {
        "base_url": "https://generativelanguage.googleapis.com/v1beta",
        "base_variable": "GEMINI_BASE_URL",
        "key_variable": "GEMINI_API_KEY",
        "default_model": "gemini-2.5-flash",
    },
}
"""The providers with adapters of their own, in the words of `providers.toml`."""

_SERVED_BY: Final[Mapping[str, str]] = {
    "claude": "anthropic", "google": "gemini", "gpt": "openai", "qwen": "dashscope", "tongyi": "dashscope", "kimi": "moonshot",
    "glm": "zhipu", "doubao": "ark", "grok": "xai",
}  # fmt: skip
"""Models' own names, which people write for their providers'."""

_CONNECT: Final = "connect"

_UNEXPECTED: Final = re.compile(r"unexpected keyword argument '(\w+)'")


def resolve(
    spec: str | Model | Sequence[str | Model], fallbacks: Sequence[str | Model] = (), **options: Any
) -> Model:
    """The model that a name means. Nothing is connected to or loaded before the first request.

    Args:
        spec: a `Model`, or "local", "local:<entry>", "openai:<model>", "ollama:<model>", "http://host/v1#<model>", the name
            of a provider in `providers.toml` with a model behind it, or that of another package's adapter. Of several, each is
            asked when those before it failed.
        fallbacks: the models that are asked when the first one failed.
        options: for the first model's adapter, such as base_url, api_key, threads.

    Raises:
        SettingsError: when nothing has that name, or the adapter has no such option.
    """
    first, *others = [spec] if isinstance(spec, str) or not isinstance(spec, Sequence) else [*spec] or [""]
    models = [_resolved(first, options), *(_resolved(other, {}) for other in (*others, *fallbacks))]
    return models[0] if len(models) == 1 else FallbackModel(models)


def _resolved(spec: str | Model, options: Mapping[str, Any]) -> Model:
    if not isinstance(spec, str):
        if options:
            raise SettingsError(
                say(
                    f"options ({', '.join(options)}) only go with a model's name, not with a model",
                    f"选项（{', '.join(options)}）只能配合模型名称，不能配合模型对象",
                )
            )
        if not isinstance(spec, Model):
            raise SettingsError(
                say(
                    f"a model is a name such as 'local', or a Model, and {spec!r} is neither",
                    f"模型应是名称（例如 'local'）或 Model 对象，而 {spec!r} 都不是",
                )
            )
        return spec
    spec = spec.strip()
    if spec.startswith(_SCHEMES):
        return _made(spec, "http", spec, options)
    adapter, _, rest = spec.partition(":")
    if adapter in providers():
        provider = providers()[adapter]
        options = {"name": spec, "key_variable": provider["key_variable"], **options}
        options.setdefault("base_url", _base_url(spec, provider, options))
        options.setdefault("api_key", _key(spec, provider))
        options.setdefault("dialect", _dialect(provider))
        return _made(spec, "openai", rest or provider.get("default_model", ""), options)
    if not callable(plugins.found("models", adapter, _CONNECT)):
        raise SettingsError(
            say(
                f"there is no model '{spec}': {_meant(adapter, rest)}",
                f"没有模型“{spec}”：{_meant(adapter, rest)}",
            )
        )
    return _made(spec, adapter, rest, options)


def _made(spec: str, adapter: str, rest: str, options: Mapping[str, Any]) -> Model:
    connect = plugins.member("models", adapter, _CONNECT)
    try:
        model: Model = connect(rest, **options)
    except TypeError as error:
        wrong = _UNEXPECTED.search(str(error))
        if wrong and wrong[1] in options:
            raise SettingsError(
                say(f"the model '{spec}' has no option '{wrong[1]}'", f"模型“{spec}”没有选项“{wrong[1]}”")
            ) from None
        raise
    return model


def _meant(adapter: str, rest: str) -> str:
    """What may have been meant by a name that is none: the close spelling, or else every way to write one."""
    known = [*_adapters(), *providers()]
    served = _SERVED_BY.get(adapter.casefold(), "") if rest else ""
    near = served or (closest(adapter, ["local", *known] if rest else ["local"]) if adapter else "")
    if near and (served or is_near(adapter, near)):
        meant = f"{near}:{rest}" if rest else near
        return say(f"did you mean '{meant}'?", f"是不是想写“{meant}”？")
    providers_known = ", ".join(known) + plugins.unloadable("models", _CONNECT)
    return say(
        f"write local, local:small, http://<host>/v1#<model>, or <provider>:<model> with a provider such as {providers_known}",
        f"请写 local、local:small、http://<主机>/v1#<模型>，或 <提供方>:<模型>，提供方为其中之一：{providers_known}",
    )


def _adapters() -> list[str]:
    found = plugins.members("models", _CONNECT)
    return [
        name
        for name in found
        if name not in ("local", "http") and callable(plugins.member("models", name, _CONNECT))
    ]


def spellings() -> tuple[str, ...]:
    """Every way of naming a model, for people."""
    adapters = _adapters()
    remote = [f"{name}:<model>" for name in (*adapters, *providers())]
    return (
        "local",
        "local:small",
        "local:<name from `toolhand models list`>",
        *remote,
        "http://<host>/v1#<model>",
    )


@cache
def providers() -> Mapping[str, Provider]:
    """Providers that speak OpenAI's wire at an address of their own, by name."""
    text = files("toolhand.models").joinpath("providers.toml").read_text("utf-8")
    return tomllib.loads(text)


def _base_url(spec: str, provider: Provider, options: Mapping[str, Any]) -> str:
    variable = provider.get("base_variable", "")
    chosen = os.environ.get(variable, "").rstrip("/")
    suffix = provider.get("base_suffix", "")
    if chosen:
        return chosen if not suffix or chosen.endswith(suffix) else f"{chosen}/{suffix}"
    if "base_url" not in provider and "base_url" not in options:
        raise SettingsError(
            say(
                f"{spec} needs an address: set {variable} or give base_url=…",
                f"{spec} 需要地址：请设置 {variable}，或给出 base_url=…",
            )
        )
    return str(provider.get("base_url", ""))


def _dialect(provider: Provider) -> Dialect:
    words: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in provider.get("dialect", {}).items()
    }
    return Dialect(**words)


def _key(spec: str, provider: Provider) -> str:
    key = os.environ.get(provider["key_variable"], "")
    if not key and provider.get("needs_key", True):
        raise SettingsError(
            say(
                f"{spec} needs an API key: set {provider['key_variable']} or give api_key=…",
                f"{spec} 需要 API key：请设置 {provider['key_variable']}，或给出 api_key=…",
            )
        )
    return key


def default_model(language: Language | None = None) -> tuple[str, str]:
    """The model that is used when none is named, and why.

    In this order: `TOOLHAND_MODEL`, an API key in the environment, an Ollama that answers, the embedded model.

    Args:
        language: of the reason; the person's by default.

    Returns:
        The name for `resolve`, and one sentence.
    """
    is_chinese = (language or language_of_person()) == "zh"
    if named := os.environ.get("TOOLHAND_MODEL", "").strip():
        return named, "TOOLHAND_MODEL 指定了它" if is_chinese else "TOOLHAND_MODEL names it"
    known: dict[str, Provider] = {**ADAPTERS, **providers()}
    for name, provider in known.items():
        variable, model = provider["key_variable"], provider.get("default_model")
        if model and os.environ.get(variable):
            return f"{name}:{model}", f"环境变量中有 {variable}" if is_chinese else f"{variable} is set"
    from toolhand.models import ollama  # noqa: PLC0415 - only when nothing else decides

    if found := ollama.first_model():
        where = ollama.root_url()
        return (
            f"ollama:{found}",
            f"{where} 上有 Ollama 在运行" if is_chinese else f"an Ollama answers at {where}",
        )
    reason_zh = "没有指定模型，也没有找到 API key 或 Ollama，因此使用内置模型"
    reason_en = (
        "no model is named and neither an API key nor an Ollama was found, so the embedded one is used"
    )
    return "local", reason_zh if is_chinese else reason_en
