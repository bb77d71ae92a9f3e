"""Rules on what a tool changes, and on secrets and identities in its schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolhand.arguments.secrets import is_secret, keeps_secret
from toolhand.core.tools import Tool
from toolhand.lint.finding import Finding
from toolhand.lint.parameters import each

_DESTROYING: Final = ("delete", "remove", "drop", "erase", "purge", "wipe", "destroy", "truncate")
_WRITING: Final = (
    *_DESTROYING,
    "create", "add", "insert", "update", "edit", "modify", "set", "save", "store", "write", "send", "post", "publish", "submit",
    "cancel", "pay", "transfer", "book", "buy", "order", "upload", "rename", "move", "assign", "approve", "reject", "restart",
    "start", "stop", "enable", "disable", "install", "schedule", "reserve", "register", "refund", "deploy", "rollback",
)  # fmt: skip
_NOUNS: Final = frozenset(
    ("order", "book", "post", "store", "register", "schedule", "set", "start", "stop", "move", "transfer")
)
"""Words that may as well be what is read: they count only at the front of a name of several words, before an object."""

_DESTROYING_CHINESE: Final = re.compile(r"^\s*(?:永久)?(删除|清空|移除|销毁|抹除)")
_WRITING_CHINESE: Final = re.compile(
    r"^\s*(?:批量|自动)?(删除|清空|移除|销毁|创建|新建|新增|添加|修改|更新|保存|写入|发送|发布|提交|取消|支付|转账|预订|预定|购买|下单|上传|"
    r"重命名|移动|分配|审批|重启|启动|停止|开启|关闭|安装|注册|退款|退掉|部署|回滚|冻结|挂失|发放)"
)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+")
_SECRET: Final = re.compile(
    r"(?:password|passwd|passphrase|pwd|secret|token|key|credentials?|authorization|cookie|cvv|pin|密码|口令|密钥|私钥|令牌|凭证)$",
    re.IGNORECASE,
)
"""What a secret's name ends with: `token_endpoint` is none."""

_IDENTITY: Final = frozenset(
    (
        "user_id",
        "userid",
        "current_user",
        "session_id",
        "sessionid",
        "tenant_id",
        "agent_id",
        "my_id",
        "uid",
        "caller_id",
    )
)


def effect(tool: Tool) -> Iterator[Finding]:
    """Whether it says that it changes something where its words do."""
    verb, destroys = _verb(tool)
    if not verb:
        return
    if tool.rules.effect == "reads":
        yield Finding(rule="effect-unsaid", tool=tool.name, facts={"verb": verb})
    elif destroys and tool.rules.effect == "writes":
        yield Finding(rule="effect-mild", tool=tool.name, facts={"verb": verb})


def _verb(tool: Tool) -> tuple[str, bool]:
    """The changing verb that it begins with, by name or description, and whether it destroys."""
    named = [part.lower() for part in _WORD.findall(tool.name)]
    told = [part.lower() for part in _WORD.findall(tool.description[:200])]
    is_sure = bool(named) and (named[0] not in _NOUNS or bool(told and _base(told[0]) == named[0]))
    if is_sure and named[0] in _WRITING:
        return named[0], named[0] in _DESTROYING
    if told and (verb := _base(told[0])) and len(told) > 1:
        return verb, verb in _DESTROYING
    if match := _WRITING_CHINESE.match(tool.description):
        return match[1], bool(_DESTROYING_CHINESE.match(tool.description))
    return "", False


def _base(word: str) -> str:
    """The changing verb that a description begins with, in any of its forms; "" for another word."""
    for form in (word, word.removesuffix("s"), word.removesuffix("es")):
        if form in _WRITING and (form != word or form not in _NOUNS):
            return form
    return ""


def secrets(tool: Tool) -> Iterator[Finding]:
    """Whether a secret stands in the schema, or is asked of the model, or who the user is."""
    for path, name, schema in each(tool):
        facts = {"name": path[2:]}
        if _holds_secret(name, schema):
            yield Finding(rule="secret-in-default", tool=tool.name, path=path, facts=facts)
        elif _keeps_secret(name) and schema.get("type") in ("string", None):
            yield Finding(rule="secret-asked", tool=tool.name, path=path, facts=facts)
        if name.casefold() in _IDENTITY and path.count(".") == 1:
            yield Finding(rule="identity-asked", tool=tool.name, path=path, facts=facts)


def _keeps_secret(name: str) -> bool:
    return keeps_secret(name) and _SECRET.search(name) is not None


def _holds_secret(name: str, schema: Mapping[str, Any]) -> bool:
    examples = schema.get("examples")
    held = [
        schema.get("default"),
        schema.get("const"),
        *(examples if isinstance(examples, list | tuple) else ()),
    ]
    for value in held:
        if not isinstance(value, str) or not value:
            continue
        if _keeps_secret(name) and schema.get("default") == value and len(value) >= 6:
            return True
        if is_secret(value):
            return True
    return is_secret(str(schema.get("description") or ""))


CHECKS: Final = (effect, secrets)
