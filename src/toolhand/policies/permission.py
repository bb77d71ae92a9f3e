"""Whether a user may call a tool, by rules that are values; judged before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from toolhand.core.context import RunContext
from toolhand.core.errors import ErrorCode, ToolError
from toolhand.core.messages import BoundCall, ToolResult
from toolhand.core.tools import Effect, Tool
from toolhand.policies import Proceed
from toolhand.policies.approval import Approval

Access: TypeAlias = Literal["allow", "ask", "deny"]

_WORDS = {
    "en": (
        "The user is not permitted to use '{name}'. It did not run.",
        "Do not try it again: go on without it, or tell the user.",
    ),
    "zh": ("当前用户没有权限使用“{name}”，没有运行。", "不要再次尝试：请不用它继续，或告诉用户。"),
}
"""They name no rule and no permission: what would open the door is not the model's business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """Who may call what. It counts for a call that fits all of its fields; an empty field fits everything.

    Args:
        access: "allow", "ask" (a person has to agree), or "deny".
        tools: names of tools, with `*` and `?` for parts of them, such as "shop_*".
        users: users, with the same signs.
        roles: the user has one of them.
        categories: the tool is of one of them.
        tags: the tool has one of them.
        effects: what the tool does: "reads", "writes", "destroys".
    """

    access: Access
    tools: Collection[str] = ()
    users: Collection[str] = ()
    roles: Collection[str] = ()
    categories: Collection[str] = ()
    tags: Collection[str] = ()
    effects: Collection[Effect] = ()

    def __post_init__(self) -> None:
        for name in ("tools", "users", "roles", "categories", "tags", "effects"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))

    def fits_tool(self, tool: Tool) -> bool:
        """Whether it could count for a call of this tool."""
        rules = tool.rules
        return (
            (not self.tools or any(fnmatchcase(tool.name, pattern) for pattern in self.tools))
            and (not self.categories or rules.category in self.categories)
            and (not self.tags or not rules.tags.isdisjoint(self.tags))
            and (not self.effects or rules.effect in self.effects)
        )

    def fits_user(self, context: RunContext) -> bool:
        """Whether it counts for the user who asks."""
        return (not self.users or any(fnmatchcase(context.user, pattern) for pattern in self.users)) and (
            not self.roles or not context.roles.isdisjoint(self.roles)
        )


class Permission:
    """Deny wins over ask, ask over allow; without a rule that fits, `default` counts.

    A tool with `permission` needs that the user holds it, in `context.permissions` or by `grants`, whatever the rules say.
    What is held may end in a star: "orders:*" holds "orders:write".

    Args:
        rules: who may call what.
        default: what counts where no rule fits.
        grants: what users hold beyond `context.permissions`: user → permissions.
        approval: who is asked where a rule says "ask".
    """

    def __init__(
        self,
        rules: Sequence[AccessRule] = (),
        *,
        default: Access = "allow",
        grants: Mapping[str, Collection[str]] | None = None,
        approval: Approval | None = None,
    ) -> None:
        self._rules = tuple(rules)
        self._default = default
        self._grants = {user: frozenset(held) for user, held in (grants or {}).items()}
        self._approval = approval or Approval()

    def applies(self, tool: Tool) -> bool:
        """Only where something could be refused."""
        return (
            bool(tool.rules.permission)
            or self._default != "allow"
            or any(rule.fits_tool(tool) for rule in self._rules)
        )

    async def __call__(self, call: BoundCall, context: RunContext, proceed: Proceed) -> ToolResult:
        """Proceeds, asks a person, or refuses."""
        access = self.access(call.tool, context)
        if access == "allow":
            return await proceed(call, context)
        if access == "ask":
            return await self._approval(call, context, proceed)
        message, hint = _WORDS[context.language]
        return call.answer(
            ToolError(code=ErrorCode.NOT_PERMITTED, message=message.format(name=call.tool.name), hint=hint)
        )

    def access(self, tool: Tool, context: RunContext) -> Access:
        """What counts for this tool and user."""
        if self.lacks(tool, context):
            return "deny"
        found = {rule.access for rule in self._rules if rule.fits_tool(tool) and rule.fits_user(context)}
        return next((access for access in _STRICTEST_FIRST if access in found), self._default)

    def lacks(self, tool: Tool, context: RunContext) -> str:
        """The permission that the user would have to hold and does not; "" where that is not what is missing."""
        wanted = tool.rules.permission
        return wanted if wanted and not self._holds(wanted, context) else ""

    def offers(self, tool: Tool, context: RunContext) -> bool:
        """Whether the tool need be shown to the model at all."""
        return self.access(tool, context) != "deny"

    def _holds(self, permission: str, context: RunContext) -> bool:
        held = context.permissions | self._grants.get(context.user, frozenset())
        return permission in held or any(
            fnmatchcase(permission, pattern) for pattern in held if pattern.endswith("*")
        )


_STRICTEST_FIRST: tuple[Access, ...] = ("deny", "ask", "allow")
