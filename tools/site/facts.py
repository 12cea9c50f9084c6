"""The facts that JavaScript needs of a module, read from the modules of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from patchwork_env.service.positions import components_of


def facts_of(game: str, module: Any, code: str, weights: str) -> dict[str, Any]:
    """The facts of a module as plain data, for JSON.

    Args:
        game: The name of the game.
        module: The module of :mod:`tools.site.modules`.
        code: The name of the file with the WebAssembly code.
        weights: The name of the file with the weights.
    """
    block = module.BLOCK
    at = module.WEIGHTS_AT
    return {
        "code": code,
        "memory": block.symbol,
        "record": fields_of(block.arrays["states"].dtype),
        "arrays": {name: _place_of(block.arrays[name], block.places[name]) for name in module.SHARED},
        "weights": {
            "file": weights,
            "offset": block.places[at],
        },
        "agents": [agent.described() for agent in module.AGENTS],
        "analysis": module.ANALYSIS,
        "numbers": module.NUMBERS,
        "components": components_of(game),
    }


def fields_of(dtype: np.dtype[Any]) -> dict[str, dict[str, Any]]:
    """The fields of a record: first byte, type, and number of entries, None for a single one."""
    described = {}
    for name, (kind, offset, *_) in (dtype.fields or {}).items():
        count = int(np.prod(kind.shape)) if kind.shape else None
        described[name] = {"offset": offset, "type": kind.base.str[1:], "count": count}
    return described


def _place_of(array: Any, offset: int) -> dict[str, Any]:
    """The place of an array, by entries; records count as their bytes."""
    if array.dtype.names:
        return {"offset": offset, "type": "u1", "count": array.nbytes}
    return {"offset": offset, "type": array.dtype.str[1:], "count": array.size}
