"""What a rule has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolhand.core.language import Language
from toolhand.lint.words import RULES

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One place that will confuse a model.

    Args:
        rule: the rule's id.
        tool: the tool's name; "" for the set as a whole.
        path: where in its parameters, as a JSON path from `$`.
        facts: what the sentence names.
    """

    rule: str
    tool: str
    path: str = "$"
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def severity(self) -> Severity:
        """How much it matters: an error makes wrong calls likely, advice is a matter of judgement."""
        return RULES[self.rule].severity

    def message(self, language: Language = "en") -> str:
        """What is wrong, in one sentence."""
        said = RULES[self.rule]
        return (said.zh if language == "zh" else said.en).format(tool=self.tool, **self.facts)

    def fix(self, language: Language = "en") -> str:
        """What to do."""
        said = RULES[self.rule]
        return (said.fix_zh if language == "zh" else said.fix_en).format(tool=self.tool, **self.facts)

    def to_json(self, language: Language = "en") -> dict[str, str]:
        """As JSON."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "tool": self.tool,
            "path": self.path,
            "message": self.message(language),
            "fix": self.fix(language),
        }
