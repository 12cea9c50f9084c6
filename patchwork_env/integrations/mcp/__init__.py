"""Both games for language models that use tools: a server of the Model Context Protocol (MCP).

- :mod:`~patchwork_env.integrations.mcp.command`: ``patchwork-env mcp``;
- :mod:`~patchwork_env.integrations.mcp.server`: what is told to clients, over the library ``mcp``, which only
  this module needs;
- :mod:`~patchwork_env.integrations.mcp.tools`: the tools with their arguments, and the door that checks them;
- :mod:`~patchwork_env.integrations.mcp.session`: the games of a session, and what the tools do with them;
- :mod:`~patchwork_env.integrations.mcp.resources`: rules and pictures.

The server needs the extra ``mcp``, what it does with games needs none.
"""
