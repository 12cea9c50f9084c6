"""Lines of JSON between programs about games, as ``docs/reference/protocol.md`` describes them."""
