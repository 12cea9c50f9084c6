"""The JSON-lines protocol of ``docs/reference/protocol.md``: the engine and its client."""
