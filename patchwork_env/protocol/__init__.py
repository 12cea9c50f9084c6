"""Lines of JSON between programs about games, as ``docs/engine.md`` describes them."""
