"""Tools from MCP servers. Entry: `Toolset.from_mcp`, which needs the extra `mcp`.

`servers` reads what a user names, `thread` is where connections live, `stdio` and `transports` reach a server, `connection` keeps
one alive, `listing` reads its tools, `results` its answers, `making` makes the tools, `source` puts several servers together.
Nothing here is loaded before it is asked for. The other direction, a toolset as a server, is `toolhand.mcp_server`.
"""

from toolhand.mcp.servers import Server, ServerStartError
from toolhand.mcp.source import McpOptions, McpSource

__all__ = ["McpOptions", "McpSource", "Server", "ServerStartError"]
