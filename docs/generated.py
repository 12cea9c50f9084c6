"""Directives of the site whose tables are made from the code: configuration keys, commands, agents."""

from typing import Any


def setup(app: Any) -> dict[str, bool]:
    return {"parallel_read_safe": True}
