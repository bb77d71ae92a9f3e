"""The models behind the gateway, by the names that clients use, each with the ladder that its askings share."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from toolhand.core import plugins
from toolhand.core.errors import SettingsError
from toolhand.core.events import TextDelta
from toolhand.core.language import say
from toolhand.core.messages import ModelOutput, ModelRequest
from toolhand.gateway.refusals import Refusal
from toolhand.gateway.settings import GatewaySettings, Upstream
from toolhand.ladder import Ladder, profile_of
from toolhand.models import Model
from toolhand.models.connections import Retries, Timeouts
from toolhand.models.resolve import default_model, resolve
from toolhand.protocols import ModelProtocol

ANYTHING: Final = "*"

WORKER: Final = "worker:"
"""Stands before the name of an agent whose runs workers make; nothing behind it is the agent without a name."""

MOST_MADE: Final = 200
"""How many models that clients have named or brought keys for are kept; the one that was not used for longest goes."""

RETRIES: Final = Retries(attempts=3, first_delay=0.2, longest_delay=2.0)
"""A hiccup is hidden; a server that asks for a longer wait is the client's to wait for, who is told how long."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A model as a request reaches it.

    Args:
        model: what is asked.
        protocol: how it writes calls down.
        passes_key: whether the client's own key goes to it.
    """

    model: Model
    protocol: ModelProtocol
    passes_key: bool


def named_by(pattern: str, name: str) -> str | None:
    """What a `*` at a pattern's end stands for in a name, "" where there is none; None where it does not fit."""
    if pattern.endswith(ANYTHING) and name.startswith(pattern[:-1]):
        return name[len(pattern) - 1 :]
    return "" if pattern == name else None


def _check_star(name: str, row: Upstream) -> None:
    """Refuses a star that would let a client name any server.

    Raises:
        SettingsError: then.
    """
    before, star, _ = row.model.partition(ANYTHING)
    is_fixed = "#" in before if "://" in before else ":" in before
    if star and not is_fixed:
        raise SettingsError(
            say(
                f"models.{name}: the star of '{row.model}' would let a client name any server: write it behind 'provider:' or 'http://host/v1#'",
                f"models.{name}：“{row.model}”中的星号会让客户端指定任意服务器：请写在 provider: 或 http://主机/v1# 之后",
            )
        )


