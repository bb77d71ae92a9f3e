"""What a gateway is told: one table of plain settings, and the models, keys and toolsets that only a file can hold."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal

from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.core.rates import rates

HERE: Final = frozenset({"127.0.0.1", "localhost", "::1"})
SHORTEST_SECRET: Final = 16
HASHED: Final = "sha256:"

Kind = Literal["text", "whole", "number", "yes"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the table of settings.

    Args:
        name: its name in the file; in the environment `TOOLHAND_SERVE_` and the name in capitals.
        kind: what its value is.
        flag: the option of `toolhand serve`; "" for one that no command line should show.
        english: what it does.
        chinese: the same.
        least: the smallest value of a number.
    """

    name: str
    kind: Kind
    flag: str
    english: str
    chinese: str
    least: float = 0


SETTINGS: Final = (
    Setting("host", "text", "--host", "Where to listen.", "监听地址。"),
    Setting("port", "whole", "--port", "The port.", "端口。"),
    Setting("default_model", "text", "--default-model", "The model for a name that is none of the models'; "
            "without it such a request is refused.", "请求的名称不存在时使用的模型；不设置则拒绝这样的请求。"),
    Setting("pass_keys", "yes", "--pass-keys", "Send the client's own key on to the model's server.",
            "把客户端自己的 key 转发给模型服务。"),
    Setting("tools", "text", "--tools", "Tools that run here for requests that name none of their own: "
            "as for `toolhand run --tools`.", "在网关一侧为不带工具的请求运行的工具：写法同 `toolhand run --tools`。"),
    Setting("store", "text", "--store", "Where sessions are kept.", "会话保存在哪里。"),
    Setting("page", "yes", "--page", "Serve the page at /.", "在 / 提供网页。"),
    Setting("token", "text", "", "What the page and /metrics ask for; needed where others can reach it.",
            "网页和 /metrics 所需的令牌；别的机器能访问时必须设置。"),
    Setting("rounds", "whole", "--rounds", "How often a reply that cannot be used is sent back to the model.",
            "模型的回复无法使用时，最多退回几次。"),
    Setting("seconds", "number", "--seconds", "How long a request may take.", "一个请求最多用多少秒。", 0.1),
    Setting("silence", "number", "--silence", "Seconds of silence after which a model's server is given up.",
            "模型服务多少秒没有动静就放弃。", 0.1),
    Setting("max_body_mb", "number", "--max-body-mb", "The longest request, in MB.", "请求体上限（MB）。", 0.001),
    Setting("most_running", "whole", "--most-running", "How many requests may run at once.",
            "同时处理的请求数上限。", 1),
    Setting("open", "yes", "--open", "Let anybody who can reach it use it, without a key.",
            "允许任何能访问到它的人不用 key 使用。"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A model behind the gateway.

    Args:
        model: as for `Agent`: "local", "openai:…", "http://…/v1#…"; or "worker:NAME", an agent whose runs workers make.
            A `*` stands for what the name's own `*` stood for.
        key: its API key; "" for the one of the environment.
        protocol: how it is asked to write calls down.
        fallbacks: models that are asked when it fails.
        passes_key: whether the client's key goes to it; None as for all.
    """

    model: str
    key: str = field(default="", repr=False)
    protocol: str = "auto"
    fallbacks: tuple[str, ...] = ()
    passes_key: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKey:
    """A key that a client comes with.

    Args:
        name: what the log calls it; also the user for permissions, limits and sessions, where `user` is "".
        key: the key itself, or "sha256:" and its hash in hexadecimal.
        models: the models that it may ask for; all where empty. A `*` at the end stands for anything.
        rate_limit: such as "60/minute"; "" for none.
        toolsets: the toolsets of the gateway that it may name; all where None.
        user: the user for whom tools run.
        permissions: what that user holds.
        roles: what that user is.
    """

    name: str
    key: str = field(repr=False)
    models: tuple[str, ...] = ()
    rate_limit: str = ""
    toolsets: tuple[str, ...] | None = None
    user: str = ""
    permissions: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.key) < SHORTEST_SECRET:
            raise SettingsError(
                say(
                    f"the key '{self.name}' has fewer than {SHORTEST_SECRET} characters and could be guessed: make it longer",
                    f"key“{self.name}”少于 {SHORTEST_SECRET} 个字符，容易被猜中：请加长",
                )
            )
        rates(self.rate_limit)

    def fits(self, sent: str) -> bool:
        """Whether this is the key that was sent, found out in a time that tells nothing."""
        if self.key.startswith(HASHED):
            digest = hashlib.sha256(sent.encode("utf-8", "replace")).hexdigest()
            return hmac.compare_digest(digest.encode(), self.key.removeprefix(HASHED).lower().encode())
        return hmac.compare_digest(sent.encode("utf-8", "replace"), self.key.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """What `toolhand serve` is told. `SETTINGS` says what each plain one does.

    Args:
        models: the models by the names that clients use.
        keys: the keys that clients may come with; without any, who can reach the gateway may use it.
        toolsets: tools that run here, by the names that requests give; each as for `toolhand run --tools`.

    Raises:
        SettingsError: when one of them cannot be, or others could reach it and nothing is asked of them.
    """

    host: str = "127.0.0.1"
    port: int = 8600
    default_model: str = ""
    pass_keys: bool = False
    tools: str = ""
    store: str = ""
    page: bool = True
    token: str = field(default="", repr=False)
    rounds: int = 3
    seconds: float = 600.0
    silence: float = 120.0
    max_body_mb: float = 32.0
    most_running: int = 1000
    open: bool = False
    models: Mapping[str, Upstream] = field(default_factory=dict)
    keys: tuple[ClientKey, ...] = ()
    toolsets: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in SETTINGS:
            check_setting(row, getattr(self, row.name))
        if self.port > 65_535:
            raise SettingsError(say(f"there is no port {self.port}", f"没有端口 {self.port}"))
        if self.default_model and self.models and self.default_model not in self.models:
            raise SettingsError(
                say(
                    f"default_model is '{self.default_model}', which is none of the models: {', '.join(self.models)}",
                    f"default_model 为“{self.default_model}”，不在模型列表中：{', '.join(self.models)}",
                )
            )
        if self.token and len(self.token) < SHORTEST_SECRET:
            raise SettingsError(
                say(
                    f"the token has fewer than {SHORTEST_SECRET} characters and could be guessed: make it longer",
                    f"令牌少于 {SHORTEST_SECRET} 个字符，容易被猜中：请加长",
                )
            )
        self._check_reach()

    def _check_reach(self) -> None:
        if self.is_local:
            return
        if not (self.keys or self.pass_keys or self.open):
            raise SettingsError(
                say(
                    f"at '{self.host}' anybody could use the models: set keys, pass_keys or open, or listen at 127.0.0.1",
                    f"在“{self.host}”上任何人都能使用模型：请设置 keys、pass_keys 或 open，或只监听 127.0.0.1",
                )
            )
        if self.page and not self.token:
            raise SettingsError(
                say(
                    f"at '{self.host}' anybody could read the page: set token, or page = false",
                    f"在“{self.host}”上任何人都能看到网页：请设置 token，或 page = false",
                )
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in HERE

    @property
    def most_bytes(self) -> int:
        """The longest body of a request."""
        return int(self.max_body_mb * 1024 * 1024)


DEFAULTS: Final[Mapping[str, Any]] = {
    one.name: one.default for one in fields(GatewaySettings) if one.name in {row.name for row in SETTINGS}
}

_KINDS: Final[Mapping[Kind, tuple[type | tuple[type, ...], str, str]]] = {
    "text": (str, "a text", "文本"),
    "whole": (int, "a whole number", "整数"),
    "number": ((int, float), "a number", "数字"),
    "yes": (bool, "true or false", "true 或 false"),
}


def check_setting(row: Setting, value: Any, where: str = "") -> None:
    """Refuses a value that a setting cannot have.

    Args:
        row: the setting.
        value: what was given.
        where: in which file or variable; "" for a program's own.

    Raises:
        SettingsError: then.
    """
    wanted, english, chinese = _KINDS[row.kind]
    is_right = isinstance(value, wanted) and (row.kind == "yes" or not isinstance(value, bool))
    at, at_zh = (f" ({where})", f"（{where}）") if where else ("", "")
    if not is_right:
        shown = "…" if row.name == "token" else repr(value)[:60]
        raise SettingsError(
            say(
                f"{row.name}{at} is {english}, not {shown}", f"{row.name}{at_zh}应为{chinese}，不能是 {shown}"
            )
        )
    if row.kind in ("whole", "number") and not value >= row.least:
        raise SettingsError(
            say(
                f"{row.name}{at} is at least {row.least:g}, not {value}",
                f"{row.name}{at_zh}至少为 {row.least:g}，不能是 {value}",
            )
        )
