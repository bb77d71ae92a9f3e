"""Asks a person through the client whether a call may run.

In the protocol's older versions the server asks while the call waits; since 2026-07-28 the call ends with the question, and the
client makes it again with the answer. Source: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Mapping
from typing import Any, Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolhand.core.approvals import Approve, Decision, Deny, PendingCall
from toolhand.core.canonical import canonical
from toolhand.core.language import Language
from toolhand.core.messages import ToolCall
from toolhand.core.tools import Tool
from toolhand.policies.redaction.walk import shown_arguments

_LOG: Final = logging.getLogger("toolhand.mcp")
_QUESTION: Final = "approval"
_LONGEST_ARGUMENTS: Final = 1500

_NOTHING_TO_FILL_IN: Final[dict[str, Any]] = {"type": "object", "properties": {}}

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "reads": "May '{name}' be called with {arguments}?",
        "writes": "May '{name}' be called with {arguments}? It changes something.",
        "destroys": "May '{name}' be called with {arguments}? It cannot be undone.",
        "nobody": "A person has to agree to '{name}' first, and this client cannot ask one. It did not run.",
        "nobody_hint": "Do not call it again: tell the user that it needs a client that can ask for approval.",
    },
    "zh": {
        "reads": "是否允许调用“{name}”，参数为 {arguments}？",
        "writes": "是否允许调用“{name}”，参数为 {arguments}？它会修改内容。",
        "destroys": "是否允许调用“{name}”，参数为 {arguments}？此操作无法撤销。",
        "nobody": "调用“{name}”需要先由人同意，而这个客户端无法询问。没有运行。",
        "nobody_hint": "不要再次调用：请告诉用户，需要使用能够询问批准的客户端。",
    },
}


def nobody_to_ask(name: str, language: Language) -> tuple[str, str]:
    """The sentence and the hint where a client cannot ask a person."""
    words = _WORDS[language]
    return words["nobody"].format(name=name), words["nobody_hint"]


class Approvals:
    """Questions to the person at a client. An answer counts for exactly the call that was asked about."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def given(self, call: ToolCall, params: types.CallToolRequestParams) -> Decision | None:
        """What a client brings of an answer to an earlier question, or None where it brings none that is ours.

        Args:
            call: the call that is made again.
            params: its request.
        """
        found = (params.input_responses or {}).get(_QUESTION)
        if not isinstance(found, types.ElicitResult) or params.request_state is None:
            return None
        if not hmac.compare_digest(params.request_state, self._state(call)):
            _LOG.warning("an approval was brought for another call of '%s' than was asked about", call.name)
            return None
        return _decision(found)

    async def ask(
        self, pending: PendingCall, call: ToolCall, tool: Tool, ctx: Any, language: Language
    ) -> Decision | types.InputRequiredResult | None:
        """Asks the person.

        Args:
            pending: the call that waits.
            call: as it came.
            tool: the tool.
            ctx: the SDK's context of the request.
            language: of the question.

        Returns:
            What was decided; the question itself, where the client asks it and comes again; None where nobody can be asked.
        """
        capabilities = ctx.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return None
        arguments = shown_arguments(pending.arguments, tool)
        if len(arguments) > _LONGEST_ARGUMENTS:
            arguments = f"{arguments[:_LONGEST_ARGUMENTS]}…"
        question = _WORDS[language][pending.effect].format(name=pending.name, arguments=arguments)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            form = types.ElicitRequestFormParams(message=question, requested_schema=_NOTHING_TO_FILL_IN)
            return types.InputRequiredResult(
                input_requests={_QUESTION: types.ElicitRequest(params=form)}, request_state=self._state(call)
            )
        try:
            answer = await ctx.session.elicit_form(question, _NOTHING_TO_FILL_IN, ctx.request_id)
        except (MCPError, ValueError) as error:
            _LOG.warning("the client could not ask for an approval: %s", error)
            return None
        return _decision(answer)

    def _state(self, call: ToolCall) -> str:
        """What the question is about, such that a client cannot bring the answer with other arguments."""
        about = f"{call.name}\0{canonical(call.arguments)}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, about, hashlib.sha256).hexdigest()


def _decision(answer: types.ElicitResult) -> Decision:
    return Approve() if answer.action == "accept" else Deny()
