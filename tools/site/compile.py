"""Compiles the module of one game, in a process of its own: Numba reads its settings when it is imported.

Called as ``python -m tools.site.compile GAME FOLDER LINKER``.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib import import_module
from pathlib import Path

from numba.core.errors import NumbaWarning

from tools.site.assembly import to_wasm
from tools.site.facts import facts_of
from tools.site.lowering import lower


def compile_module(game: str, folder: Path, linker: str) -> None:
    """Writes the code, the weights and the facts of a game's module to a folder."""
    module = import_module(f"tools.site.modules.{game}")
    lowered = [lower(function) for function in module.EXPORTS]
    code = to_wasm(lowered, module.BLOCK, linker, folder, exact=module.EXACT)
    weights = folder / f"{game}.weights"
    weights.write_bytes(module.read_weights().tobytes())
    facts = facts_of(game, module, code.name, weights.name)
    (folder / f"{game}.json").write_text(json.dumps(facts, separators=(",", ":")))


if __name__ == "__main__":
    warnings.simplefilter("ignore", NumbaWarning)  # about code that Numba does not cache
    compile_module(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
