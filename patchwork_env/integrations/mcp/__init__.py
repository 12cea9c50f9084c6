"""Both games for language models that use tools: a server of the Model Context Protocol (MCP).

The server needs the extra ``mcp``; what it does with games, in ``tools`` and ``session``, needs none.
"""
