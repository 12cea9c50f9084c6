"""The board games Patchwork and NMBR 9 as fast, exact reinforcement-learning environments.

Importing the package registers its environments with Gymnasium and PettingZoo; it compiles nothing.
The modules of ``__all__`` are imported on first use. Users may rely on the names that these
modules list in their own ``__all__``; everything else is internal and may change.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import gymnasium
import pettingzoo

if TYPE_CHECKING:
    from patchwork_env import agents, errors, games, nmbr9, nmbr9_v0, patchwork, patchwork_v0, testing

__all__ = [
    "__version__",
    "agents",
    "errors",
    "games",
    "nmbr9",
    "nmbr9_v0",
    "patchwork",
    "patchwork_v0",
    "testing",
]

__version__ = "1.0.0"


def __getattr__(name: str) -> ModuleType:
    """Import and return a module of ``__all__``."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _register() -> None:
    """Register the environments by name, unless an earlier import in this process has done so."""
    for name, package in (("Patchwork", "patchwork"), ("Nmbr9", "nmbr9")):
        if f"{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"{name}-v0",
                entry_point=f"patchwork_env.{package}_v0:{name}Env",
                vector_entry_point=f"patchwork_env.{package}_v0:{name}VectorEnv",
            )
        if f"{package}/{package}-v0" not in pettingzoo.aec_registry:
            pettingzoo.register(
                "aec", f"{package}/{package}_v0", entry_point=f"patchwork_env.{package}_v0:env"
            )
    if "nmbr9/nmbr9-v0" not in pettingzoo.parallel_registry:  # the players of Patchwork take turns
        pettingzoo.register("parallel", "nmbr9/nmbr9_v0", entry_point="patchwork_env.nmbr9_v0:parallel_env")


_register()
