"""Both games for language models that use tools: a server of the Model Context Protocol (MCP).

Needs the extra ``mcp``.
"""
