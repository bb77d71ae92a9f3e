"""Runs the rules over tools."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import Final

from toolhand.arguments.suggest import closest
from toolhand.core.errors import SettingsError
from toolhand.core.language import say
from toolhand.core.tools import Tool
from toolhand.lint import effects, misnaming, naming, parameters, providers, together
from toolhand.lint.finding import Finding
from toolhand.lint.words import RULES

_ONE: Final = (*naming.CHECKS, *parameters.CHECKS, *misnaming.CHECKS, *effects.CHECKS, *providers.CHECKS)
_ORDER: Final = ("error", "warning", "advice")


def lint(tools: Iterable[Tool], *, ignore: Collection[str] = ()) -> list[Finding]:
    """What will confuse a model, the worst first and then in the tools' order.

    Args:
        tools: the tools, as a model gets them together.
        ignore: ids of rules; with ":" and a tool's name behind it, or a pattern such as "shop_*", only for these tools.

    Raises:
        SettingsError: when there is no such rule.
    """
    tools = list(tools)
    left_out = [_parted(entry) for entry in ignore]
    found = [finding for tool in tools for check in _ONE for finding in check(tool)]
    found += [finding for check in together.CHECKS for finding in check(tools)]
    kept = [
        finding
        for finding in found
        if not any(finding.rule == rule and fnmatchcase(finding.tool, pattern) for rule, pattern in left_out)
    ]
    return sorted(kept, key=lambda finding: _ORDER.index(finding.severity))


def _parted(entry: str) -> tuple[str, str]:
    rule, _, pattern = entry.strip().partition(":")
    if rule not in RULES:
        near = closest(rule, RULES)
        meant = near or ", ".join(RULES)
        raise SettingsError(
            say(f"there is no rule '{rule}' to ignore: {meant}?", f"没有可忽略的规则“{rule}”：{meant}？")
        )
    return rule, pattern or "*"
