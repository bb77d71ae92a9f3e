"""Masks what nobody may see, in any JSON value or text: one set of rules for results, arguments, errors, logs and traces.

Pure functions in linear time. The policy that applies them to results is `toolhand.policies.redact`.
"""

from __future__ import annotations

from toolhand.core.tools import Kind
from toolhand.policies.redaction.masks import KINDS
from toolhand.policies.redaction.patterns import DEFAULT, Pattern
from toolhand.policies.redaction.walk import redacted, redacted_text

__all__ = ["DEFAULT", "KINDS", "Kind", "Pattern", "redacted", "redacted_text"]
