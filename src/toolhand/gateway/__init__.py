"""The gateway: existing clients on one side, any model on the other, and clean tool calls between them.

A front reads a client's request into neutral words and writes the answer back (`fronts/`, one file a protocol); an `Exchange`
asks the model until there is an answer that can be given; nothing here knows a model's spelling of a call.
"""

from __future__ import annotations

from toolhand.gateway.settings import ClientKey, GatewaySettings, Upstream

__all__ = ["ClientKey", "GatewaySettings", "Upstream"]