class Upstreams:
    """All of them.

    Args:
        settings: what the gateway is told. Without models it is the one that `toolhand` uses by default.

    Raises:
        SettingsError: when one of them cannot be used.
    """

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self.rows, self._default = dict(settings.models), settings.default_model
        if not self.rows and not settings.pass_keys:
            spec, _ = default_model()
            self.rows, self._default = {spec: Upstream(model=spec)}, self._default or spec
        elif not self.rows:
            self.rows = {ANYTHING: Upstream(model=f"openai:{ANYTHING}")}
        self._made: OrderedDict[tuple[str, str], Model] = OrderedDict()
        self._protocols: dict[str, ModelProtocol] = {}
        for name, row in self.rows.items():
            _check_star(name, row)
            if ANYTHING not in name and not self.passes_key(row) and not row.model.startswith(WORKER):
                self._model(name, name, row, "")

    def passes_key(self, row: Upstream) -> bool:
        """Whether the client's key goes to a model."""
        return self._settings.pass_keys if row.passes_key is None else row.passes_key

    @property
    def names(self) -> list[str]:
        """The names that can be listed: those without a `*`."""
        return [name for name in self.rows if ANYTHING not in name]

    @property
    def has_workers(self) -> bool:
        """Whether workers make the runs of one of them."""
        return any(row.model.startswith(WORKER) for row in self.rows.values())

    def answering(self, name: str) -> str:
        """The name of the model that answers where a client asks for one: the default one's where there is none of that name."""
        return name if self._pattern(name) is not None else self._default or name

    def worker(self, name: str) -> str | None:
        """The agent whose runs workers make, where that is what is behind a name."""
        found = self._pattern(name) or self._default
        row = self.rows.get(found)
        if row is None or not row.model.startswith(WORKER):
            return None
        return row.model.removeprefix(WORKER).replace(ANYTHING, named_by(found, name) or "")

    def _pattern(self, name: str) -> str | None:
        fits = (p for p in (name, *self.rows) if p in self.rows and named_by(p, name) is not None)
        return next(fits, None)

    def find(self, name: str, key: str) -> Reached:
        """The model of a name.

        Args:
            name: what the client asked for.
            key: the client's own key.

        Raises:
            Refusal: when there is none, or it needs a key that the client did not bring.
        """
        found = self._pattern(name)
        if found is None and self._default:
            found = name = self._default
        if found is None:
            raise Refusal(
                404,
                say(
                    f"there is no model '{name}' here; GET /v1/models lists them",
                    f"没有模型“{name}”；GET /v1/models 可列出",
                ),
                code="model_not_found",
                param="model",
            )
        row = self.rows[found]
        passes = self.passes_key(row)
        if passes and not key:
            raise Refusal(
                401,
                say("this model needs your own API key", "该模型需要您自己的 API key"),
                kind="authentication_error",
                code="invalid_api_key",
            )
        try:
            model = self._model(found, name, row, key if passes else "")
        except SettingsError as error:
            if ANYTHING not in found:
                raise
            raise Refusal(404, str(error), code="model_not_found", param="model") from None
        return Reached(model, self._protocol(name, row, model), passes)

    def _model(self, pattern: str, name: str, row: Upstream, key: str) -> Model:
        mark = (name, hashlib.sha256(key.encode("utf-8", "replace")).hexdigest() if key else "")
        model = self._made.get(mark)
        if model is None:
            spec = row.model.replace(ANYTHING, named_by(pattern, name) or "")
            model = self._made[mark] = self._connected(spec, row, key or row.key)
            while len(self._made) > MOST_MADE:
                self._made.popitem(last=False)  # its connections close when its last request has ended
        self._made.move_to_end(mark)
        return model

    def _connected(self, spec: str, row: Upstream, key: str) -> Model:
        seconds, silence = self._settings.seconds, self._settings.silence
        timeouts = Timeouts(first_byte=seconds, between_bytes=silence, total=seconds)
        options: dict[str, Any] = {"timeouts": timeouts, "retries": RETRIES}
        if spec.partition(":")[0] == "local":  # it has no server to wait for
            options = {}
        if key:
            options["api_key"] = key
        return resolve(spec, row.fallbacks, **options)

    def _protocol(self, name: str, row: Upstream, model: Model) -> ModelProtocol:
        found = self._protocols.get(name)
        if found is None:
            found = (
                Ladder(replace(profile_of(model), plans_chains=False))  # a client cannot run a plan
                if row.protocol == "auto"
                else plugins.found("protocols", row.protocol, "PROTOCOL")
            )
            if found is None:
                there = plugins.listed("protocols", "PROTOCOL", "auto")
                raise SettingsError(
                    say(
                        f"models.{name}: there is no protocol '{row.protocol}'; there is: {there}",
                        f"models.{name}：没有“{row.protocol}”协议；可用：{there}",
                    )
                )
            if len(self._protocols) >= MOST_MADE:
                self._protocols.clear()
            self._protocols[name] = found
        return found

    async def close(self) -> None:
        """Closes all connections."""
        for model in self._made.values():
            await model.close()
        self._made.clear()


class Told:
    """A model that is told what a client wants of it beside the neutral request.

    Args:
        model: the model.
        stop: sequences at which its answer ends.
        extra: further fields for its server.
    """

    def __init__(self, model: Model, stop: tuple[str, ...], extra: Mapping[str, Any]) -> None:
        self._model, self._stop, self._extra = model, stop, extra

    def __getattr__(self, name: str) -> Any:
        """Whatever else is known of the model."""
        return getattr(self._model, name)

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelOutput:
        """As the model does.

        Raises:
            ModelError: as the model does.
        """
        return await self._model.complete(self._with(request))

    def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ModelOutput]:
        """As the model does."""
        return self._model.stream(self._with(request))

    async def close(self) -> None:
        """Nothing: the model stays open for others."""

    def _with(self, request: ModelRequest) -> ModelRequest:
        return replace(request, stop=(*request.stop, *self._stop), extra=self._extra)


def told(model: Model, stop: tuple[str, ...], extra: Mapping[str, Any]) -> Model:
    """The model as one request asks it; itself where there is nothing more to say."""
    return Told(model, stop, extra) if stop or extra else model
