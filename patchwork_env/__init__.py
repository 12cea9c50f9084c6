"""The board game Patchwork as a fast, exact reinforcement-learning environment.

Importing the package registers its environments with Gymnasium and PettingZoo; it compiles nothing.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import gymnasium
import pettingzoo

__all__ = ["__version__"]

try:
    __version__ = version("patchwork-env")
except PackageNotFoundError:  # a copy of the sources that was never installed
    __version__ = "0+unknown"


def _register() -> None:
    """Makes the environments known by name, unless an earlier import in this process already has."""
    if "Patchwork-v0" not in gymnasium.registry:
        gymnasium.register(
            "Patchwork-v0",
            entry_point="patchwork_env.patchwork.gym_env:PatchworkEnv",
            vector_entry_point="patchwork_env.patchwork.gym_vector_env:PatchworkVectorEnv",
        )
    if "patchwork/patchwork-v0" not in pettingzoo.aec_registry:
        pettingzoo.register("aec", "patchwork/patchwork_v0", entry_point="patchwork_env.patchwork_v0:env")


_register()
