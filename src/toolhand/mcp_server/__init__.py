"""A toolset as an MCP server, over standard streams or HTTP. Every call goes through `dispatch`, so every policy is in force.

`serving` answers the protocol's requests, `answers` puts tools and results into its words, `approvals` asks a person through the
client, `stdio` and `http` carry it. The other direction, a server's tools as a toolset, is `toolhand.mcp`.
"""

from toolhand.mcp_server.serving import Serving

__all__ = ["Serving"]
