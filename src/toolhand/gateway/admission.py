"""Who may ask for what, and how often."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from toolhand.core.context import RunContext
from toolhand.core.language import say
from toolhand.core.rates import rates
from toolhand.gateway.refusals import Refusal
from toolhand.gateway.settings import HERE, ClientKey, GatewaySettings
from toolhand.gateway.upstreams import named_by
from toolhand.policies.sharing import SharedState, Taking
from toolhand.policies.sharing.memory import MemoryState

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request.

    Args:
        key: the gateway's key that it came with; None where none is asked for.
        sent: the key as it was sent, which may be meant for the model's server.
        end_user_counts: whether whom it names as its user is believed: on this machine, where nobody has to say who they are.
        owner: who it is where only its own key tells; "" where another thing does.
    """

    key: ClientKey | None
    sent: str
    end_user_counts: bool = False
    owner: str = ""

    @property
    def user(self) -> str:
        """For whom tools run here; "" for nobody that is known."""
        return self.owner if self.key is None else self.key.user or self.key.name

    def user_of(self, end_user: str) -> str:
        """For whom its run in a session is, where it names somebody as its user."""
        return self.user or (end_user if self.end_user_counts else "")

    def may_use(self, model: str) -> bool:
        """Whether it may ask for a model."""
        allowed = () if self.key is None else self.key.models
        return not allowed or any(named_by(pattern, model) is not None for pattern in allowed)

    def may_run(self, toolset: str) -> bool:
        """Whether it may name a toolset of the gateway."""
        return self.key is None or self.key.toolsets is None or toolset in self.key.toolsets

    def context(self, conversation: str) -> RunContext:
        """Its requests' context.

        Args:
            conversation: the mark or the session of what it is part of.
        """
        if self.key is None:
            return RunContext(user=self.owner, session_id=conversation)
        return RunContext(
            user=self.user,
            session_id=conversation,
            permissions=frozenset(self.key.permissions),
            roles=frozenset(self.key.roles),
        )


class Admission:
    """Lets requests in.

    Args:
        settings: the keys, and whether some are asked for.
        state: where the windows of the rate limits are counted; in this process by default.
        answering: the model that answers where one is asked for; that one by default.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        state: SharedState | None = None,
        answering: Callable[[str], str] = str,
    ) -> None:
        self._keys, self._is_local = settings.keys, settings.is_local
        self._pass_keys = settings.pass_keys
        self._most, self._answering = settings.most_running, answering
        self._state = state or MemoryState()
        self.running = 0

    def caller(self, headers: Headers) -> Caller:
        """Who sends a request with these headers.

        Raises:
            Refusal: when a key is asked for and there is no right one.
        """
        sent = ""
        if not self._keys and self._is_local:
            _check_origin(headers)
        for name, value in headers:
            if name == b"authorization" and value[:7].lower() == b"bearer ":
                sent = value[7:].strip().decode("latin-1")
            elif name in (b"x-api-key", b"api-key"):
                sent = sent or value.strip().decode("latin-1")
        if not self._keys:
            owner = _owner(sent) if self._pass_keys and not self._is_local else ""
            return Caller(None, sent, end_user_counts=self._is_local, owner=owner)
        found = None
        for key in self._keys:  # all of them are looked at, so that the time tells nothing
            found = key if key.fits(sent) else found
        if found is None:
            raise Refusal(
                401,
                say("the API key is missing or wrong", "API key 缺失或不正确"),
                kind="authentication_error",
                code="invalid_api_key",
            )
        return Caller(found, sent)

    def check_model(self, caller: Caller, model: str) -> None:
        """Refuses a model that a caller may not ask for. What counts is the one that answers.

        Raises:
            Refusal: then.
        """
        if not caller.may_use(self._answering(model)):
            raise Refusal(
                403,
                say(f"this API key may not use the model '{model}'", f"该 API key 不能使用模型“{model}”"),
                kind="permission_error",
                code="model_not_allowed",
                param="model",
            )

    async def take(self, caller: Caller) -> None:
        """Takes a place in the caller's windows.

        Raises:
            Refusal: when they are full; it says for how long.
        """
        key = caller.key
        if key is None or not key.rate_limit:
            return
        takings = [
            Taking(key=f"gateway:{key.name}", count=rate.count, seconds=rate.seconds)
            for rate in rates(key.rate_limit)
        ]
        wait = await self._state.take(takings)
        if wait > 0:
            refusal = Refusal(429, "", kind="rate_limit_error", code="rate_limit_exceeded", retry_after=wait)
            seconds = refusal.wait_seconds
            refusal.message = say(
                f"this API key may send {key.rate_limit}: try again in {seconds} seconds",
                f"该 API key 的限额为 {key.rate_limit}：请在 {seconds} 秒后重试",
            )
            raise refusal

    def enter(self) -> None:
        """Takes one of the places for requests that run at once; `leave` gives it back.

        Raises:
            Refusal: when all are taken.
        """
        if self.running >= self._most:
            said = say("the gateway has as many requests as it takes at once", "网关同时处理的请求已达上限")
            raise Refusal(503, said, kind="overloaded_error", code="overloaded", retry_after=1)
        self.running += 1

    def leave(self) -> None:
        """Gives the place back."""
        self.running -= 1


def _owner(sent: str) -> str:
    """A name for whoever has a key that only the model's server knows: nobody else can take it without that key."""
    return f"key-{hashlib.sha256(sent.encode('utf-8', 'replace')).hexdigest()[:24]}" if sent else ""


def _host(text: str, *, is_origin: bool) -> str | None:
    try:
        return urlsplit(text if is_origin else f"//{text}").hostname
    except ValueError:  # "[" without an end
        return None


def _check_origin(headers: Headers) -> None:
    """Refuses what a website in somebody's browser sends here: it needs no key on this machine.

    Raises:
        Refusal: then.
    """
    for name, value in headers:
        if name not in (b"origin", b"host"):
            continue
        if _host(value.decode("latin-1"), is_origin=name == b"origin") not in HERE:
            raise Refusal(
                403,
                say(
                    "a gateway without keys answers this machine alone: set keys to let others in",
                    "没有设置 key 的网关只应答本机：要让别人使用，请设置 keys",
                ),
                kind="permission_error",
            )
